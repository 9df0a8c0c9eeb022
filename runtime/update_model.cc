// Apart from the store: a program that checks by itself links no session for it.
#include "runtime/stored_file.h"

namespace intaglio {

Error update_model(const Flash& flash, Span<const uint8_t> file, OpList ops, const SessionOptions& options) {
  const Span<const uint8_t> bytes = verified_model(flash, file);
  if (bytes.empty()) return {Status::kNotVerified};
  if (file.size > slot_room(flash))
    return {Status::kSlotTooSmall, -1, -1, static_cast<int64_t>(file.size),
            static_cast<int64_t>(slot_room(flash))};
  const Result<Model> model = Model::open(bytes);
  if (!model) return model.error();
  const Result<SessionNeeds> needs = Session::measure(*model, ops, options);
  if (!needs) return needs.error();
  // One that this library cannot open bounds nothing: no session runs it.
  const Span<const uint8_t> in_use = stored_model(flash);
  const Result<Model> stored =
      in_use.empty() ? Result<Model>(Error{Status::kNotAModel}) : Model::open(in_use);
  const uint32_t ceiling = stored ? stored->memory_ceiling() : 0;
  if (ceiling != 0) {
    if (needs->total() > ceiling)
      return {Status::kAboveCeiling, -1, -1, static_cast<int64_t>(needs->total()), ceiling};
    const uint32_t own = model->memory_ceiling();
    if (own == 0 || own > ceiling) return {Status::kCeilingRaised, -1, -1, own, ceiling};
  }
  return store_verified(flash, file) ? kNoError : Error{Status::kFlashFailed};
}

}  // namespace intaglio

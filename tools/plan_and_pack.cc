#include "tools/plan_and_pack.h"

#include <algorithm>

#include "calibrator/bake/pack_model.h"
#include "calibrator/host/stream_plan.h"
#include "calibrator/host/system/wording.h"
#include "tools/verify_model.h"

namespace intaglio::tools {
namespace {

FileBytes copy_of(Span<const uint8_t> bytes) {
  FileBytes copy(bytes.size);
  std::copy(bytes.begin(), bytes.end(), copy.data());
  return copy;
}

}  // namespace

Outcome<PlannedMemory> plan_memory(const LoadedModel& file, const PlanChoice& choice, const Work& work) {
  if (const auto whole = check_whole(file); !whole) return whole.failure();
  HostArena memory;
  Model model = file.model();
  if (choice.ceiling) {
    const auto bytes = with_ceiling(model, *choice.ceiling, memory.arena());
    const auto bounded = bytes ? Model::open(*bytes) : bytes.error();
    if (!bounded) return file.failure(bounded.error());
    model = *bounded;
  }
  const auto planned = plan_for_goal(model, choice.goal, memory.arena());
  if (!planned) return file.failure(planned.error());
  const auto by_rows = streamed_needs(*planned);
  if (!by_rows) return file.failure(by_rows.error());
  if (auto allowed = check_ceiling(model, by_rows->activation_bytes); !allowed) return allowed.failure();
  if (choice.goal.feeds_rows && !by_rows->is_fed)
    work.note(
        option_word("feed-rows") +
        " has no effect: a line buffer for the first input would save no memory, so all of it is there");
  return PlannedMemory{copy_of(*planned), model.activation_bytes(), *by_rows};
}

Outcome<PackedWeights> pack_weights(const LoadedModel& file, const std::string& isa) {
  const auto mask = isa_up_to(isa);
  if (!mask) return Failure{option_word("isa") + ": " + mask.message()};
  if (const auto whole = check_whole(file); !whole) return whole.failure();
  HostArena memory;
  const auto packed = pack_model(file.model(), all_ops(), *mask, memory.arena());
  if (!packed) return file.failure(packed.error());
  const auto reopened = Model::open(*packed);
  if (!reopened) return file.failure(reopened.error());
  PackedWeights made;
  for (int32_t n = 0; n < reopened->node_count(); ++n) {
    const PackInfo pack = reopened->pack(n);
    made.nodes += pack.data.empty() ? 0 : 1;
    made.packed_bytes += pack.data.size;
  }
  if (made.nodes == 0)
    return Failure{file.path() + ": holds no int8 weights that a kernel of " + isa +
                   " packs; there is nothing to do"};
  made.bytes = copy_of(*packed);
  return made;
}

Json json_of(const PlannedMemory& planned) {
  const size_t by_rows = planned.by_rows.activation_bytes;
  return {{"bytes", planned.bytes.size()},
          {"arena_bytes", planned.flat_bytes},
          {"streamed_bytes", by_rows > 0 ? Json(by_rows) : Json(nullptr)},
          {"feeds_rows", planned.by_rows.is_fed}};
}

Json json_of(const PackedWeights& packed, const std::string& isa) {
  return {{"bytes", packed.bytes.size()},
          {"packed_bytes", packed.packed_bytes},
          {"nodes", packed.nodes},
          {"isa", isa}};
}

}  // namespace intaglio::tools

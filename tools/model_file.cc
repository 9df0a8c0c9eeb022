#include "tools/model_file.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "calibrator/bake/pack_model.h"
#include "calibrator/host/stream_plan.h"
#include "calibrator/host/system/host_arena.h"
#include "calibrator/host/system/wording.h"
#include "intaglio/streaming.h"
#include "runtime/streaming/streamed_model.h"

namespace intaglio::tools {
namespace {

Outcome<Done> check_names(const LoadedModel& file) {
  std::set<std::string> names;
  for (int32_t t = 0; t < file.model().tensor_count(); ++t) {
    const char* const name = file.model().tensor(t).name;
    if (!names.insert(name).second)
      return Failure{file.path() + ": two tensors have the name '" + name +
                     "', by which tools tell them apart; make the "
                     "file again"};
  }
  return Done{};
}

// Compares what the file holds packed with what its weights give, for every kernel that a session may choose. How many bytes
// it was of.
Outcome<size_t> check_packs(const LoadedModel& file) {
  const Model& model = file.model();
  std::set<int32_t> checked;
  for (const OpList ops : {all_ops(), compact_ops()})
    for (const IsaName& isa : kIsaNames) {
      HostArena memory;
      const auto bytes = pack_model(model, ops, *isa_up_to(isa.name), memory.arena());
      if (!bytes) return file.failure(bytes.error());
      const auto again = Model::open(*bytes);
      if (!again) return file.failure(again.error());
      for (int32_t n = 0; n < model.node_count(); ++n) {
        const PackInfo found = model.pack(n), expected = again->pack(n);
        if (found.data.empty() || found.layout != expected.layout ||
            std::strcmp(found.kernel, expected.kernel) != 0)
          continue;
        const auto* const last = expected.data.end();
        const auto* const differs =
            std::mismatch(expected.data.begin(), last, found.data.begin(), found.data.end()).first;
        if (differs != last || found.data.size != expected.data.size)
          return file.failure({Status::kBadPack, n, -1, differs - expected.data.begin()});
        checked.insert(n);
      }
    }
  size_t bytes = 0;
  for (const int32_t n : checked) bytes += model.pack(n).data.size;
  return bytes;
}

// The bytes of all outputs on inputs that stand for zero. A picture is fed by black rows.
std::vector<uint8_t> run_on_zeros(Session& session, bool fed) {
  session.reset();
  for (size_t i = 0; i < session.model().inputs().size; ++i) {
    const TensorView input = session.input(static_cast<int32_t>(i));
    if (input.data == nullptr) continue;  // it is fed
    const bool codes = input.info.dtype == DType::kS8;
    std::memset(input.data, codes ? input.info.quantization.zero_point : 0, input.info.bytes());
  }
  if (fed) {
    const TensorInfo picture = session.model().tensor(session.model().inputs()[0]);
    const std::vector<uint8_t> rows(picture.bytes(), 0);
    session.begin_picture();
    session.feed_rows(rows.data(), picture.shape[1]);
  } else {
    session.run();
  }
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < session.model().outputs().size; ++i) {
    const TensorView output = session.output(static_cast<int32_t>(i));
    const auto* const data = static_cast<const uint8_t*>(output.data);
    bytes.insert(bytes.end(), data, data + output.info.bytes());
  }
  return bytes;
}

// In memory that held `fill`.
std::vector<uint8_t> run_on_zeros(LoadedSession& loaded, uint8_t fill, bool fed = false) {
  std::memset(loaded.activations().data, fill, loaded.activations().size);
  return run_on_zeros(*loaded, fed);
}

}  // namespace

Outcome<size_t> check_whole(const LoadedModel& file) {
  const Model& model = file.model();
  if (auto step = check_names(file); !step) return step.failure();
  if (const auto needs = Session::measure_anywhere(model, all_ops()); !needs)
    return file.failure(needs.error());
  if (model.has_streamed_plan()) {
    const auto proved = stream_rows(model);
    if (!proved) return file.failure(proved.error());
    if (const auto needs = Session::measure_anywhere(*proved, all_ops()); !needs)
      return file.failure(needs.error());
  }
  bool packed = false;
  for (int32_t n = 0; n < model.node_count(); ++n) packed = packed || !model.pack(n).data.empty();
  return packed ? check_packs(file) : size_t{0};
}

Outcome<VerifiedModel> verify(const LoadedModel& file) {
  const auto packs = check_whole(file);
  if (!packs) return packs.failure();
  auto session = LoadedSession::create(file, {});
  if (!session) return session.failure();
  if (run_on_zeros(*session, 0x00) != run_on_zeros(*session, 0xa5))
    return Failure{file.path() +
                   ": gives different outputs for the same input; this is a fault of the library, "
                   "please report it with the file"};
  const VerifiedModel found{*packs, file.model().has_streamed_plan()};
  const auto proved = stream_rows(file.model());
  if (!proved) return file.failure(proved.error());
  if (proved->fast_bytes() > 0 && *packs == 0) {  // packed weights are for one memory
    FileBytes memory;
    auto in_two = open_in_two(*proved, memory);
    if (!in_two) return file.failure(in_two.error());
    const bool is_fed = StreamedModel::feeding_segment(*proved).count != 0;
    if (run_on_zeros(*in_two, is_fed) != run_on_zeros(*session, 0x00, is_fed))
      return Failure{
          file.path() +
          ": gives different outputs in two memories; this is a fault of the library, please report it "
          "with the file"};
  }
  if (!found.is_streamed) return found;
  auto streamed = LoadedSession::create(*proved, {});
  if (!streamed) return file.failure(streamed.error());
  const bool fed = StreamedModel::feeding_segment(*proved).count != 0;
  if (run_on_zeros(*streamed, 0xa5, fed) != run_on_zeros(*session, 0x00, fed))
    return Failure{file.path() +
                   ": gives different outputs by rows; this is a fault of the library, please report it with "
                   "the file"};
  return found;
}

Json json_of(const VerifiedModel& found, const LoadedModel& file) {
  const Model& model = file.model();
  return {{"good", true},
          {"bytes", file.file_bytes()},
          {"format_version", model.format_version()},
          {"nodes", model.node_count()},
          {"tensors", model.tensor_count()},
          {"arena_bytes", model.activation_bytes()},
          {"streamed", found.is_streamed},
          {"pack_bytes", found.pack_bytes}};
}

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
          {"fast_bytes", planned.by_rows.fast_bytes},
          {"slow_bytes", planned.by_rows.slow_bytes},
          {"feeds_rows", planned.by_rows.is_fed}};
}

Json json_of(const PackedWeights& packed, const std::string& isa) {
  return {{"bytes", packed.bytes.size()},
          {"packed_bytes", packed.packed_bytes},
          {"nodes", packed.nodes},
          {"isa", isa}};
}

}  // namespace intaglio::tools

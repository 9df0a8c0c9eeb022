#include "cli/whole_model.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "calibrator/bake/pack_model.h"
#include "calibrator/host/system/host_arena.h"
#include "intaglio/streaming.h"

namespace intaglio::cli {
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

}  // namespace intaglio::cli

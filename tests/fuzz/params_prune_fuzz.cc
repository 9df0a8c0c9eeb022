// Whatever channels are taken out of a model that has every operator: a model that runs is left, or a refusal that says
// why. Each pair of bytes names a node and a channel.
#include "importers/params/params_prune.h"

#include <map>
#include <set>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/host_arena.h"
#include "tests/support/fuzz_models.h"

using namespace intaglio;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static test::AlignedBytes files[] = {test::every_op(), test::small_cnn()};
  if (size < 3 || size > 64) return 0;
  const auto model = Model::open(files[data[0] % 2].span());
  if (!model) __builtin_trap();
  std::map<int32_t, std::set<int32_t>> channels;
  for (size_t i = 1; i + 1 < size; i += 2) channels[data[i] % model->node_count()].insert(data[i + 1] % 16);
  ParamsTable table;
  for (const auto& [node, list] : channels)
    table.pruned.push_back({model->tensor(model->node(node).outputs[0]).name, true,
                            std::vector<int32_t>(list.begin(), list.end())});
  HostArena memory;
  Graph graph;
  const auto summary = prune_model(*model, table, "f", graph, memory.arena());
  if (!summary) {
    if (summary.message().empty()) __builtin_trap();
    return 0;
  }
  const auto bytes = finish_model(graph, float_ops(), memory.arena());
  if (!bytes) __builtin_trap();
  const auto small = Model::open(*bytes);
  if (!small) __builtin_trap();
  const auto needs = Session::measure(*small, float_ops());
  if (!needs) __builtin_trap();
  test::AlignedBytes persistent(needs->persistent_bytes), activations(needs->activation_bytes),
      scratch(needs->scratch_bytes);
  auto session =
      Session::create(*small, float_ops(), {persistent.span(), activations.span(), scratch.span()});
  if (!session) __builtin_trap();
  session->run();
  return 0;
}

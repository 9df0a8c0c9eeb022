// intaglio bench: how long a model takes on this machine.
#include <chrono>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/tool_options.h"
#include "intaglio/describe.h"
#include "tools/measure_model.h"

namespace intaglio::cli {
namespace {

struct BenchArguments {
  std::string model;
  ExecutionOptions execution;
  int32_t repeats = 50;
  bool per_layer = false, json = false;
};

constexpr const char* kBenchFooter =
    "Times are in milliseconds, for one run of the whole model, after a warm-up. Input values are a fixed pattern.\n"
    "The time of a layer is its fastest. 'macs' counts the multiply-adds of convolutions and matrix products.\n"
    "'isa' is the best instruction set among the kernels that ran.\n\n"
    "Example:\n"
    "  intaglio bench net.int8.itg --threads 1 --per-layer";

void print_layer_times(const Model& model, const std::vector<LayerTime>& layers) {
  Table table({"node", "layer", "operator", "kernel", "output", "ms", "macs", "GMAC/s"}, 5);
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const LayerTime& layer = layers[static_cast<size_t>(n)];
    table.add({std::to_string(n), node.name, op_name(node.op), layer.kernel,
               shape_text(model.tensor(node.outputs[0]).shape), decimal(layer.ms, 4),
               layer.macs == 0 ? "" : grouped(static_cast<uint64_t>(layer.macs)),
               layer.macs == 0 || layer.ms <= 0
                   ? ""
                   : decimal(static_cast<double>(layer.macs) / layer.ms * 1e-6, 2)});
  }
  table.print();
}

Outcome<Done> run_bench(const BenchArguments& arguments) {
  const auto begun = std::chrono::steady_clock::now();
  auto file = LoadedModel::map(arguments.model);
  if (!file) return file.failure();
  if (auto step = file->stream_if(arguments.execution.streamed, Work(listener())); !step)
    return step.failure();
  const auto execution = session_options(arguments.execution);
  if (!execution) return execution.failure();
  const std::chrono::duration<double, std::milli> open_ms = std::chrono::steady_clock::now() - begun;
  auto times = time_model(*file, {*execution, ops_of(arguments.execution), arguments.repeats,
                                  arguments.json || arguments.per_layer});
  if (!times) return times.failure();
  times->load_ms += open_ms.count();
  if (arguments.json) {
    print_json(json_of(*times, file->model()));
    return Done{};
  }
  if (arguments.per_layer) {
    print_layer_times(file->model(), times->layers);
    print("\n");
  }
  print("  fastest %s ms, median %s ms of %d runs; %s, %d %s, %s macs\n", decimal(times->min_ms, 4).c_str(),
        decimal(times->median_ms, 4).c_str(), arguments.repeats, times->isa.c_str(), times->threads,
        times->threads == 1 ? "thread" : "threads", grouped(static_cast<uint64_t>(times->macs)).c_str());
  print("  loaded in %s ms; %s bytes of weights packed then, %s used packed from the file\n",
        decimal(times->load_ms, 2).c_str(), grouped(times->needs.packed_bytes).c_str(),
        grouped(times->needs.in_place_bytes).c_str());
  return Done{};
}

}  // namespace

Command add_bench_command(CLI::App& parent) {
  const auto arguments = std::make_shared<BenchArguments>();
  CLI::App* app =
      add_subcommand(parent, "bench", "measure how long a model takes on this machine", kBenchFooter);
  add_option(*app, "model", arguments->model, "the model file").required().type_name("NET.itg");
  add_threads_option(*app, arguments->execution);
  add_isa_option(*app, arguments->execution);
  add_compact_option(*app, arguments->execution);
  add_streamed_option(*app, arguments->execution);
  add_option(*app, "--repeats", arguments->repeats, "time so many runs")
      .range(1, 1000000)
      .type_name("N")
      .show_default();
  add_flag(*app, "--per-layer", arguments->per_layer, "also show a table of the layers");
  add_flag(*app, "--json", arguments->json,
           "print one JSON object: {isa, threads, min_ms, median_ms, load_ms, packed_bytes, "
           "in_place_bytes, layers: [{node, name, op, kernel, ms, macs}]}");
  return make_command(app, arguments, run_bench);
}

}  // namespace intaglio::cli

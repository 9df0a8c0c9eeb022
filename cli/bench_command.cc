// intaglio bench: how long a model takes on this machine.
#include <algorithm>
#include <chrono>

#include "calibrator/host/accuracy/layer_sensitivity.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/tool_options.h"
#include "intaglio/describe.h"
#include "tools/loaded_model.h"

namespace intaglio::cli {
namespace {

constexpr int32_t kWarmUpRuns = 3;

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

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The same values on every machine, over the whole range of an input.
void fill_with_noise(const Session& session) {
  uint32_t state = 1;
  const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 24; };
  for (size_t i = 0; i < session.model().inputs().size; ++i) {
    const TensorView input = session.input(static_cast<int32_t>(i));
    if (input.info.dtype == DType::kF32) {
      for (float& x : input.as<float>()) x = static_cast<float>(static_cast<int32_t>(next()) - 128) / 128.0f;
    } else {
      auto* const bytes = static_cast<uint8_t*>(input.data);
      for (size_t k = 0; k < input.info.bytes(); ++k) bytes[k] = static_cast<uint8_t>(next());
    }
  }
}

std::vector<double> time_runs(Session& session, int32_t repeats) {
  std::vector<double> times;
  for (int32_t r = -kWarmUpRuns; r < repeats; ++r) {
    fill_with_noise(session);
    const double start = now_ms();
    session.run();
    if (r >= 0) times.push_back(now_ms() - start);
  }
  std::sort(times.begin(), times.end());
  return times;
}

// The fastest of `repeats` for each node.
std::vector<double> time_layers(Session& session, int32_t repeats) {
  std::vector<double> fastest(static_cast<size_t>(session.model().node_count()));
  for (int32_t r = 0; r < repeats; ++r) {
    fill_with_noise(session);
    for (int32_t n = 0; n < session.model().node_count(); ++n) {
      const double start = now_ms();
      session.run_nodes(n, n + 1);
      const double elapsed = now_ms() - start;
      double& best = fastest[static_cast<size_t>(n)];
      best = r == 0 ? elapsed : std::min(best, elapsed);
    }
  }
  return fastest;
}

double median_of(const std::vector<double>& sorted) {
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

Json json_of_layers(const Session& session, const std::vector<double>& times) {
  Json layers = Json::array();
  for (int32_t n = 0; n < session.model().node_count(); ++n) {
    const NodeInfo node = session.model().node(n);
    layers.push_back({{"node", n},
                      {"name", node.name},
                      {"op", op_name(node.op)},
                      {"kernel", session.kernel_name(n)},
                      {"ms", times[static_cast<size_t>(n)]},
                      {"macs", macs_of(session.model(), node)}});
  }
  return layers;
}

void print_layer_times(const Session& session, const std::vector<double>& times) {
  Table table({"node", "layer", "operator", "kernel", "output", "ms", "macs", "GMAC/s"}, 5);
  for (int32_t n = 0; n < session.model().node_count(); ++n) {
    const NodeInfo node = session.model().node(n);
    const double ms = times[static_cast<size_t>(n)];
    const int64_t macs = macs_of(session.model(), node);
    table.add({std::to_string(n), node.name, op_name(node.op), session.kernel_name(n),
               shape_text(session.model().tensor(node.outputs[0]).shape), decimal(ms, 4),
               macs == 0 ? "" : grouped(static_cast<uint64_t>(macs)),
               macs == 0 || ms <= 0 ? "" : decimal(static_cast<double>(macs) / ms * 1e-6, 2)});
  }
  table.print();
}

Outcome<Done> run_bench(const BenchArguments& arguments) {
  const double opened = now_ms();
  auto file = LoadedModel::map(arguments.model);
  if (!file) return file.failure();
  if (auto step = file->stream_if(arguments.execution.streamed, Work(listener())); !step)
    return step.failure();
  const auto options = session_options(arguments.execution);
  if (!options) return options.failure();
  auto loaded = LoadedSession::create(*file, *options, ops_of(arguments.execution));
  if (!loaded) return loaded.failure();
  const double load_ms = now_ms() - opened;
  const SessionNeeds& needs = loaded->needs();
  Session& session = **loaded;
  const std::vector<double> times = time_runs(session, arguments.repeats);
  std::vector<double> layers;
  if (arguments.json || arguments.per_layer) layers = time_layers(session, arguments.repeats);
  if (arguments.json) {
    print_json({{"isa", isa_in_use(session)},
                {"threads", arguments.execution.threads},
                {"min_ms", times.front()},
                {"median_ms", median_of(times)},
                {"load_ms", load_ms},
                {"packed_bytes", needs.packed_bytes},
                {"in_place_bytes", needs.in_place_bytes},
                {"layers", json_of_layers(session, layers)}});
    return Done{};
  }
  int64_t macs = 0;
  for (int32_t n = 0; n < session.model().node_count(); ++n)
    macs += macs_of(session.model(), session.model().node(n));
  if (arguments.per_layer) {
    print_layer_times(session, layers);
    print("\n");
  }
  print("  fastest %s ms, median %s ms of %d runs; %s, %d %s, %s macs\n", decimal(times.front(), 4).c_str(),
        decimal(median_of(times), 4).c_str(), arguments.repeats, isa_in_use(session),
        arguments.execution.threads, arguments.execution.threads == 1 ? "thread" : "threads",
        grouped(static_cast<uint64_t>(macs)).c_str());
  print("  loaded in %s ms; %s bytes of weights packed then, %s used packed from the file\n",
        decimal(load_ms, 2).c_str(), grouped(needs.packed_bytes).c_str(),
        grouped(needs.in_place_bytes).c_str());
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

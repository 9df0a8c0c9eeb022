#include "tools/time_model.h"

#include <algorithm>
#include <chrono>

#include "calibrator/host/accuracy/layer_sensitivity.h"
#include "intaglio/describe.h"

namespace intaglio::tools {
namespace {

constexpr int32_t kWarmUpRuns = 3;

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

}  // namespace

Outcome<ModelTimes> time_model(const LoadedModel& file, const TimeChoice& choice) {
  const double opened = now_ms();
  auto loaded = LoadedSession::create(file, choice.execution, choice.ops);
  if (!loaded) return loaded.failure();
  ModelTimes times;
  times.load_ms = now_ms() - opened;
  times.needs = loaded->needs();
  Session& session = **loaded;
  times.isa = isa_in_use(session);
  times.threads = choice.execution.executor.width;
  const std::vector<double> runs = time_runs(session, choice.repeats);
  times.min_ms = runs.front();
  times.median_ms = median_of(runs);
  const std::vector<double> of_layers =
      choice.layers ? time_layers(session, choice.repeats) : std::vector<double>();
  const Model& model = session.model();
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const int64_t macs = macs_of(model, model.node(n));
    times.macs += macs;
    if (choice.layers)
      times.layers.push_back({session.kernel_name(n), of_layers[static_cast<size_t>(n)], macs});
  }
  return times;
}

Json json_of(const ModelTimes& times, const Model& model) {
  Json layers = Json::array();
  for (size_t n = 0; n < times.layers.size(); ++n) {
    const NodeInfo node = model.node(static_cast<int32_t>(n));
    const LayerTime& layer = times.layers[n];
    layers.push_back({{"node", n},
                      {"name", node.name},
                      {"op", op_name(node.op)},
                      {"kernel", layer.kernel},
                      {"ms", layer.ms},
                      {"macs", layer.macs}});
  }
  return {{"isa", times.isa},
          {"threads", times.threads},
          {"min_ms", times.min_ms},
          {"median_ms", times.median_ms},
          {"load_ms", times.load_ms},
          {"packed_bytes", times.needs.packed_bytes},
          {"in_place_bytes", times.needs.in_place_bytes},
          {"layers", layers}};
}

}  // namespace intaglio::tools

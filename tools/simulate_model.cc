#include "tools/simulate_model.h"

#include "calibrator/host/accuracy/simulator.h"
#include "calibrator/host/system/host_arena.h"
#include "calibrator/judge/evaluate.h"
#include "intaglio/describe.h"
#include "tools/calibration_samples.h"
#include "tools/class_scores.h"
#include "tools/layer_comparison.h"
#include "tools/sample_checks.h"

namespace intaglio::tools {
namespace {

// The simulated network beside the FP32 one, on one sample after another.
class Simulation {
 public:
  Simulation(const Model& fp32, Simulator& simulator)
      : fp32_(fp32),
        simulator_(simulator),
        pairs_(pair_layers(fp32, simulator.model(), memory_.arena())),
        exact_(static_cast<size_t>(fp32.tensor_count())),
        reports_(pairs_.size) {}

  // The sample stands in the inputs of `fp32`.
  void run(Session& fp32) {
    // First the simulator, which leaves the inputs as they are; a run of the session need not.
    std::vector<std::vector<float>> found(pairs_.size);
    size_t next = 0;
    simulator_.run(fp32, [&](int32_t n) {
      if (next < pairs_.size && pairs_[next].node == n)
        found[next++] = real_values(simulator_.session().tensor(simulator_.model().node_outputs(n)[0]));
    });
    for (int32_t n = 0; n < fp32_.node_count(); ++n) {
      fp32.run_nodes(n, n + 1);
      for (const int32_t output : fp32_.node(n).outputs)
        exact_[static_cast<size_t>(output)] = real_values(fp32.tensor(output));
    }
    for (size_t i = 0; i < pairs_.size; ++i)
      add(exact_[static_cast<size_t>(pairs_[i].reference_tensor)], found[i], reports_[i]);
  }

  std::vector<SimulatedLayer> layers() const;
  // dB before a final softmax.
  double output_sqnr() {
    const Span<const int32_t> outputs = output_layers(fp32_, simulator_.model(), pairs_, memory_.arena());
    return output_figures({reports_.data(), reports_.size()}, outputs).sqnr;
  }

 private:
  static void add(const std::vector<float>& exact, const std::vector<float>& found, LayerReport& report) {
    for (size_t i = 0; i < exact.size(); ++i) {
      const auto x = static_cast<double>(exact[i]), y = static_cast<double>(found[i]);
      report.signal += x * x;
      report.noise += (x - y) * (x - y);
      report.dot += x * y;
      report.norm += y * y;
    }
  }
  void set_forms(int32_t n, int32_t tensor, SimulatedLayer& layer) const;

  const Model& fp32_;
  Simulator& simulator_;
  HostArena memory_;
  Span<const LayerPair> pairs_;
  std::vector<std::vector<float>> exact_;
  std::vector<LayerReport> reports_;
};

// How a slot is quantized, in a few words: "8", "4 half-up", "16 exponential".
std::string form_text(const QuantConfig& config) {
  if (config.state == QuantState::kFp32 || config.state == QuantState::kSoi)
    return quant_state_name(static_cast<int64_t>(config.state));
  std::string text = std::to_string(config.bits);
  if (config.has(policy::kExponential)) text += " exponential";
  if (config.has(policy::kPowerOfTwo)) text += " power-of-two";
  if (config.parameter && config.has(policy::kAsymmetric)) text += " asymmetric";
  if (config.rounding != Rounding::kHalfEven)
    text += std::string(" ") + rounding_name(static_cast<int64_t>(config.rounding));
  return text;
}

// Inputs and weights are those of the node of the FP32 model that node `n` of the simulated one stands for.
void Simulation::set_forms(int32_t n, int32_t tensor, SimulatedLayer& layer) const {
  const int32_t source = simulator_.source(n);
  layer.output = form_text(simulator_.slots().slots.config(tensor));
  if (source < 0) return;
  const NodeInfo node = fp32_.node(source);
  for (size_t i = 0; i < node.inputs.size && node.inputs[i] >= 0; ++i) {
    const QuantConfig& config = simulator_.slots().slots.config(simulator_.slots().input_slot(source, i));
    if (i == 0) layer.input = form_text(config);
    if (config.parameter && config.bits < kMaxBits && layer.weights.empty())
      layer.weights = form_text(config);
  }
}

std::vector<SimulatedLayer> Simulation::layers() const {
  std::vector<SimulatedLayer> layers(pairs_.size);
  for (size_t i = 0; i < layers.size(); ++i) {
    const int32_t n = pairs_[i].node, tensor = pairs_[i].reference_tensor;
    layers[i].tensor = fp32_.tensor(tensor).name;
    layers[i].op = simulator_.model().node(n).op;
    layers[i].is_simulated = simulator_.is_simulated(n);
    set_forms(n, tensor, layers[i]);
    layers[i].sqnr = sqnr_db(reports_[i]);
    layers[i].cosine = cosine(reports_[i]);
  }
  return layers;
}

Outcome<SimulatedModel> simulate_samples(const LoadedModel& file, CalibrationSamples& samples,
                                         const CalibratorOptions& options, const SimulateChoice& choice,
                                         Work& work) {
  const Model& model = file.model();
  if (const auto facts = check_samples(samples, options.executor, work); !facts) return facts.failure();
  const auto needs = Calibrator::measure(model, options);
  if (!needs) return file.failure(needs.error());
  FileBytes memory(needs->total());
  auto calibrator = Calibrator::create(model, {memory.data(), memory.size()}, options);
  if (!calibrator) return file.failure(calibrator.error());
  for (size_t i = 0; i < samples.count(); ++i) {
    work.show("observing", i, samples.count());
    const auto sample = samples.get(i);
    if (!sample) return sample.failure();
    if (const Error error = calibrator->add(*sample); !error.ok())
      return failure_in("sample " + samples.name(i), error, &model);
  }
  const auto simulator = Simulator::create(*calibrator, choice.exact);
  if (!simulator) return Failure{file.path() + ": " + simulator.message()};
  auto fp32 = LoadedSession::create(file, choice.execution);
  if (!fp32) return fp32.failure();
  Simulation simulation(model, **simulator);
  std::vector<int32_t> exact, found;
  std::optional<ClassOutput> classes;
  if (gives_classes(model, samples.samples())) classes = class_output(model);
  for (size_t i = 0; i < samples.count(); ++i) {
    work.show("simulating", i, samples.count());
    const auto sample = samples.get(i);
    if (!sample) return sample.failure();
    fill_inputs(**fp32, *sample);
    simulation.run(**fp32);
    if (!classes) continue;
    exact.push_back(chosen_class(**fp32, *classes).value_or(-1));
    found.push_back(chosen_class((**simulator).session(), *classes).value_or(-1));
  }
  work.clear();
  SimulatedModel made{samples.count(), 0, simulation.output_sqnr(), agreement_of(exact, found),
                      simulation.layers()};
  for (int32_t n = 0; n < (*simulator)->model().node_count(); ++n)
    made.simulated += (*simulator)->is_simulated(n) ? 1 : 0;
  return made;
}

Outcome<SimulatedModel> simulate_stoppable(const LoadedModel& network, const SimulateChoice& choice,
                                           Work& work) {
  if (auto step = check_float(network); !step) return step.failure();
  if (auto step = check_no_states(network); !step) return step.failure();
  KnownParamsFile known;
  const auto split = known.open(choice.params, network, work);
  if (!split) return split.failure();
  const LoadedModel& file = *split ? **split : network;
  QuantizationLists lists;
  CalibratorOptions options;
  options.recover = recovery::kNone;
  options.isa = choice.execution.isa;
  options.executor = choice.execution.executor;
  if (auto step = set_quantization(choice.quantization, file, work, lists, options); !step)
    return step.failure();
  if (auto step = known.resolve(file, work); !step) return step.failure();
  known.set(lists, options);
  if (auto step = known.note_observed(file, options, work); !step) return step.failure();
  if (const auto measured = Calibrator::measure(file.model(), options); !measured)
    return file.failure(measured.error());
  const auto samples = Samples::open(choice.samples, file, work);
  if (!samples) return samples.failure();
  CalibrationSamples kept(*samples, file.model());
  return simulate_samples(file, kept, options, choice, work);
}

}  // namespace

Outcome<SimulatedModel> simulate(const LoadedModel& file, const SimulateChoice& choice, Work& work) {
  return stoppable([&] { return simulate_stoppable(file, choice, work); });
}

Json json_of(const SimulatedModel& found, const Model& fp32) {
  const NodeNumbers numbers(fp32);
  Json layers = Json::array();
  for (const SimulatedLayer& layer : found.layers)
    layers.push_back({{"node", numbers.json(layer.tensor)},
                      {"name", safe(numbers.name(layer.tensor))},
                      {"tensor", safe(layer.tensor)},
                      {"op", op_name(layer.op)},
                      {"simulated", layer.is_simulated},
                      {"input", layer.input},
                      {"weights", layer.weights},
                      {"output", layer.output},
                      {"sqnr_db", json_number(layer.sqnr)},
                      {"cosine", json_number(layer.cosine)}});
  return {{"count", found.count},
          {"simulated_nodes", found.simulated},
          {"sqnr_db", json_number(found.sqnr)},
          {"agreement", found.agreement ? Json(*found.agreement) : Json(nullptr)},
          {"layers", std::move(layers)}};
}

}  // namespace intaglio::tools

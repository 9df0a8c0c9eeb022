// intaglio simulate: what a quantization would do that int8 kernels cannot compute, tensor by tensor.
#include <cstring>

#include "calibrator/host/accuracy/simulator.h"
#include "calibrator/host/system/host_arena.h"
#include "calibrator/judge/evaluate.h"
#include "cli/calibration_text.h"
#include "cli/command.h"
#include "cli/tool_options.h"
#include "intaglio/describe.h"
#include "tools/calibration_samples.h"
#include "tools/class_scores.h"
#include "tools/known_params.h"
#include "tools/layer_comparison.h"
#include "tools/sample_checks.h"
#include "tools/slot_choices.h"

namespace intaglio::cli {
namespace {

struct SimulateArguments {
  std::string model;
  ParamsChoice params;
  SampleArguments samples;
  QuantizationArguments quantization;
  ExecutionOptions execution;
  bool exact = false, json = false;
};

constexpr const char* kSimulateFooter =
    "Nodes that int8 can hold run through the int8 kernels, and give the device's codes. The other nodes are computed\n"
    "on codes, too: exact products, then the rounding of the slot. No recovery runs: compare with\n"
    "'intaglio calibrate --recover none'.\n\n"
    "Settings of --set:\n"
    "  bits       2 to 32\n"
    "  lo, hi     the least and the greatest code, both of them: -127 and 127, or 0 and 255\n"
    "  rounding   half-even, half-up, half-down, half-towards-zero, half-far-from-zero, to-near-int, up or down\n"
    "  policy     per-tensor or per-channel (weights); linear or exponential; symmetric or asymmetric;\n"
    "             with linear also power-of-two\n"
    "  observer   how the range of an activation is chosen: one of the methods of --method\n\n"
    "Example: 4-bit weights but for the last layer, activations rounded half up\n"
    "  intaglio simulate net.itg --images calibration/ --set weights:bits=4 --set fc/weights:bits=8 \\\n"
    "                    --set activations:rounding=half-up";

// The simulated network beside the FP32 one, on one sample after another.
class Simulation {
 public:
  Simulation(const Model& fp32, Simulator& simulator)
      : fp32_(fp32),
        simulator_(simulator),
        pairs_(pair_layers(fp32, simulator.model(), memory_.arena())),
        exact_(static_cast<size_t>(fp32.tensor_count())),
        layers_(pairs_.size) {}

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
      add(exact_[static_cast<size_t>(pairs_[i].reference_tensor)], found[i], layers_[i]);
  }

  size_t size() const { return pairs_.size; }
  const LayerPair& pair(size_t i) const { return pairs_[i]; }
  const LayerReport& layer(size_t i) const { return layers_[i]; }
  // dB before a final softmax.
  double output_sqnr() {
    const Span<const int32_t> outputs = output_layers(fp32_, simulator_.model(), pairs_, memory_.arena());
    return output_figures({layers_.data(), layers_.size()}, outputs).sqnr;
  }

 private:
  static void add(const std::vector<float>& exact, const std::vector<float>& found, LayerReport& layer) {
    for (size_t i = 0; i < exact.size(); ++i) {
      const auto x = static_cast<double>(exact[i]), y = static_cast<double>(found[i]);
      layer.signal += x * x;
      layer.noise += (x - y) * (x - y);
      layer.dot += x * y;
      layer.norm += y * y;
    }
  }

  const Model& fp32_;
  Simulator& simulator_;
  HostArena memory_;
  Span<const LayerPair> pairs_;
  std::vector<std::vector<float>> exact_;
  std::vector<LayerReport> layers_;
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

// The node of the FP32 model that a node of the simulated one stands for.
struct Forms {
  std::string input, weights, output;
};
Forms forms_of(const Model& fp32, const Simulator& simulator, int32_t n, int32_t tensor) {
  const int32_t source = simulator.source(n);
  Forms forms{"", "", form_text(simulator.slots().slots.config(tensor))};
  if (source < 0) return forms;
  const NodeInfo node = fp32.node(source);
  for (size_t i = 0; i < node.inputs.size && node.inputs[i] >= 0; ++i) {
    const QuantConfig& config = simulator.slots().slots.config(simulator.slots().input_slot(source, i));
    if (i == 0) forms.input = form_text(config);
    if (config.parameter && config.bits < kMaxBits && forms.weights.empty())
      forms.weights = form_text(config);
  }
  return forms;
}

void print_table(const Model& fp32, const Simulator& simulator, const Simulation& simulation) {
  const NodeNumbers numbers(fp32);
  Table table(
      {"node", "layer", "operator", "by", "input bits", "weight bits", "output bits", "SQNR dB", "cosine"},
      7);
  for (size_t i = 0; i < simulation.size(); ++i) {
    const int32_t n = simulation.pair(i).node, tensor = simulation.pair(i).reference_tensor;
    const Forms forms = forms_of(fp32, simulator, n, tensor);
    const std::string name = fp32.tensor(tensor).name;
    table.add({numbers.text(name), numbers.name(name), op_name(simulator.model().node(n).op),
               simulator.is_simulated(n) ? "simulation" : "kernels", forms.input, forms.weights, forms.output,
               decimal(sqnr_db(simulation.layer(i)), 2), decimal(cosine(simulation.layer(i)), 6)});
  }
  table.print();
}

Json layers_json(const Model& fp32, const Simulator& simulator, const Simulation& simulation) {
  const NodeNumbers numbers(fp32);
  Json layers = Json::array();
  for (size_t i = 0; i < simulation.size(); ++i) {
    const int32_t n = simulation.pair(i).node, tensor = simulation.pair(i).reference_tensor;
    const Forms forms = forms_of(fp32, simulator, n, tensor);
    const std::string name = fp32.tensor(tensor).name;
    layers.push_back({{"node", numbers.json(name)},
                      {"name", safe(numbers.name(name))},
                      {"tensor", safe(name)},
                      {"op", op_name(simulator.model().node(n).op)},
                      {"simulated", simulator.is_simulated(n)},
                      {"input", forms.input},
                      {"weights", forms.weights},
                      {"output", forms.output},
                      {"sqnr_db", json_number(sqnr_db(simulation.layer(i)))},
                      {"cosine", json_number(cosine(simulation.layer(i)))}});
  }
  return layers;
}

Outcome<Done> simulate(const SimulateArguments& arguments, const LoadedModel& file,
                       CalibrationSamples& samples, const CalibratorOptions& options,
                       const SessionOptions& execution, Work& work) {
  const Model& model = file.model();
  if (const auto facts = check_samples(samples, execution.executor, work); !facts) return facts.failure();
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
  const auto simulator = Simulator::create(*calibrator, arguments.exact);
  if (!simulator) return Failure{file.path() + ": " + simulator.message()};
  auto fp32 = LoadedSession::create(file, execution);
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
  const std::optional<double> agreement = agreement_of(exact, found);
  int32_t simulated = 0;
  for (int32_t n = 0; n < (*simulator)->model().node_count(); ++n)
    simulated += (*simulator)->is_simulated(n) ? 1 : 0;
  if (arguments.json) {
    print_json({{"count", samples.count()},
                {"simulated_nodes", simulated},
                {"sqnr_db", json_number(simulation.output_sqnr())},
                {"agreement", agreement ? Json(*agreement) : Json(nullptr)},
                {"layers", layers_json(model, **simulator, simulation)}});
    return Done{};
  }
  print_table(model, **simulator, simulation);
  print("\n  samples      %zu\n  simulated    %d of %d nodes; the others by int8 kernels\n", samples.count(),
        simulated, model.node_count());
  print("  output SQNR  %s dB before a final softmax, on the calibration samples\n",
        decimal(simulation.output_sqnr(), 2).c_str());
  if (agreement)
    print("  agreement    %s with FP32 on the calibration samples\n", decimal(*agreement, 4).c_str());
  return Done{};
}

Outcome<Done> run_simulate(const SimulateArguments& arguments) {
  auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  const auto execution = session_options(arguments.execution);
  if (!execution) return execution.failure();
  QuantizationLists lists;
  CalibratorOptions options;
  options.recover = recovery::kNone;
  options.isa = execution->isa;
  options.executor = execution->executor;
  if (auto step = check_float(*file); !step) return step.failure();
  if (auto step = check_no_states(*file); !step) return step.failure();
  Work work(listener());
  KnownParamsFile known;
  auto split = known.open(arguments.params, *file, work);
  if (!split) return split.failure();
  if (*split) *file = std::move(**split);
  const auto quantization = quantization_choice(arguments.quantization);
  if (!quantization) return quantization.failure();
  if (auto step = set_quantization(*quantization, *file, work, lists, options); !step) return step.failure();
  if (auto step = known.resolve(*file, work); !step) return step.failure();
  known.set(lists, options);
  if (auto step = known.note_observed(*file, options, work); !step) return step.failure();
  if (const auto measured = Calibrator::measure(file->model(), options); !measured)
    return file->failure(measured.error());
  const auto choice = sample_choice(arguments.samples, *file);
  if (!choice) return choice.failure();
  const auto samples = Samples::open(*choice, *file, work);
  if (!samples) return samples.failure();
  CalibrationSamples kept(*samples, file->model());
  return simulate(arguments, *file, kept, options, *execution, work);
}

}  // namespace

Command add_simulate_command(CLI::App& parent) {
  const auto arguments = std::make_shared<SimulateArguments>();
  CLI::App* app = add_subcommand(parent, "simulate", "show what other bits, roundings and codes would cost",
                                 kSimulateFooter);
  add_option(*app, "model", arguments->model, "the FP32 model file").required().type_name("NET.itg");
  add_sample_options(*app, arguments->samples);
  add_range_options(*app, arguments->quantization);
  add_quantization_options(*app, arguments->quantization);
  add_option(
      *app, "--params", arguments->params.file,
      "take scales and zero points from this file: see 'intaglio params'. The samples give those that it lacks")
      .type_name("FILE");
  add_params_format_option(*app, "--params-format", "the parameters", arguments->params.format);
  add_params_map_option(*app, "--map", arguments->params.map);
  add_flag(*app, "--exact", arguments->exact,
           "compute layers with weights from exact products, even where kernels could run them");
  add_threads_option(*app, arguments->execution);
  add_flag(
      *app, "--json", arguments->json,
      "print one JSON object: {count, simulated_nodes, sqnr_db, agreement, layers: [{node, name, tensor, op, simulated, "
      "input, weights, output, sqnr_db, cosine}]}");
  return make_command(app, arguments, run_simulate);
}

}  // namespace intaglio::cli

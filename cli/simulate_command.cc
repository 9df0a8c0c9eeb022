// intaglio simulate: what a quantization would do that int8 kernels cannot compute, tensor by tensor.
#include "cli/calibration_text.h"
#include "cli/command.h"
#include "cli/tool_options.h"
#include "intaglio/describe.h"
#include "tools/layer_comparison.h"
#include "tools/simulate_model.h"

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

void print_simulation(const SimulatedModel& found, const Model& fp32) {
  const NodeNumbers numbers(fp32);
  Table table(
      {"node", "layer", "operator", "by", "input bits", "weight bits", "output bits", "SQNR dB", "cosine"},
      7);
  for (const SimulatedLayer& layer : found.layers)
    table.add({numbers.text(layer.tensor), numbers.name(layer.tensor), op_name(layer.op),
               layer.is_simulated ? "simulation" : "kernels", layer.input, layer.weights, layer.output,
               decimal(layer.sqnr, 2), decimal(layer.cosine, 6)});
  table.print();
  print("\n  samples      %zu\n  simulated    %d of %d nodes; the others by int8 kernels\n", found.count,
        found.simulated, fp32.node_count());
  print("  output SQNR  %s dB before a final softmax, on the calibration samples\n",
        decimal(found.sqnr, 2).c_str());
  if (found.agreement)
    print("  agreement    %s with FP32 on the calibration samples\n", decimal(*found.agreement, 4).c_str());
}

Outcome<Done> run_simulate(const SimulateArguments& arguments) {
  const auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  const auto execution = session_options(arguments.execution);
  if (!execution) return execution.failure();
  if (auto step = check_float(*file); !step) return step.failure();
  const auto quantization = quantization_choice(arguments.quantization);
  if (!quantization) return quantization.failure();
  const auto samples = sample_choice(arguments.samples, *file);
  if (!samples) return samples.failure();
  Work work(listener());
  const auto found =
      simulate(*file, {*samples, *execution, *quantization, arguments.params, arguments.exact}, work);
  if (!found) return found.failure();
  if (arguments.json)
    print_json(json_of(*found, file->model()));
  else
    print_simulation(*found, file->model());
  return Done{};
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

// intaglio export-onnx: a model as an ONNX network.
#include "calibrator/host/system/files.h"
#include "cli/command.h"
#include "cli/output.h"
#include "tools/networks.h"

namespace intaglio::cli {
namespace {

struct ExportOnnxArguments {
  std::string model, network, output, form = "qdq";
  bool json = false;
};

constexpr const char* kExportOnnxFooter =
    "The file has the model's own nodes, scales, int8 weights and int32 biases, as they were baked. Inputs and outputs\n"
    "have the model's names and shapes, and real numbers for codes: pictures are NHWC. FP32 models and FP32 parts are\n"
    "written, too. States are inputs and outputs beside the others. The file is read back before it is written, each\n"
    "layer is compared, and the model and the file run on sixteen draws of inputs.\n\n"
    "With --from inputs and outputs have the order of axes, the rank and the type that they have in that network:\n"
    "pictures are NCHW again, and the file can take the network's place.\n\n"
    "  qdq           QuantizeLinear and DequantizeLinear, opset 13 to 21: onnxruntime, TensorRT, most compilers\n"
    "  qoperator     QLinearConv, QGemm, QLinearMatMul, QLinearAdd and the like; QDQ around other operators\n"
    "  fakequantize  OpenVINO's FakeQuantize: ranges and FP32 weights on their grid\n\n"
    "Examples:\n"
    "  intaglio export-onnx net.int8.itg -o net.int8.onnx\n"
    "  intaglio export-onnx net.int8.itg --from net.onnx -o net.int8.onnx";

Outcome<Done> run_export_onnx(const ExportOnnxArguments& arguments) {
  const OutputFile output(arguments.output);
  for (const std::string& input : {arguments.model, arguments.network})
    if (auto step = check_output_path(arguments.output, input); !input.empty() && !step)
      return step.failure();
  if (auto step = check_onnx_output(arguments.output); !step) return step.failure();
  const auto form = onnx_form_of(arguments.form);
  if (!form) return form.failure();
  const auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  std::optional<NetworkFile> network;
  if (!arguments.network.empty()) {
    auto opened = NetworkFile::open(arguments.network);
    if (!opened) return opened.failure();
    network = std::move(*opened);
  }
  const auto made = export_onnx(*file, network ? &*network : nullptr, *form);
  if (!made) return made.failure();
  if (auto step = output.write({reinterpret_cast<const uint8_t*>(made->bytes.data()), made->bytes.size()});
      !step)
    return step.failure();
  for (const std::string& note : made->notes) print_note(note);
  if (arguments.json) {
    print_json(json_of(*made, *form));
    return Done{};
  }
  print("%s: %s, %s\n", safe(arguments.output).c_str(), safe(arguments.model).c_str(),
        arguments.form.c_str());
  print("  layers       %d with int8 weights\n", made->layers);
  print("  activations  %d quantized\n", made->activations);
  return Done{};
}

}  // namespace

Command add_export_onnx_command(CLI::App& parent) {
  const auto arguments = std::make_shared<ExportOnnxArguments>();
  CLI::App* app = add_subcommand(
      parent, "export-onnx", "write a model as an ONNX network, quantized where it is", kExportOnnxFooter);
  add_option(*app, "model", arguments->model, "the model file").required().type_name("NET.itg");
  add_option(*app, "--from", arguments->network,
             "the network that the model was imported from, whose inputs and outputs the file gets")
      .type_name("NET.onnx");
  add_option(*app, "-o,--output", arguments->output, "the ONNX file to write")
      .required()
      .type_name("OUT.onnx");
  add_option(*app, "--form", arguments->form, "how quantization is written: see below")
      .one_of(onnx_form_names())
      .type_name("FORM")
      .show_default();
  add_flag(*app, "--json", arguments->json,
           "print one JSON object: {bytes, form, layers, activations, notes}");
  return make_command(app, arguments, run_export_onnx);
}

}  // namespace intaglio::cli

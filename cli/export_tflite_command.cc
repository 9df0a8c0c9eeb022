// intaglio export-tflite: an int8 model as a TFLite file.
#include "calibrator/host/system/files.h"
#include "cli/command.h"
#include "cli/output.h"
#include "tools/networks.h"

namespace intaglio::cli {
namespace {

struct ExportTfliteArguments {
  std::string model, output;
  bool json = false;
};

constexpr const char* kExportTfliteFooter =
    "For LiteRT, TFLite Micro and the compilers of accelerators that read TFLite. The file has the model's int8\n"
    "weights with a scale a channel, int32 biases, scales and zero points, as they were baked. It is read back\n"
    "before it is written, each layer is compared, and the model and the file run on sixteen draws of inputs. Other\n"
    "runtimes round sums in their own way: codes may differ by one a layer.\n\n"
    "A last layer that reads codes and gives FP32 has FP32 weights in the file. For a file of int8 alone calibrate\n"
    "with --int8-answers.\n\n"
    "Example:\n"
    "  intaglio export-tflite net.int8.itg -o net.int8.tflite";

Outcome<Done> run_export_tflite(const ExportTfliteArguments& arguments) {
  const OutputFile output(arguments.output);
  if (auto step = check_output_path(arguments.output, arguments.model); !step) return step.failure();
  if (auto step = check_tflite_output(arguments.output); !step) return step.failure();
  const auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  const auto made = export_tflite(*file);
  if (!made) return made.failure();
  if (auto step = output.write({made->bytes.data(), made->bytes.size()}); !step) return step.failure();
  for (const std::string& note : made->notes) print_note(note);
  if (arguments.json) {
    print_json(json_of(*made));
    return Done{};
  }
  print("%s: %s\n", safe(arguments.output).c_str(), safe(arguments.model).c_str());
  print("  layers  %d with int8 weights\n", made->layers);
  return Done{};
}

}  // namespace

Command add_export_tflite_command(CLI::App& parent) {
  const auto arguments = std::make_shared<ExportTfliteArguments>();
  CLI::App* app =
      add_subcommand(parent, "export-tflite", "write an int8 model as a TFLite file", kExportTfliteFooter);
  add_option(*app, "model", arguments->model, "the int8 model file").required().type_name("NET.int8.itg");
  add_option(*app, "-o,--output", arguments->output, "the TFLite file to write")
      .required()
      .type_name("OUT.tflite");
  add_flag(*app, "--json", arguments->json, "print one JSON object: {bytes, layers, notes}");
  return make_command(app, arguments, run_export_tflite);
}

}  // namespace intaglio::cli

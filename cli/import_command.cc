// intaglio import: a network of another format to a model file.
#include "cli/command.h"
#include "cli/import_options.h"
#include "cli/output.h"
#include "intaglio/describe.h"
#include "tools/answer_kind.h"
#include "tools/loaded_model.h"
#include "tools/model_contents.h"
#include "tools/networks.h"

namespace intaglio::cli {
namespace {

struct ImportArguments {
  std::string network, output, dump_after;
  ImportChoices choices;
  bool json = false;
};

constexpr const char* kImportFooter =
    "Examples:\n"
    "  intaglio import net.onnx -o net.itg --pixels imagenet\n"
    "  intaglio import net.tflite -o net.itg --mean 127.5 --norm 0.00784313725490196\n"
    "  intaglio import lstm.onnx -o net.itg --state h=h_next --state c=c_next\n\n"
    "A network expects pictures in the range of values that it was trained with. Say here what that is: the model\n"
    "file stores it as value = (pixel - mean) * norm, with pixels 0 to 255 and channels in the model's order.\n\n"
    "  --pixels 0..255    the pixels as they are\n"
    "           0..1      pixel / 255\n"
    "           -1..1     (pixel - 127.5) / 127.5\n"
    "           imagenet  (pixel / 255 - mean) / deviation, as torchvision and timm do: rgb means 0.485, 0.456,\n"
    "                     0.406 and deviations 0.229, 0.224, 0.225\n"
    "           caffe     pixel - mean, with bgr means 103.939, 116.779, 123.68\n\n"
    "For other numbers give --mean and --norm: one number for all channels, or one for each, separated by commas.\n\n"
    "Without any of these it depends on the input, and import prints what it stored:\n"
    "  TFLite with metadata    the metadata's mean and std\n"
    "  8-bit quantized input   its codes are the pixels\n"
    "  any other input         it takes arrays of values, and no pictures\n\n"
    "What the numbers of an output are, --answers says where the network does not: 'calibrate' and 'compare' then count\n"
    "equal classes, or print errors in the outputs' own unit. Without it:\n"
    "  classes     behind Softmax, LogSoftmax, one Sigmoid or ArgMax, and where a TFLite file names them; presumed of one\n"
    "              row of 10 numbers and more, but for a multiple of 64, as many as an input has, and ReLU or Sigmoid behind\n"
    "  map         the same for each of many places\n"
    "  embedding   behind an L2 normalization\n"
    "  values      one number; behind Tanh\n"
    "  unknown     anything else: its errors are printed as those of values\n\n"
    "For who looks into an import: --dump-after takes these passes, which run in this order, in rounds, until none\n"
    "changes anything. As in: intaglio import net.onnx -o net.itg --dump-after push_transposes\n";

std::string footer() {
  std::string text = kImportFooter;
  for (const ImportPass& pass : import_passes()) {
    text += "\n  " + pass.name;
    text.append(pass.name.size() < 25 ? 25 - pass.name.size() : 1, ' ');
    text += pass.sentence;
  }
  return text;
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const ImportPass& pass : import_passes()) names.push_back(pass.name);
  return names;
}

void print_inputs(const Model& model) {
  for (size_t i = 0; i < model.inputs().size; ++i)
    print("  input %s\n", safe(input_text(model, static_cast<int32_t>(i))).c_str());
}

void print_outputs(const Model& model) {
  for (size_t i = 0; i < model.outputs().size; ++i) {
    const TensorInfo info = model.tensor(model.outputs()[i]);
    print("  output '%s': %s %s, %s\n", safe(info.name).c_str(), shape_text(info.shape).c_str(),
          dtype_name(info.dtype), answer_text(model, i).c_str());
  }
}

void print_import(const ImportArguments& arguments, const Model& model) {
  print("%s -> %s\n", safe(arguments.network).c_str(), safe(arguments.output).c_str());
  print_inputs(model);
  print_outputs(model);
  for (const int32_t state : states_of(model)) {
    const TensorInfo info = model.tensor(state);
    print("  state '%s': %s %s\n", safe(info.name).c_str(), shape_text(info.shape).c_str(),
          dtype_name(info.dtype));
  }
  print("  %-8s %d\n", "nodes", model.node_count());
  print("  %-8s %s bytes\n", "weights", grouped(weight_bytes(model)).c_str());
  print("  %-8s %s bytes\n", "arena", grouped(model.activation_bytes()).c_str());
}

Outcome<Done> run_import(const ImportArguments& arguments) {
  const OutputFile output(arguments.output);
  auto options = import_options(arguments.choices);
  if (!options) return options.failure();
  options->dump_after = arguments.dump_after;
  options->dump = [](const std::string& text) { print("%s\n", safe(text, true).c_str()); };
  if (auto step = check_model_output(arguments.output, arguments.network); !step) return step.failure();
  const auto network = NetworkFile::open(arguments.network);
  if (!network) return network.failure();
  const auto made = import_network(*network, *options);
  if (!made) return made.failure();
  const auto model = Model::open(made->bytes.span());
  if (!model) return failure_in(arguments.network, model.error());
  if (auto written = output.write(made->bytes.span()); !written) return written.failure();

  for (const std::string& note : made->notes) print_note(note);
  if (arguments.json)
    print_json(json_of(*made, *model));
  else
    print_import(arguments, *model);
  return Done{};
}

}  // namespace

Command add_import_command(CLI::App& parent) {
  const auto arguments = std::make_shared<ImportArguments>();
  CLI::App* app = add_subcommand(
      parent, "import", "make a model file from an ONNX or TFLite network or an OpenVINO IR", footer());
  add_option(*app, "network", arguments->network,
             "the network: .onnx, .tflite, or .xml with its .bin beside it")
      .required()
      .type_name("FILE");
  add_option(*app, "-o,--output", arguments->output, "the model file to write")
      .required()
      .type_name("NET.itg");
  add_import_options(*app, arguments->choices, ImportHelp::kOwn);
  add_flag(
      *app, "--json", arguments->json,
      "print one JSON object: {inputs, outputs, states, preprocessing, nodes, weight_bytes, arena_bytes, bytes, "
      "work, memory_bytes, notes}");
  add_option(*app, "--dump-after", arguments->dump_after,
             "print the network as it is after a pass of the import, once a round")
      .one_of(pass_names())
      .type_name("PASS")
      .group("Options for developers");
  return make_command(app, arguments, run_import);
}

}  // namespace intaglio::cli

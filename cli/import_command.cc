// intaglio import: a network of another format to a model file.
#include <algorithm>
#include <filesystem>

#include "calibrator/bake/model_writer.h"
#include "cli/class_scores.h"
#include "cli/command.h"
#include "cli/html_text.h"
#include "cli/input_text.h"
#include "cli/inspection.h"
#include "cli/loaded_model.h"
#include "cli/named_values.h"
#include "cli/output.h"
#include "importers/import.h"
#include "intaglio/describe.h"
#include "runtime/op_search.h"

namespace intaglio::cli {
namespace {

struct ImportArguments {
  std::string network, output;
  std::string pixels, mean, norm, color, resize;
  std::string dump_after;
  int32_t batch = 1, stream = -1, border = -1;
  std::vector<std::string> shapes, states, initial, constants, outputs;
  bool external_data = false, focus = false, json = false;
};

constexpr const char* kImportFooter =
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
    "Examples:\n"
    "  intaglio import net.onnx -o net.itg --pixels -1..1\n"
    "  intaglio import net.onnx -o net.itg --mean 127.5 --norm 0.00784313725490196\n"
    "  intaglio import lstm.onnx -o net.itg --state h=h_next --state c=c_next\n"
    "  intaglio import net.onnx -o net.itg --dump-after push_transposes\n\n"
    "--dump-after takes these passes, which run in this order, in rounds, until none changes anything:\n";

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

Outcome<Done> read_preprocessing(const ImportArguments& arguments, ImportOptions& options) {
  if (arguments.pixels.empty() && arguments.mean.empty() && arguments.norm.empty() &&
      arguments.color.empty() && arguments.resize.empty())
    return Done{};
  ImagePreprocessing image;
  image.pixels = arguments.pixels;
  const auto read_values = [](const char* option, const std::string& text,
                              std::vector<float>& values) -> Outcome<Done> {
    if (text.empty()) return Done{};
    auto parsed = parse_list<float>(option, text);
    if (!parsed) return parsed.failure();
    values = std::move(*parsed);
    return Done{};
  };
  if (auto step = read_values("--mean", arguments.mean, image.mean); !step) return step.failure();
  if (auto step = read_values("--norm", arguments.norm, image.norm); !step) return step.failure();
  if (arguments.color == "rgb") image.color = ColorOrder::kRgb;
  if (arguments.color == "bgr") image.color = ColorOrder::kBgr;
  if (arguments.color == "gray") image.color = ColorOrder::kGray;
  if (arguments.resize == "crop") image.resize = ResizeMode::kCrop;
  if (arguments.resize == "letterbox") image.resize = ResizeMode::kLetterbox;
  if (arguments.border >= 0) image.border = static_cast<uint8_t>(arguments.border);
  options.image = image;
  return Done{};
}

auto numbers_of(const char* option) {
  return readable_by([option](const std::string& text) { return parse_list<float>(option, text); });
}

Outcome<InputShape> read_shape(const std::string& text) {
  // Names may hold an equals sign, dimensions none.
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    return Failure{"--shape " + text +
                   ": write the input's name and its dimensions, e.g. --shape image=1,3,224,224"};
  auto dims = parse_list<int32_t>("--shape " + text, std::string_view(text).substr(equals + 1));
  if (!dims) return dims.failure();
  return InputShape{text.substr(0, equals), std::move(*dims)};
}

Outcome<Done> read_shapes(const ImportArguments& arguments, ImportOptions& options) {
  for (const std::string& text : arguments.shapes) {
    auto shape = read_shape(text);
    if (!shape) return shape.failure();
    options.shapes.push_back(std::move(*shape));
  }
  return Done{};
}

constexpr const char *kInitial = "--initial", *kConstant = "--constant";
constexpr const char *kOfInitial = "the state's input", *kOfConstant = "the input";

auto named_values_of(const char* option, const char* what, const char* example) {
  return readable_by([=](const std::string& text) { return parse_named_text(option, text, what, example); });
}

// That there are two names: where they part the network's own names say.
Outcome<Done> check_state(const std::string& text) {
  const size_t equals = text.find('=', 1);
  if (equals != std::string::npos && equals + 1 < text.size()) return Done{};
  return Failure{"--state " + text +
                 ": write the input that takes the state and the output that gives it, as --state IN=OUT"};
}

Outcome<Done> read_values(const ImportArguments& arguments, ImportOptions& options) {
  for (const std::string& text : arguments.initial) {
    auto start = parse_named_values(kInitial, text, kOfInitial, "h");
    if (!start) return start.failure();
    options.starts.push_back({std::move(start->name), std::move(start->values)});
  }
  for (const std::string& text : arguments.constants) {
    auto given = parse_named_values(kConstant, text, kOfConstant, "n");
    if (!given) return given.failure();
    options.constants.push_back({std::move(given->name), std::move(given->dims), std::move(given->values)});
  }
  return Done{};
}

// Every node that no operator can run, one line each, and the numbers of the first; no message where all can.
Failure unsupported_nodes(const std::string& network, const Model& model) {
  Failure all;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeView node{n, model.node(n), &model};
    const OpDef* const def = find_op(all_ops(), model, node.info);
    NodePlan plan;
    const Error error = def == nullptr
                            ? node.error(Status::kOperatorMissing, static_cast<int64_t>(node.info.op))
                            : def->plan(node, {}, &plan);
    if (error.ok()) continue;
    if (all.message.empty()) {
      all = failure_in(network, error, &model);
      all.message = network + ": this version cannot run";
    }
    all.message += "\n  " + error_text(error, &model);
  }
  return all;
}

// Options that nothing of this network asks for, and names that it has.
void add_notes(const ImportArguments& arguments, const Model& model, Span<const uint8_t> network,
               std::vector<std::string>& notes) {
  const Span<const int32_t> inputs = model.inputs();
  if (arguments.batch > 1 && std::none_of(inputs.begin(), inputs.end(), [&](int32_t t) {
        const Shape& shape = model.tensor(t).shape;
        return shape.rank > 0 && shape[0] == arguments.batch;
      }))
    notes.emplace_back("--batch has no effect: no input of the network has an open batch size, or one of 1");
  for (int32_t i = 0; i < model.image_count(); ++i) {
    const TensorInfo input = model.tensor(inputs[static_cast<size_t>(model.image(i).input)]);
    if (input.shape[0] > 1)
      notes.push_back(
          "the input '" + std::string(input.name) + "' takes " + std::to_string(input.shape[0]) +
          " pictures a run: this command fills it, and on a device the program does, since write_image() "
          "and the C interface take a batch of 1");
  }
  if (!is_tflite_file(network)) return;
  if (arguments.external_data)
    notes.emplace_back("--external-data: a TFLite network holds its weights itself");
  if (!ClassNames::of_file(arguments.network, network, model)) return;
  const std::string word = pasted_word(arguments.network);
  notes.push_back("the file names its classes; " +
                  (word.empty() ? "with it 'intaglio run --names'" : "'intaglio run --names " + word + "'") +
                  " shows them");
}

void print_inputs(const Model& model) {
  for (size_t i = 0; i < model.inputs().size; ++i)
    print("  input %s\n", safe(input_text(model, static_cast<int32_t>(i))).c_str());
}

void print_outputs(const Model& model) {
  for (const int32_t t : model.outputs()) {
    const TensorInfo info = model.tensor(t);
    print("  output '%s': %s %s\n", safe(info.name).c_str(), shape_text(info.shape).c_str(),
          dtype_name(info.dtype));
  }
}

std::vector<int32_t> states_of(const Model& model) {
  std::vector<int32_t> states;
  for (int32_t i = 0; i < model.state_count(); ++i) states.push_back(model.state(i).input);
  return states;
}

Json import_json(const Model& model, const std::vector<std::string>& notes) {
  const std::vector<int32_t> states = states_of(model);
  return {{"inputs", json_of_tensors(model, model.inputs())},
          {"outputs", json_of_tensors(model, model.outputs())},
          {"states", json_of_tensors(model, {states.data(), states.size()})},
          {"preprocessing", json_of_images(model)},
          {"nodes", model.node_count()},
          {"weight_bytes", weight_bytes(model)},
          {"arena_bytes", model.activation_bytes()},
          {"bytes", model.bytes().size},
          {"notes", json_lines(notes)}};
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
  ImportOptions options;
  options.batch = arguments.batch;
  options.outputs = arguments.outputs;
  if (arguments.external_data) {
    const auto folder = std::filesystem::path(arguments.network).parent_path();
    options.external_data_folder = folder.empty() ? "." : folder.string();
  }
  options.dump_after = arguments.dump_after;
  options.dump = [](const std::string& text) { print("%s\n", safe(text, true).c_str()); };
  if (auto step = read_preprocessing(arguments, options); !step) return step.failure();
  options.focus = arguments.focus;
  if (auto step = read_shapes(arguments, options); !step) return step.failure();
  options.states = arguments.states;
  if (arguments.stream >= 0) options.stream = arguments.stream;
  if (auto step = read_values(arguments, options); !step) return step.failure();
  const OutputFile output(arguments.output);
  if (auto step = check_model_output(arguments.output, arguments.network); !step) return step.failure();
  auto file = read_file(arguments.network, kMaxModelBytes);
  if (!file) return file.failure();

  std::optional<FileBytes> weights;
  if (is_openvino_file(file->span())) {
    const std::string path = std::filesystem::path(arguments.network).replace_extension(".bin").string();
    std::error_code error;
    if (std::filesystem::file_size(path, error) != 0 || error) {  // empty: the network has no constants
      auto beside = read_file(path, kMaxModelBytes);
      if (!beside)
        return Failure{beside.message() +
                       "; the weights of an OpenVINO IR lie in a .bin file beside its .xml"};
      weights = std::move(*beside);
      options.weights = weights->span();
    }
  }
  HostArena memory;
  auto imported = import_model(file->span(), arguments.network, options, memory);
  if (!imported) return imported.failure();
  Graph& graph = imported->graph;
  const auto bytes = finish_model(graph, all_ops(), memory.arena());
  if (!bytes) return failure_in(arguments.network, bytes.error());
  const auto model = Model::open(*bytes);
  if (!model) return failure_in(arguments.network, model.error());
  if (const Failure missing = unsupported_nodes(arguments.network, *model); !missing.message.empty())
    return missing;
  const auto needs = Session::measure(*model, all_ops());
  if (!needs) return failure_in(arguments.network, needs.error(), &*model);
  if (auto written = output.write(*bytes); !written) return written.failure();

  std::vector<std::string> notes = imported->report.notes;
  add_notes(arguments, *model, file->span(), notes);
  for (const std::string& note : notes) print_note(note);
  if (arguments.json)
    print_json(import_json(*model, notes));
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
  add_option(*app, "--pixels", arguments->pixels,
             "how the pixels of a picture become the network's input: " + pixel_choices() + ". See below")
      .one_of(pixel_recipes())
      .type_name("RECIPE");
  add_option(*app, "--mean", arguments->mean, "subtract this from each pixel, which is 0 to 255 (default 0)")
      .checked(numbers_of("--mean"))
      .type_name("A[,B,C]");
  add_option(*app, "--norm", arguments->norm, "multiply the difference by this (default 1)")
      .checked(numbers_of("--norm"))
      .type_name("A[,B,C]");
  add_option(*app, "--color", arguments->color, "order of the model's channels: rgb, bgr or gray")
      .one_of({"rgb", "bgr", "gray"})
      .type_name("ORDER");
  add_option(*app, "--resize", arguments->resize,
             "how a picture of another size is made to fit: stretch (default), crop (the central 87.5 %) or "
             "letterbox (all of it, with borders)")
      .one_of({"stretch", "crop", "letterbox"})
      .type_name("MODE");
  add_option(*app, "--border", arguments->border,
             "the pixel of a letterbox's borders (default 128; YOLO has 114)")
      .range(0, 255)
      .type_name("N");
  add_flag(
      *app, "--focus", arguments->focus,
      "the network begins behind YOLOv5's focus, with 12 channels: the model takes the picture before it, twice as "
      "high and wide, with 3");
  add_option(*app, "--batch", arguments->batch, "how many samples a run takes")
      .range(1, 65536)
      .type_name("N")
      .show_default();
  add_option(*app, "--shape", arguments->shapes, "the dimensions of an input, in the network's own layout")
      .checked(readable_by(read_shape))
      .type_name("NAME=1,3,224,224")
      .repeated();
  add_option(
      *app, "--state", arguments->states,
      "the input IN takes what the output OUT gave in the run before: both leave the model's inputs and "
      "outputs")
      .checked(check_state)
      .type_name("IN=OUT")
      .repeated();
  add_option(*app, kInitial, arguments->initial,
             "what a state begins with, in the network's own layout, where that is not zero")
      .checked(named_values_of(kInitial, kOfInitial, "h"))
      .type_name("IN=V|X.npy")
      .repeated();
  add_option(
      *app, kConstant, arguments->constants,
      "an input of an ONNX network that is the same in each run, such as a size or a sample rate: it leaves the "
      "model's inputs")
      .checked(named_values_of(kConstant, kOfConstant, "n"))
      .type_name("NAME=V[,V]|X.npy")
      .repeated();
  add_option(
      *app, "--stream", arguments->stream,
      "the axis of time of the first input, in the network's own layout: the model takes one row of it a run, "
      "and keeps the rows that convolutions look back on as states")
      .range(0, kMaxRank - 1)
      .type_name("AXIS");
  add_option(
      *app, "--outputs", arguments->outputs,
      "end the network at these tensors, by their names in the file: they become the outputs, in this order. "
      "What only later tensors need is left out")
      .type_name("NAME[,NAME]")
      .repeated();
  add_flag(*app, "--external-data", arguments->external_data,
           "read weights that an ONNX network has in other files of its folder");
  add_option(*app, "--dump-after", arguments->dump_after,
             "print the network as it is after a pass of the import, once a round")
      .one_of(pass_names())
      .type_name("PASS");
  add_flag(
      *app, "--json", arguments->json,
      "print one JSON object: {inputs, outputs, states, preprocessing, nodes, weight_bytes, arena_bytes, bytes, "
      "notes}");
  return make_command(app, arguments, run_import);
}

}  // namespace intaglio::cli

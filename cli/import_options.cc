#include "cli/import_options.h"

#include <utility>

#include "calibrator/host/system/npy.h"
#include "tools/answer_kind.h"
#include "tools/networks.h"

namespace intaglio::cli {
namespace {

Outcome<Done> read_preprocessing(const ImportChoices& choices, ImportOptions& options) {
  if (choices.pixels.empty() && choices.mean.empty() && choices.norm.empty() && choices.color.empty() &&
      choices.resize.empty())
    return Done{};
  ImagePreprocessing image;
  image.pixels = choices.pixels;
  const auto read_values = [](const char* option, const std::string& text,
                              std::vector<float>& values) -> Outcome<Done> {
    if (text.empty()) return Done{};
    auto parsed = parse_list<float>(option, text);
    if (!parsed) return parsed.failure();
    values = std::move(*parsed);
    return Done{};
  };
  if (auto step = read_values("--mean", choices.mean, image.mean); !step) return step.failure();
  if (auto step = read_values("--norm", choices.norm, image.norm); !step) return step.failure();
  if (choices.color == "rgb") image.color = ColorOrder::kRgb;
  if (choices.color == "bgr") image.color = ColorOrder::kBgr;
  if (choices.color == "gray") image.color = ColorOrder::kGray;
  if (choices.resize == "crop") image.resize = ResizeMode::kCrop;
  if (choices.resize == "letterbox") image.resize = ResizeMode::kLetterbox;
  if (choices.border >= 0) image.border = static_cast<uint8_t>(choices.border);
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

Outcome<Done> read_shapes(const ImportChoices& choices, ImportOptions& options) {
  for (const std::string& text : choices.shapes) {
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

Outcome<Done> read_values(const ImportChoices& choices, ImportOptions& options) {
  for (const std::string& text : choices.initial) {
    auto start = parse_named_values(kInitial, text, kOfInitial, "h");
    if (!start) return start.failure();
    options.starts.push_back({std::move(start->name), std::move(start->values)});
  }
  for (const std::string& text : choices.constants) {
    auto given = parse_named_values(kConstant, text, kOfConstant, "n");
    if (!given) return given.failure();
    options.constants.push_back({std::move(given->name), std::move(given->dims), std::move(given->values)});
  }
  return Done{};
}

}  // namespace

void add_import_limits(CLI::App& app, ImportLimits& limits, const std::string& group) {
  add_option(
      app, "--max-work", limits.max_work,
      "the operations that the import may take, about a multiplication each (default: 600,000,000, and 64 for each "
      "byte of the file)")
      .range(int64_t{1}, INT64_MAX)
      .type_name("N")
      .group(group);
  add_option(
      app, "--max-memory", limits.max_memory,
      "the bytes of memory that the import may take (default: 600,000,000, and 16 for each byte of the file)")
      .range(int64_t{1}, INT64_MAX)
      .type_name("BYTES")
      .group(group);
}

void add_import_options(CLI::App& app, ImportChoices& choices, ImportHelp help) {
  // The first ones are what most networks need.
  const bool own = help == ImportHelp::kOwn;
  const auto heading = [own](const char* of_import) { return std::string(own ? of_import : kImportHeading); };
  const std::string first = heading("Options"), pictures = heading("Options for pictures"),
                    parts = heading("Options for parts of the network"),
                    states = heading("Options for states and time");
  add_option(app, "--pixels", choices.pixels,
             "how the pixels of a picture become the network's input: " + pixel_choices() +
                 (own ? ". See below" : ""))
      .one_of(pixel_recipes())
      .type_name("RECIPE")
      .group(first);
  add_option(app, "--shape", choices.shapes, "the dimensions of an input, in the network's own layout")
      .checked(readable_by(read_shape))
      .type_name("NAME=1,3,224,224")
      .repeated()
      .group(first);
  Option batch = add_option(app, "--batch", choices.batch, "how many samples a run takes");
  batch.range(1, 65536).type_name("N").group(first);
  if (own) batch.show_default();
  add_option(app, "--mean", choices.mean, "subtract this from each pixel, which is 0 to 255 (default 0)")
      .checked(numbers_of("--mean"))
      .type_name("A[,B,C]")
      .group(pictures);
  add_option(app, "--norm", choices.norm, "multiply the difference by this (default 1)")
      .checked(numbers_of("--norm"))
      .type_name("A[,B,C]")
      .group(pictures);
  add_option(app, "--color", choices.color, "order of the model's channels: rgb, bgr or gray")
      .one_of({"rgb", "bgr", "gray"})
      .type_name("ORDER")
      .group(pictures);
  add_option(app, "--resize", choices.resize,
             "how a picture of another size is made to fit: stretch (default), crop (the central 87.5 %) or "
             "letterbox (all of it, with borders)")
      .one_of({"stretch", "crop", "letterbox"})
      .type_name("MODE")
      .group(pictures);
  add_option(app, "--border", choices.border,
             "the pixel of a letterbox's borders (default 128; YOLO has 114)")
      .range(0, 255)
      .type_name("N")
      .group(pictures);
  add_flag(
      app, "--focus", choices.focus,
      "the network begins behind YOLOv5's focus, with 12 channels: the model takes the picture before it, twice as "
      "high and wide, with 3")
      .group(pictures);
  add_option(
      app, "--outputs", choices.outputs,
      "end the network at these tensors, by their names in the file: they become the outputs, in this order. "
      "What only later tensors need is left out")
      .type_name("NAME[,NAME]")
      .repeated()
      .group(parts);
  add_option(
      app, "--answers", choices.answers,
      "what the numbers of the outputs are: classes, values, boxes, map or embedding. One for all outputs, or one for "
      "each" +
          std::string(own ? ". See below" : ""))
      .checked(readable_by([](const std::string& text) { return read_answers({text}); }))
      .type_name("KIND[,KIND]")
      .repeated()
      .group(parts);
  add_flag(
      app, "--keep-dead", choices.keep_dead,
      "keep channels of a quantized network that hold one code whatever the input is: they are left out else, and "
      "outputs stay the same")
      .group(parts);
  add_option(
      app, kConstant, choices.constants,
      "an input of an ONNX network that is the same in each run, such as a size or a sample rate: it leaves the "
      "model's inputs")
      .checked(named_values_of(kConstant, kOfConstant, "n"))
      .type_name("NAME=V[,V]|X.npy")
      .repeated()
      .group(parts);
  add_flag(
      app, "--external-data", choices.external_data,
      "read weights also from folders within an ONNX network's own. Those beside it are read in any case")
      .group(parts);
  add_option(
      app, "--state", choices.states,
      "the input IN takes what the output OUT gave in the run before: both leave the model's inputs and "
      "outputs")
      .checked(check_state)
      .type_name("IN=OUT")
      .repeated()
      .group(states);
  add_option(app, kInitial, choices.initial,
             "what a state begins with, in the network's own layout, where that is not zero")
      .checked(named_values_of(kInitial, kOfInitial, "h"))
      .type_name("IN=V|X.npy")
      .repeated()
      .group(states);
  add_option(
      app, "--stream", choices.stream,
      "the axis of time of the first input, in the network's own layout: the model takes one row of it a run, "
      "and keeps the rows that convolutions look back on as states")
      .range(0, kMaxRank - 1)
      .type_name("AXIS")
      .group(states);
  add_import_limits(app, choices.limits, parts);
}

std::string first_given(const ImportChoices& choices) {
  const ImportChoices none;
  const std::pair<const char*, bool> given[] = {{"--pixels", !choices.pixels.empty()},
                                                {"--shape", !choices.shapes.empty()},
                                                {"--batch", choices.batch != none.batch},
                                                {"--mean", !choices.mean.empty()},
                                                {"--norm", !choices.norm.empty()},
                                                {"--color", !choices.color.empty()},
                                                {"--resize", !choices.resize.empty()},
                                                {"--border", choices.border != none.border},
                                                {"--focus", choices.focus},
                                                {"--keep-dead", choices.keep_dead},
                                                {"--outputs", !choices.outputs.empty()},
                                                {"--answers", !choices.answers.empty()},
                                                {kConstant, !choices.constants.empty()},
                                                {"--external-data", choices.external_data},
                                                {"--state", !choices.states.empty()},
                                                {kInitial, !choices.initial.empty()},
                                                {"--stream", choices.stream != none.stream},
                                                {"--max-work", choices.limits.max_work != 0},
                                                {"--max-memory", choices.limits.max_memory != 0}};
  for (const auto& [option, is_given] : given)
    if (is_given) return option;
  return "";
}

Outcome<ImportOptions> import_options(const ImportChoices& choices) {
  ImportOptions options;
  options.batch = choices.batch;
  options.limits = choices.limits;
  options.outputs = choices.outputs;
  options.external_data.below = choices.external_data;
  options.focus = choices.focus;
  auto answers = read_answers(choices.answers);
  if (!answers) return answers.failure();
  options.answers = std::move(*answers);
  options.keep_dead = choices.keep_dead;
  options.states = choices.states;
  if (choices.stream >= 0) options.stream = choices.stream;
  if (auto step = read_preprocessing(choices, options); !step) return step.failure();
  if (auto step = read_shapes(choices, options); !step) return step.failure();
  if (auto step = read_values(choices, options); !step) return step.failure();
  return options;
}

void add_model_or_network(CLI::App& app, std::string& path) {
  add_option(app, "model", path,
             "the FP32 model file, or a network's: .onnx, .tflite, or .xml with its .bin beside it")
      .required()
      .type_name("NET");
}

Outcome<LoadedModel> open_or_import(const std::string& path, const ImportChoices& choices, const Work& work) {
  if (!is_network_file(path)) {
    auto file = LoadedModel::open(path);
    const std::string option = first_given(choices);
    if (file && !option.empty())
      return Failure{
          option + ": " + path +
          " is a model, which holds what its import was told; give the file that it was imported from"};
    return file;
  }
  const auto options = import_options(choices);
  if (!options) return options.failure();
  const auto network = NetworkFile::open(path);
  if (!network) return network.failure();
  auto made = import_network(*network, *options);
  if (!made) return made.failure();
  for (const std::string& note : made->notes) work.note(note);
  return LoadedModel::of_import(path, std::move(made->bytes));
}

Outcome<NamedText> parse_named_text(const std::string& option, const std::string& text, const char* what,
                                    const char* example) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    const std::string start = option + " " + example + "=";
    return Failure{option + " " + text + ": write " + what + " and a number or an array, e.g. " + start +
                   "0 or " + start + example + "0.npy"};
  }
  NamedText made{text.substr(0, equals), {}, {}};
  const std::string value = text.substr(equals + 1);
  if (value.size() > 4 && value.compare(value.size() - 4, 4, ".npy") == 0) {
    made.file = value;
    return made;
  }
  auto numbers = parse_list<float>(option + " " + text, value);
  if (!numbers) return numbers.failure();
  made.values = std::move(*numbers);
  return made;
}

Outcome<NamedValues> parse_named_values(const std::string& option, const std::string& text, const char* what,
                                        const char* example) {
  auto words = parse_named_text(option, text, what, example);
  if (!words) return words.failure();
  NamedValues made{std::move(words->name), {}, std::move(words->values)};
  if (words->file.empty()) return made;
  const auto array = read_npy(words->file);
  if (!array) return array.failure();
  made.values.resize(array->header.elements());
  if (auto step =
          npy_values(array->header.type, array->data.span(), {made.values.data(), made.values.size()});
      !step)
    return Failure{words->file + ": " + step.message()};
  for (const int64_t dim : array->header.shape) made.dims.push_back(static_cast<int32_t>(dim));
  return made;
}

}  // namespace intaglio::cli

#include "cli/tool_options.h"

#include <filesystem>

#include "calibrator/host/system/text_lines.h"
#include "tools/frames.h"

namespace intaglio::cli {

void add_threads_option(CLI::App& app, ExecutionOptions& options) {
  add_option(app, "--threads", options.threads,
             "threads that work on each layer, 1 to 64. Results do not depend on it")
      .type_name("N")
      .range(1, Executor::kMaxWidth)
      .show_default();
}

void add_isa_option(CLI::App& app, ExecutionOptions& options) {
  add_option(app, "--isa", options.isa,
             "use no instruction set beyond this one: " + isa_names() + ". Results do not depend on it")
      .checked(readable_by(isa_up_to))
      .type_name("NAME");
}

void add_streamed_option(CLI::App& app, ExecutionOptions& options) {
  add_flag(app, "--streamed", options.streamed,
           "run by rows where the model has a streamed plan ('intaglio plan'). Results do not depend on it");
}

void add_compact_option(CLI::App& app, ExecutionOptions& options) {
  add_flag(
      app, "--compact", options.compact,
      "leave out kernels whose packed weights take several times the model's bytes: less memory, more time. "
      "Results do not depend on it");
}

void add_memory_option(CLI::App& app, std::string& word) {
  add_option(
      app, "--memory", word,
      "what activations may take: 'least', a number of bytes, 'flat', layer by layer, or two memories, e.g. "
      "fast=64K,slow=2M. See 'intaglio plan'")
      .checked(readable_by(memory_goal))
      .type_name("BYTES")
      .show_default();
}

void add_ceiling_option(CLI::App& app, int64_t& bytes) {
  add_option(
      app, "--ceiling", bytes,
      "the most memory that a session of the model may take on its device, which refuses this model, and later ones, "
      "where they need more; 0: any")
      .range(int64_t{0}, kMaxCeiling)
      .type_name("BYTES");
}

void add_sample_options(CLI::App& app, SampleArguments& arguments) {
  add_option(
      app, "--images", arguments.images,
      "the samples: a folder of PNG, JPEG, BMP or WebP pictures, one picture, or an .npy array. The first "
      "dimension of an array counts samples: uint8 for pictures, any other type for input values; int8 for the codes of an "
      "int8 input")
      .type_name("DIR|X.npy");
  add_option(
      app, "--input", arguments.inputs,
      "the samples of one input, for a model with several: give it once for each. Samples are paired in "
      "the order of their names")
      .type_name("NAME=DIR|X.npy")
      .repeated();
  add_option(app, "--only", arguments.only, "take only the pictures that this text file names, one a line")
      .type_name("LIST");
  add_option(app, "--limit", arguments.limit,
             "take only N pictures: those with the smallest SHA-256, whatever their order")
      .range(int64_t{1}, int64_t{1} << 40)
      .type_name("N");
  add_flag(app, "--skip-bad", arguments.skip_bad,
           "leave out pictures that cannot be read, and name each. Without it the first one is an error");
  add_option(
      app, "--frame", arguments.frame,
      "the samples' files are raw frames of a camera, of this size and order of pixels, e.g. 640x480:yuyv: one in a file, "
      "or several one behind the other. See 'intaglio inspect --help'. A board's write_frame() and "
      "Calibrator::add_frame() make the same of them")
      .checked(readable_by(frame_of))
      .type_name("WxH:ORDER");
  add_option(app, "--row-bytes", arguments.row_bytes,
             "with --frame: bytes from row to row, where these have gaps")
      .range(int64_t{1}, int64_t{1} << 20)
      .type_name("N");
}

void add_steps_option(CLI::App& app, int64_t& steps) {
  add_option(
      app, "--steps", steps,
      "for a model with states: each N samples, in their order, are one sequence, which begins with the "
      "states' first values. Without it all samples are one sequence")
      .range(int64_t{1}, int64_t{1} << 40)
      .type_name("N");
}

void add_names_option(CLI::App& app, std::string& path, const std::string& what) {
  add_option(app, "--names", path,
             what + ": a text file with one a line, class 0 first, or a TFLite file whose metadata has one")
      .type_name("NAMES.txt|NET.tflite");
}

void add_detection_options(CLI::App& app, DetectionChoice& choice) {
  add_option(app, "--score", choice.score,
             "of a detector: count boxes with at least this score, 0 to 1; " + decimal(kLeastScore, 2) +
                 " unless given")
      .range(0.0, 1.0)
      .type_name("SCORE");
  add_option(
      app, "--decoder", choice.decoder,
      "of a detector: how its outputs become boxes, where they do not say it themselves: " + decoder_names())
      .type_name("DECODER");
}

void add_float_search_options(CLI::App& app, FloatSearchChoice& choice) {
  add_option(
      app, "--min-sqnr", choice.min_sqnr,
      "give layers 16 bits, or keep them in FP32, until the output has an SQNR of DB. What gains most for its cost "
      "comes first. Every fourth sample judges this, and does not calibrate")
      .range(-1000.0, 1000.0)
      .type_name("DB");
  add_option(app, "--labels", choice.labels.path, "the right classes of the samples, for --max-drop")
      .type_name("LABELS.txt|DIR");
  add_names_option(app, choice.labels.names, kNamesOfLabels);
  add_option(
      app, "--max-drop", choice.max_drop,
      "likewise until top1 falls by at most POINTS, from 0 to 100. It is judged as for --min-sqnr, and "
      "needs --labels")
      .range(0.0, 100.0)
      .type_name("POINTS");
  add_flag(
      app, "--no-fpu", choice.no_fpu,
      "for a machine without floating-point hardware: with --min-sqnr and --max-drop 16 bits come first, and "
      "FP32 only where they do not do");
}

namespace {

std::string input_names(const Model& model) {
  std::string names;
  for (size_t i = 0; i < model.inputs().size; ++i) names += (i == 0 ? "" : ", ") + input_name(model, i);
  return names;
}

// The input that the words "NAME=PATH" mean: the longest name that fits, as names may hold a '='.
std::optional<size_t> named_input(const Model& model, const std::string& words) {
  std::optional<size_t> found;
  for (size_t i = 0; i < model.inputs().size; ++i) {
    const std::string start = input_name(model, i) + "=";
    if (words.rfind(start, 0) == 0 && (!found || start.size() > input_name(model, *found).size() + 1))
      found = i;
  }
  return found;
}

// Where the samples of each input are, in the order of the inputs.
Outcome<std::vector<std::string>> sample_paths(const SampleArguments& arguments, const LoadedModel& file) {
  const Model& model = file.model();
  const size_t count = model.inputs().size;
  std::vector<std::string> paths(count);
  if (!arguments.images.empty()) {
    if (count != 1)
      return Failure{file.path() + ": has " + std::to_string(count) + " inputs (" + input_names(model) +
                     "); give each its own with --input NAME=DIR|X.npy instead of --images"};
    paths[0] = arguments.images;
    return paths;
  }
  for (const std::string& words : arguments.inputs) {
    const std::string shown = (arguments.are_arguments ? "" : "--input ") + words;
    const auto named = named_input(model, words);
    if (!named && count != 1)
      return Failure{shown + ": names no input of " + file.path() + ", which has " + input_names(model) +
                     "; write NAME=DIR|X.npy"};
    std::string& path = paths[named.value_or(0)];
    if (!path.empty())
      return Failure{
          shown + ": the input " + input_name(model, named.value_or(0)) +
          " has its samples already; one path names them all: a folder of pictures, or an .npy array"};
    std::error_code error;
    if (!named && words.find('=') != std::string::npos && !std::filesystem::exists(words, error))
      return Failure{shown + ": is no file, and names no input of " + file.path() + ", whose input is " +
                     input_names(model)};
    path = named ? words.substr(input_name(model, *named).size() + 1) : words;
    if (path.empty()) return Failure{shown + ": names no file"};
  }
  for (size_t i = 0; i < count; ++i)
    if (paths[i].empty())
      return Failure{file.path() + ": its input " + input_name(model, i) + " has no samples; give --input " +
                     input_name(model, i) + "=DIR|X.npy as well"};
  return paths;
}

}  // namespace

Outcome<SampleChoice> sample_choice(const SampleArguments& arguments, const LoadedModel& file) {
  const auto paths = sample_paths(arguments, file);
  if (!paths) return paths.failure();
  SampleChoice choice{{}, arguments.only, arguments.limit, arguments.skip_bad};
  for (const std::string& path : *paths) choice.places.push_back({path, {}, {}});
  if (arguments.frame.empty()) return choice;
  const auto frames = raw_frames_of(arguments.frame, arguments.row_bytes);
  if (!frames) return frames.failure();
  choice.frames = *frames;
  return choice;
}

void add_range_options(CLI::App& app, QuantizationArguments& arguments) {
  add_option(app, "--method", arguments.method, std::string("how ranges are chosen") +
#define ITG_RANGE_METHOD(id, c_name, name, search, function, text) "; " name ": " text
#include "calibrator/ranges/range_methods.inc"
#undef ITG_RANGE_METHOD
             )
      .one_of(range_method_names())
      .type_name("METHOD")
      .show_default();
  add_option(app, "--percentile", arguments.percentile,
             "the share of the values that a range holds, for --method percentile: above 0.5, up to 1")
      .range(0.5, 1.0)
      .type_name("SHARE")
      .show_default();
}

void add_quantization_options(CLI::App& app, QuantizationArguments& arguments) {
  add_flag(app, "--symmetric", arguments.symmetric,
           "give activations a zero point of 0, or of -128 where no value can be negative");
  add_flag(app, "--power-of-two", arguments.power_of_two, "make every scale a power of two");
  add_option(app, "--weight-bits", arguments.weight_bits,
             "bits of the weights, 2 to 32: 8 gives codes of -127 to 127, 7 gives -63 to 63")
      .range(kMinBits, kMaxBits)
      .type_name("BITS")
      .show_default();
  add_flag(
      app, "--safe-pairs", arguments.safe_pairs,
      "choose weights that AVX2 multiplies at full speed. It costs up to 2 dB, and excludes the recoveries "
      "eq, lsq and adaround");
  add_flag(
      app, "--int8-answers", arguments.int8_answers,
      "round the scores of the last layer to codes, too, and what normalizes the inputs. Without it they are FP32");
  add_option(app, "--compat", arguments.compat,
             "share scales and round weights as another tool does: tengine or ppq")
      .one_of(compat_names())
      .type_name("TOOL")
      .show_default();
  add_option(
      app, "--set", arguments.set,
      "quantize one slot or many in another way: "
      "SLOT:bits=4,lo=-8,hi=7,rounding=half-up,policy=per-tensor+linear+symmetric,observer=kl. SLOT is all, "
      "activations, weights, NODE, NODE/in0, NODE/out or NODE/weights; NODE is a number or a name. Of several for a slot the last one holds")
      .checked(readable_by(parse_setting))
      .type_name("SLOT:KEY=VALUE,...")
      .repeated();
  add_option(
      app, "--keep-float", arguments.keep_float,
      "keep these nodes in FP32, by their numbers or names in 'intaglio inspect NET.itg --ops'; separate them by commas")
      .type_name("NODE,...");
}

Outcome<QuantizationChoice> quantization_choice(const QuantizationArguments& arguments) {
  QuantizationChoice choice;
  const auto method = range_method_of(arguments.method);
  if (!method) return method.failure();
  const auto compat = compat_of(arguments.compat);
  if (!compat) return compat.failure();
  choice.method = *method;
  choice.compat = *compat;
  choice.percentile = arguments.percentile;
  choice.symmetric = arguments.symmetric;
  choice.power_of_two = arguments.power_of_two;
  choice.weight_bits = arguments.weight_bits;
  choice.safe_pairs = arguments.safe_pairs;
  choice.int8_answers = arguments.int8_answers;
  if (!arguments.keep_float.empty()) choice.keep_float = split(arguments.keep_float, ',');
  for (const std::string& text : arguments.set) {
    const auto setting = parse_setting(text);
    if (!setting) return setting.failure();
    choice.set.push_back(*setting);
  }
  return choice;
}

void add_params_format_option(CLI::App& app, const std::string& name, const std::string& of,
                              std::string& format, bool written) {
  add_option(
      app, name, format,
      "the format of " + of + ": " + params_format_names(written) + ". By default the file's name says it")
      .type_name("FORMAT");
}

void add_params_map_option(CLI::App& app, const std::string& name, std::string& map) {
  add_option(app, name, map,
             "a text file that says what names of the parameters are called in the model: two names a line")
      .type_name("FILE");
}

}  // namespace intaglio::cli

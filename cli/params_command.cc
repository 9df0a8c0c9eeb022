// intaglio params: quantization parameters out of a model, into one, and against each other.
#include "calibrator/host/system/real_text.h"
#include "cli/calibration_text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/tool_options.h"
#include "tools/params_files.h"

namespace intaglio::cli {
namespace {

const std::string kFormats =
    "Formats:\n"
    "  tengine        a line 'name scale zero_point' for each int8 activation. No zero points other than 0, no weights\n"
    "  tengine-uint8  the same, with zero points of 0 to 255\n"
    "  ncnn           multipliers of the inputs and weights of layers. No zero points, no other tensors\n"
    "  amct           Ascend's record: the inputs and weights of layers. No other tensors\n"
    "  ppq            PPQ's JSON: everything\n"
    "  aimet          AIMET's encodings: every activation, and weights\n";
// Formats that are read, and not written.
const std::string kModelFormat =
    "  model          an intaglio int8 model. For OpenVINO's and MQBench's FakeQuantize nodes, first make one from the\n"
    "                 ONNX file with 'intaglio import'\n";
const std::string kNoBiases =
    "\nNo format has biases, or weights that a recovery rounded one by one. Calibrate with --recover none if the same\n"
    "int8 model must come back.\n";
const std::string kExport = "  intaglio params export net.int8.itg -o net.json";
const std::string kImport = "  intaglio params import net.itg net.json -o net.int8.itg";
const std::string kPrune = "  intaglio params prune  net.itg record.txt --format amct -o small.itg";
const std::string kDiff = "  intaglio params diff   net.int8.itg table_minmax.scale";

struct ParamsCommandArguments {
  std::string model, output, network;
  ParamsChoice params, other;
  QuantizationArguments quantization;
  bool json = false;
};

Outcome<Done> run_params_export(const ParamsCommandArguments& arguments) {
  const OutputFile output(arguments.output);
  if (auto step = check_output_path(arguments.output, arguments.model); !step) return step.failure();
  const auto format = params_format(arguments.params.format, arguments.output);
  if (!format) return format.failure();
  const auto is_table = [&] { return static_cast<bool>(read_params(arguments.output, *format)); };
  const std::string what = "parameter file of the format " + std::string(params_format_name(*format));
  if (auto step = check_replaceable(arguments.output, what, is_table); !step) return step.failure();
  const auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  const auto written = params_of(*file, *format, Work(listener()));
  if (!written) return written.failure();
  const std::string& text = written->text;
  if (auto step = output.write({reinterpret_cast<const uint8_t*>(text.data()), text.size()}); !step)
    return step.failure();
  if (arguments.json) {
    print_json(
        {{"format", params_format_name(*format)}, {"entries", written->entries}, {"bytes", text.size()}});
    return Done{};
  }
  print("%s: parameters of %s, %s\n", safe(arguments.output).c_str(), safe(arguments.model).c_str(),
        params_format_name(*format));
  return Done{};
}

// The FP32 model that a table is for; the output is neither of them.
Outcome<LoadedModel> open_float_model(const ParamsCommandArguments& arguments) {
  auto file = LoadedModel::open(arguments.model);
  if (!file) return file;
  for (const std::string& input : {arguments.model, arguments.params.file})
    if (auto step = check_model_output(arguments.output, input); !step) return step.failure();
  if (auto step = check_float(*file); !step) return step.failure();
  if (auto step = check_no_states(*file); !step) return step.failure();
  return file;
}

Outcome<Done> run_params_import(const ParamsCommandArguments& arguments) {
  const OutputFile output(arguments.output);
  auto file = open_float_model(arguments);
  if (!file) return file.failure();
  KnownParamsFile known;
  const Work work(listener());
  auto split = known.open(arguments.params, *file, work);
  if (!split) return split.failure();
  if (*split) *file = std::move(**split);
  if (auto step = known.resolve(*file, work); !step) return step.failure();
  const auto quantization = quantization_choice(arguments.quantization);
  if (!quantization) return quantization.failure();
  QuantizationLists lists;
  CalibratorOptions options;
  if (auto step = set_quantization(*quantization, *file, work, lists, options); !step) return step.failure();
  const auto baked = known.bake(*file, options, work, MemoryGoal::layer_by_layer(),
                                [&](Span<const uint8_t> bytes) { return output.write(bytes); });
  if (!baked) return baked.failure();
  if (arguments.json)
    print_json(json_of(*baked));
  else
    print_baked(*baked, baked->bytes.size(), arguments.params.file, arguments.output);
  return Done{};
}

// ---- prune

Outcome<Done> run_prune(const ParamsCommandArguments& arguments) {
  const OutputFile output(arguments.output);
  const auto file = open_float_model(arguments);
  if (!file) return file.failure();
  const auto pruned = prune(*file, arguments.params);
  if (!pruned) return pruned.failure();
  if (auto written = output.write(pruned->bytes.span()); !written) return written.failure();
  for (const std::string& note : pruned->notes) print_note(note);
  const PruneSummary& summary = pruned->summary;
  if (arguments.json) {
    print_json({{"layers", summary.layers},
                {"channels", summary.channels},
                {"bytes", pruned->bytes.size()},
                {"sha256", sha256_text(pruned->bytes.span())}});
    return Done{};
  }
  print("%s: %s bytes of %s; %lld channels of %d layers are gone\n", safe(arguments.output).c_str(),
        grouped(pruned->bytes.size()).c_str(), grouped(file->file_bytes()).c_str(),
        static_cast<long long>(summary.channels), summary.layers);
  return Done{};
}

// ---- diff

std::string params_number(double value) { return general_text(value, 6); }

std::string shown(const ParamsEntry& entry, size_t i) {
  return params_number(static_cast<double>(entry.scales[entry.scales.size() == 1 ? 0 : i])) +
         (entry.of == ParamsOf::kLayerWeights ? "" : " / " + std::to_string(entry.zero_point));
}

Outcome<Done> run_diff(const ParamsCommandArguments& arguments) {
  const auto list = compare_params(arguments.params, arguments.other, arguments.network, Work(listener()));
  if (!list) return list.failure();
  if (arguments.json) {
    print_json(json_of(*list));
  } else if (!list->empty()) {
    Table table({"name", "of", "a: scale / zero point", "b", "b / a", "channels", "codes"}, 2);
    for (const ParamsDifference& difference : *list) {
      const ParamsEntry& any = difference.any();
      const bool both = difference.a && difference.b;
      table.add({any.name, role_of(any.of), !difference.a ? "-" : shown(*difference.a, difference.channel),
                 !difference.b ? "-" : shown(*difference.b, difference.channel),
                 both ? params_number(difference.ratio) : "-",
                 both && any.scales.size() > 1 ? std::to_string(difference.channels) : "",
                 difference.codes ? std::to_string(difference.codes->changed) + " of " +
                                        std::to_string(difference.codes->of)
                                  : ""});
    }
    table.print();
  }
  if (!list->empty())
    return Failure{arguments.params.file + " and " + arguments.other.file + " differ in " +
                   std::to_string(list->size()) + " entries"};
  if (!arguments.json) print("the same parameters\n");
  return Done{};
}

}  // namespace

Command add_params_command(CLI::App& parent) {
  const auto arguments = std::make_shared<ParamsCommandArguments>();
  CLI::App* const app = add_subcommand(
      parent, "params", "write, read and compare scales and zero points as files of other tools",
      kFormats + kModelFormat + kNoBiases + "\nExamples:\n" + kExport + "\n" + kImport + "\n" + kPrune +
          "\n" + kDiff);
  require_subcommand(*app);

  CLI::App* const exports = add_subcommand(*app, "export", "write the parameters of an int8 model to a file",
                                           kFormats + kNoBiases + "\nExample:\n" + kExport);
  add_option(*exports, "model", arguments->model, "the int8 model file").required().type_name("NET.int8.itg");
  add_option(*exports, "-o,--output", arguments->output, "the file to write").required().type_name("FILE");
  add_params_format_option(*exports, "--format", "FILE", arguments->params.format, true);
  add_flag(*exports, "--json", arguments->json, "print one JSON object: {format, entries, bytes}");

  CLI::App* const imports = add_subcommand(
      *app, "import", "make an int8 model from an FP32 model and a file of parameters",
      kFormats + kModelFormat +
          "\nThe file must have all parameters. 'intaglio calibrate --params' takes what it lacks from samples.\n" +
          "\nExample:\n" + kImport);
  add_option(*imports, "model", arguments->model, "the FP32 model file").required().type_name("NET.itg");
  add_option(*imports, "params", arguments->params.file, "the file of parameters")
      .required()
      .type_name("FILE");
  add_option(*imports, "-o,--output", arguments->output, "the int8 model file to write")
      .required()
      .type_name("NET.int8.itg");
  add_params_format_option(*imports, "--format", "FILE", arguments->params.format);
  add_params_map_option(*imports, "--map", arguments->params.map);
  add_quantization_options(*imports, arguments->quantization);
  add_flag(*imports, "--json", arguments->json,
           "print one JSON object: {activations, weight_layers, unknown, sha256}");

  CLI::App* const prune = add_subcommand(
      *app, "prune", "take the channels out of an FP32 model that AMCT's prune_record names",
      "A prune_record names layers that belong together, and its prune_index the channels of them that are to go.\n"
      "What reads those channels loses them, too. The model stays FP32: calibrate it afterwards.\n\n"
      "Example:\n" +
          kPrune);
  add_option(*prune, "model", arguments->model, "the FP32 model file").required().type_name("NET.itg");
  add_option(*prune, "params", arguments->params.file, "the record").required().type_name("FILE");
  add_option(*prune, "-o,--output", arguments->output, "the smaller FP32 model file to write")
      .required()
      .type_name("SMALL.itg");
  add_option(*prune, "--format", arguments->params.format,
             "the format of FILE: amct. By default the file's name says it")
      .type_name("FORMAT");
  add_params_map_option(*prune, "--map", arguments->params.map);
  add_flag(*prune, "--json", arguments->json, "print one JSON object: {layers, channels, bytes, sha256}");

  CLI::App* const diff = add_subcommand(
      *app, "diff", "show what differs between two files or models. Exit code 1 if anything does",
      kFormats + kModelFormat +
          "\nOf an entry with several channels the one that differs most is shown, and how many do.\n" +
          "\nExample:\n" + kDiff);
  add_option(*diff, "a", arguments->params.file, "a file of parameters, or an int8 model")
      .required()
      .type_name("A");
  add_option(*diff, "b", arguments->other.file, "another one").required().type_name("B");
  add_params_format_option(*diff, "--format", "A", arguments->params.format);
  add_params_format_option(*diff, "--other-format", "B", arguments->other.format);
  add_option(*diff, "--network", arguments->network,
             "the FP32 model that both are of: its weights show how many codes change. Int8 models need none")
      .type_name("NET.itg");
  add_flag(*diff, "--json", arguments->json,
           "print one JSON object: {differences:[{name, of, a, b, codes: {changed, of}}]}");

  return {app, [arguments, exports, imports, prune] {
            if (was_given(*exports)) return run_params_export(*arguments);
            if (was_given(*prune)) return run_prune(*arguments);
            return was_given(*imports) ? run_params_import(*arguments) : run_diff(*arguments);
          }};
}

}  // namespace intaglio::cli

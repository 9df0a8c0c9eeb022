// intaglio calibrate: an FP32 model and a few samples to an int8 model.
#include <algorithm>
#include <filesystem>

#include "cli/calibration_text.h"
#include "cli/command.h"
#include "cli/import_options.h"
#include "cli/tool_options.h"
#include "tools/calibrate_model.h"
#include "tools/calibration_page.h"
#include "tools/observed_samples.h"
#include "tools/text.h"

namespace intaglio::cli {
namespace {

constexpr const char* kCalibrateFooter =
    "The int8 model depends on the FP32 model, the set of samples and the options. It does not depend on the order\n"
    "of the samples, the machine or the number of threads. It is opened and run before it is written.\n\n"
    "A setting that int8 cannot hold is refused; 'intaglio simulate' shows its effect.\n"
    "Where the verdict is not good, one remedy is tried by a second calibration, and measured on samples held out.\n"
    "SQNR is in dB, and larger is better. 'alone' is a layer's error with exact inputs.\n"
    "Agreement is counted of classes alone. Other outputs have errors in their own unit, of the samples held out;\n"
    "'intaglio import --answers' says what an output is.\n\n"
    "A network's file is imported first, as 'intaglio import' does, to the same bytes. 'intaglio import --help' explains\n"
    "these options. Other commands take the model that import writes.\n\n"
    "Examples:\n"
    "  intaglio calibrate net.itg --images calibration/ -o net.int8.itg\n"
    "  intaglio calibrate net.onnx --pixels imagenet --images calibration/ -o net.int8.itg";

struct CalibrateArguments {
  std::string model, output, question, report, memory = "flat";
  std::vector<std::string> from;  // states
  ImportChoices network;          // where the model is a network's file
  SampleArguments samples;
  ExecutionOptions execution;
  std::string recover = "default", profile = "host";
  int64_t ceiling = 0;
  int64_t steps = 0;
  bool int8_states = false;
  QuantizationArguments quantization;
  FloatSearchChoice float_search;
  ParamsChoice params;
  bool json = false;
  GivenWords words;  // the command line as it was given; below: what 'intaglio import' takes as well

  // Which a model or a report must not replace.
  std::vector<std::string> read_files() const {
    std::vector<std::string> files = from;
    files.push_back(model);
    if (!params.file.empty()) files.push_back(params.file);
    return files;
  }
  // Everything is to come from a file of parameters, or from states.
  bool without_samples() const {
    return (!params.file.empty() || !from.empty()) && samples.images.empty() && samples.inputs.empty();
  }
};

constexpr const char* kKeepFloat = "--keep-float";

// The command's words with --OPTION=VALUE as two.
std::vector<std::string> apart(const std::vector<std::string>& words) {
  std::vector<std::string> list;
  for (const std::string& word : words) {
    const size_t end = word.find('=');
    const bool joins = end != std::string::npos && word.rfind("--", 0) == 0;
    list.push_back(word.substr(0, joins ? end : std::string::npos));
    if (joins) list.push_back(word.substr(end + 1));
  }
  return list;
}

// "intaglio SUBCOMMAND" with these words; empty where one of them cannot be pasted.
std::string pasted(const std::string& subcommand, const std::vector<std::string>& words) {
  std::string line = "intaglio " + subcommand;
  for (const std::string& word : words) {
    const std::string safe_word = pasted_word(word);
    if (safe_word.empty()) return "";
    line += " " + safe_word;
  }
  return line;
}

// The FP32 model that other commands take: the one that was given, or what the first of these two commands makes of a
// network's file.
std::string with_model(const CalibrateArguments& arguments, bool is_imported, const std::string& subcommand,
                       std::vector<std::string> words) {
  std::string model = arguments.model, before;
  if (is_imported) {
    model =
        std::filesystem::path(arguments.output).replace_extension().replace_extension(".fp32.itg").string();
    std::vector<std::string> import_words{arguments.model, "-o", model};
    import_words.insert(import_words.end(), arguments.words.below.begin(), arguments.words.below.end());
    before = pasted("import", import_words);
    if (before.empty()) return "";
    before += " && ";
  }
  words.insert(words.begin(), model);
  const std::string line = pasted(subcommand, words);
  return line.empty() ? "" : before + line;
}

std::vector<std::string> words_of_samples(const SampleArguments& samples) {
  std::vector<std::string> words;
  if (!samples.images.empty()) words.insert(words.end(), {"--images", samples.images});
  for (const std::string& input : samples.inputs) words.insert(words.end(), {"--input", input});
  if (!samples.only.empty()) words.insert(words.end(), {"--only", samples.only});
  if (samples.limit > 0) words.insert(words.end(), {"--limit", std::to_string(samples.limit)});
  if (samples.skip_bad) words.emplace_back("--skip-bad");
  if (!samples.frame.empty()) words.insert(words.end(), {"--frame", samples.frame});
  if (samples.row_bytes > 0) words.insert(words.end(), {"--row-bytes", std::to_string(samples.row_bytes)});
  return words;
}

// The command that does what the verdict advises, to be pasted into a shell. Paths are quoted. A network's file is imported first where the command needs a model. Empty where no command does it, where
// the words were another program's, or where one of them cannot be pasted safely.
std::string advised_command(const CalibrateArguments& arguments, bool is_imported, const Verdict& verdict) {
  if (arguments.words.all.empty()) return "";
  if (verdict.kind == Remedy::kLabels) {
    std::vector<std::string> words{arguments.output};
    const std::vector<std::string> samples = words_of_samples(arguments.samples);
    words.insert(words.end(), samples.begin(), samples.end());
    words.insert(words.end(), {"--labels", "LABELS.txt"});
    return with_model(arguments, is_imported, "compare", words);
  }
  // With --from layers cannot be judged (option_rules.h).
  if (verdict.kind != Remedy::kWiderLayers || arguments.float_search.asked() || !arguments.from.empty())
    return "";
  std::vector<std::string> words = arguments.words.all;
  words.insert(words.end(), {"--min-sqnr", "20"});
  return pasted("calibrate", words);
}

// The calibration that was given, with these changes. Empty as above, and with --from: other tensors are observed then.
std::string changed_command(const CalibrateArguments& arguments, const OptionChanges& changes) {
  if (arguments.words.all.empty() || !arguments.from.empty()) return "";
  const std::vector<std::string> given = apart(arguments.words.all);
  std::vector<std::string> words;
  std::string nodes = changes.kept();
  for (size_t i = 0; i < given.size(); ++i) {
    const auto is = [&](const std::string& option) { return given[i] == "--" + option; };
    if (std::any_of(changes.left_out.begin(), changes.left_out.end(), is)) {
      if (!is("int8-answers")) ++i;  // the others have a value
    } else if (given[i] == kKeepFloat && i + 1 < given.size() && !nodes.empty()) {
      nodes = given[++i] + "," + nodes;
    } else {
      words.push_back(given[i]);
    }
  }
  if (!nodes.empty()) words.insert(words.end(), {kKeepFloat, nodes});
  return pasted("calibrate", words);
}

Outcome<Done> check_report(const CalibrateArguments& arguments) {
  const std::string& report = arguments.report;
  if (report.empty()) return Done{};
  if (is_same_place(report, arguments.output))
    return Failure{report + ": is the model to write; name another file, with --report"};
  for (const std::string& input : arguments.read_files())
    if (auto step = check_output_path(report, input, "--report"); !step) return step;
  return check_page_output(report, arguments.model, "--report");
}

Outcome<Done> check_question(const CalibrateArguments& arguments) {
  const std::string& question = arguments.question;
  if (question.empty()) return Done{};
  for (const std::string& other : {arguments.output, arguments.report})
    if (is_same_place(question, other))
      return Failure{question + ": is another file to write; name one of its own, with --question"};
  for (const std::string& input : arguments.read_files())
    if (auto step = check_output_path(question, input, "--question"); !step) return step;
  return Done{};
}

// There is no model yet: the program ends with a code of its own.
Outcome<Done> put_question(const CalibrateArguments& arguments, const CalibratedModel& made) {
  const OutputFile output(arguments.question);
  if (auto step = output.write({made.question.data(), made.question.size()}); !step) return step;
  if (arguments.json)
    print_json(
        {{"question", safe(arguments.question)}, {"asked", made.asked}, {"bytes", made.question.size()}});
  return Failure{
      arguments.question + ": asks " + std::to_string(made.asked) +
          " sums over the samples; answer it in each place with 'intaglio observe --question', merge the answers, "
          "and go on with --from " +
          arguments.question + " and --from of these",
      {Status::kAnswersMissing}};
}

Outcome<Done> run_calibrate(const CalibrateArguments& arguments) {
  CalibrateChoice choice;  // its clock starts
  const OutputFile output(arguments.output), report(arguments.report);
  Work work(listener());
  const auto given = open_or_import(arguments.model, arguments.network, work);
  if (!given) return given.failure();
  for (const std::string& input : arguments.read_files())
    if (auto step = check_model_output(arguments.output, input); !step) return step.failure();
  if (auto step = check_report(arguments); !step) return step.failure();
  if (auto step = check_question(arguments); !step) return step.failure();
  const auto goal = memory_goal(arguments.memory);
  if (!goal) return goal.failure();
  const auto execution = session_options(arguments.execution);
  if (!execution) return execution.failure();
  if (auto step = check_float(*given); !step) return step.failure();
  const auto quantization = quantization_choice(arguments.quantization);
  if (!quantization) return quantization.failure();
  const auto recover = parse_recover(arguments.recover);
  if (!recover) return recover.failure();
  if (!arguments.without_samples()) {
    const auto samples = sample_choice(arguments.samples, *given);
    if (!samples) return samples.failure();
    choice.samples = *samples;
  }
  choice.steps = arguments.steps;
  choice.execution = *execution;
  choice.quantization = *quantization;
  choice.recover = *recover;
  if (arguments.profile == "device") choice.profile = Profile::kDevice;
  choice.int8_states = arguments.int8_states;
  choice.float_search = arguments.float_search;
  choice.params = arguments.params;
  FileBytes observed;
  if (!arguments.from.empty()) {
    ObservedSum sum;
    for (const std::string& path : arguments.from)
      if (auto step = sum.add_file(path); !step) return step.failure();
    auto summed = sum.to_calibrate_from();
    if (!summed) return summed.failure();
    observed = std::move(*summed);
    choice.observed = observed.span();
    choice.from = !sum.question().empty()      ? sum.question()
                  : arguments.from.size() == 1 ? arguments.from[0]
                                               : "the states";
  }
  choice.asks = !arguments.question.empty();
  choice.memory = *goal;
  choice.ceiling = static_cast<uint32_t>(arguments.ceiling);
  choice.page = !arguments.report.empty();
  choice.layers = !arguments.json || choice.page;
  choice.name = arguments.output;
  choice.write = [&output](Span<const uint8_t> bytes) { return output.write(bytes); };
  choice.advised_command = [&](const Verdict& verdict) {
    return advised_command(arguments, given->is_imported(), verdict);
  };
  choice.changed_command = [&](const OptionChanges& changes) { return changed_command(arguments, changes); };

  const auto made = calibrate(*given, choice, work);
  if (!made) return made.failure();
  if (!made->question.empty()) return put_question(arguments, *made);
  if (choice.page) {
    const Span<const uint8_t> page{reinterpret_cast<const uint8_t*>(made->page.data()), made->page.size()};
    if (auto step = report.write(page); !step)
      return Failure{step.message() + "; " + arguments.output + " is complete"};
  }
  if (arguments.json) {
    print_json(json_of(*made, choice));
  } else if (made->baked) {
    print_baked(*made->baked, made->bytes.size(), arguments.params.file, arguments.output);
  } else {
    const auto int8 = Model::open(made->bytes.span());
    if (!int8) return failure_in(arguments.output, int8.error());
    print_calibration(*made, arguments.output, arguments.float_search, given->model(), *int8);
  }
  return Done{};
}

}  // namespace

Command add_calibrate_command(CLI::App& parent) {
  const auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App* app = add_subcommand(parent, "calibrate",
                                 "make an int8 model from an FP32 model and a few samples", kCalibrateFooter);
  add_model_or_network(*app, arguments->model);
  add_sample_options(*app, arguments->samples);
  add_steps_option(*app, arguments->steps);
  add_flag(*app, "--int8-states", arguments->int8_states,
           "keep every state in int8, also where its rounding adds up from step to step");
  add_option(*app, "-o,--output", arguments->output, "the int8 model file to write")
      .required()
      .type_name("NET.int8.itg");
  add_range_options(*app, arguments->quantization);
  add_quantization_options(*app, arguments->quantization);
  add_option(
      *app, "--recover", arguments->recover,
      "steps that lessen the error of quantization: none, or a list of default (depthwise,method,bias, and cle where "
      "normalizations have factors; in a list without it), " +
          recovery_names())
      .checked(readable_by(parse_recover))
      .type_name("LIST")
      .show_default();
  add_option(
      *app, "--profile", arguments->profile,
      "whose defaults hold: device gives what CalibratorOptions::device() gives on a board, to the byte. Samples run "
      "once, and of the recoveries bias alone, without a search or a judge")
      .one_of(profile_names())
      .type_name("WHOSE")
      .show_default();
  add_option(
      *app, "--params", arguments->params.file,
      "take scales and zero points from this file: see 'intaglio params'. The samples give those that it lacks. "
      "Without samples it must have all of them")
      .type_name("FILE");
  add_params_format_option(*app, "--params-format", "the parameters", arguments->params.format);
  add_params_map_option(*app, "--map", arguments->params.map);
  add_float_search_options(*app, arguments->float_search);
  add_option(
      *app, "--from", arguments->from,
      "go on from what 'intaglio observe' has seen of other samples. Without samples that is all there is")
      .type_name("S.itgcal")
      .repeated();
  add_option(
      *app, "-q,--question", arguments->question,
      "with --from: where sums over the samples are missing, write here what is to be asked of them, and end with 3. "
      "'intaglio observe --question' answers it; give it and the answers with --from")
      .type_name("NEXT.itgq");
  add_option(*app, "--report", arguments->report,
             "write an HTML page: verdict, worst layers, remedies, ranges")
      .type_name("FILE.html");
  add_memory_option(*app, arguments->memory);
  add_ceiling_option(*app, arguments->ceiling);
  add_threads_option(*app, arguments->execution);
  add_flag(
      *app, "--json", arguments->json,
      "print one JSON object: {verdict, remedy, trial:{helps, sure, left_out, keep_float, gain_db, sqnr_db_before, sqnr_db_after, "
      "ms_int8, ms, ms_fp32, bytes_before, bytes}, command, images, seconds, sqnr_db, agreement, judged, low_sqnr_db, "
      "calibration_sqnr_db, calibration_agreement, errors:[{name, mean, largest, low, high}], worst:{name, sqnr_db}, sha256, stages:[{name, "
      "seconds}], warnings}. With --min-sqnr or "
      "--max-drop it also has mixed, of a model with states sequences, of a detector detections as 'compare'");
  add_import_options(*app, arguments->network, ImportHelp::kBeside);
  keep_given_words(*app, arguments->words, kImportHeading);
  return make_command(app, arguments, run_calibrate);
}

}  // namespace intaglio::cli

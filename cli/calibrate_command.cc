// intaglio calibrate: an FP32 model and a few samples to an int8 model.
#include <chrono>
#include <filesystem>

#include "calibrator/calibration.h"
#include "calibrator/recover/recovery.h"
#include "cli/calibrated_steps.h"
#include "cli/calibration_estimate.h"
#include "cli/calibration_figures.h"
#include "cli/calibration_page.h"
#include "cli/calibration_samples.h"
#include "cli/class_scores.h"
#include "cli/command.h"
#include "cli/float_search.h"
#include "cli/held_out_figures.h"
#include "cli/known_params.h"
#include "cli/layer_comparison.h"
#include "cli/model_file_sink.h"
#include "cli/quantization_options.h"
#include "cli/recover_option.h"
#include "cli/sample_checks.h"
#include "cli/state_file.h"

namespace intaglio::cli {
namespace {

constexpr size_t kMaxReplayBytes = size_t{1} << 30;

struct CalibrateArguments {
  std::string model, output, state, report, memory = "flat";
  SampleArguments samples;
  ExecutionOptions execution;
  std::string recover = "default";
  int64_t steps = 0;
  bool int8_states = false;
  QuantizationArguments quantization;
  FloatSearchArguments float_search;
  ParamsArguments params;
  bool json = false;
  std::vector<std::string> words;  // the command line as it was given

  // Everything is to come from a file of parameters.
  bool without_samples() const {
    return !params.file.empty() && samples.images.empty() && samples.inputs.empty();
  }
};

constexpr const char* kFooter =
    "The int8 model depends on the FP32 model, the set of samples and the options. It does not depend on the order\n"
    "of the samples, the machine or the number of threads. It is opened and run before it is written.\n\n"
    "A setting that int8 cannot hold is refused; 'intaglio simulate' shows its effect.\n"
    "SQNR is in dB, and larger is better. 'alone' is a layer's error with exact inputs.\n\n"
    "Example:\n"
    "  intaglio calibrate net.itg --images calibration/ -o net.int8.itg";

// What stays the same from the first sample to the last.
struct Job {
  const CalibrateArguments& arguments;
  const CalibratedSteps& steps;
  const LoadedModel& file;
  const KnownParamsFile& known;
  CalibrationSamples& samples;
  const SampleFacts& facts;
  ProgressLine& progress;
  std::chrono::steady_clock::time_point start;
};

// What the calibrator says of its progress, for the line.
struct Steps {
  ProgressLine& line;
  int32_t count;
  const Calibration* calibration = nullptr;

  static bool show(void* context, const char* stage, int32_t done, int32_t total) {
    const Steps& steps = *static_cast<Steps*>(context);
    if (steps.calibration != nullptr) steps.line.set_step(steps.calibration->steps_done + 1, steps.count);
    try {
      steps.line.show(stage, static_cast<uint64_t>(done), static_cast<uint64_t>(total));
    } catch (const Stopped&) {  // goes through no code that knows no exceptions
      return false;
    }
    return true;
  }
};

CalibratorOptions calibrator_options(const SessionOptions& execution) {
  CalibratorOptions options;
  options.isa = execution.isa;
  options.executor = execution.executor;
  return options;
}

// What an error of the calibrator is about, in words.
Failure failure_of(const Job& job, const Error& error, int32_t sample = -1) {
  if (error.status == Status::kSamplesDiffer && !job.samples.problem().empty())
    return Failure{job.samples.problem()};
  const std::string what =
      sample < 0 ? job.file.path() : "sample " + job.samples.name(static_cast<size_t>(sample));
  return failure_in(what, error, &job.file.model());
}

// Gives the classes that the FP32 model finds; none where its output is not classes.
Outcome<SampleClasses> add_samples(const Job& job, HeldOut& held_out) {
  const bool gives = gives_classes(job.file.model(), job.samples.samples());
  SampleClasses classes;
  const SampleSource source = job.samples.source([&](size_t i, const Session& fp32) {
    if (gives) classes.add(i, job.samples.name(i), fp32);
  });
  int32_t bad = -1;
  const Error error = held_out.add_all(source, &bad);
  if (!error.ok()) return failure_of(job, error, bad);
  job.progress.clear();
  classes.warn();
  return classes;
}

// Gives the classes that the int8 model finds; none from a state, whose samples are not at hand.
Outcome<std::vector<int32_t>> finish(const Job& job, Calibrator& calibrator, bool from_state,
                                     ModelFileSink& sink) {
  std::vector<int32_t> classes;
  const SampleSource source = job.samples.source([&](size_t i, const Session& int8) {
    classes.resize(job.samples.count());
    classes[i] = best_class(class_scores(int8)).value_or(-1);
  });
  const Error error = calibrator.finish(sink.sink(), from_state ? nullptr : &source);
  job.progress.clear();
  if (error.ok()) return classes;
  if (error.status == Status::kSinkFailed && !sink.problem.empty()) return Failure{sink.problem};
  return failure_of(job, error);
}

Outcome<std::vector<int32_t>> classes_of(const Job& job, LoadedSession& fp32, LoadedSession& int8) {
  std::vector<int32_t> classes;
  for (size_t i = 0; i < job.samples.count(); ++i) {
    job.progress.show("running the int8 model", i, job.samples.count());
    if (auto loaded = job.samples.load(i, fp32, int8); !loaded) return loaded.failure();
    int8->run();
    classes.push_back(best_class(class_scores(*int8)).value_or(-1));
  }
  job.progress.clear();
  return classes;
}

// Whether layers in FP32 are what to do next: the preprocessing and the number of samples come first.
bool tries_float(const Job& job, const CalibrationFigures& figures, bool is_well_fed, bool from_state) {
  return figures.verdict.grade != Grade::kGood && is_well_fed && job.samples.count() >= kEnoughSamples &&
         !job.steps.has_states() && !from_state && !job.arguments.float_search.asked();
}

Outcome<Done> write_page(const std::string& path, const CalibrationPage& page) {
  const std::string html = calibration_page(page);
  return write_file_atomically(path, {reinterpret_cast<const uint8_t*>(html.data()), html.size()});
}

Outcome<Done> calibrate(const Job& job, const SessionOptions& execution, const MemoryGoal& goal) {
  const CalibrateArguments& arguments = job.arguments;
  const Model& model = job.file.model();
  std::error_code ignored;
  const bool from_state = !arguments.state.empty() && std::filesystem::exists(arguments.state, ignored);
  QuantizationLists lists;
  CalibratorOptions options = calibrator_options(execution);
  if (auto step = read_quantization(arguments.quantization, job.file, lists, options); !step)
    return step.failure();
  job.steps.set(arguments.int8_states, lists, options);
  job.known.set(options);
  if (auto step = set_recover(arguments.recover, model, from_state ? 0 : job.samples.count(), options); !step)
    return step.failure();
  if (!from_state) {
    const auto replay = Calibrator::replay_bytes(model, static_cast<int32_t>(job.samples.count()), options);
    if (!replay) return job.file.failure(replay.error());
    options.replay_bytes = std::min(*replay, kMaxReplayBytes);
  }
  std::optional<FloatSearchResult> mixed;
  if (arguments.float_search.asked()) {
    auto fp32 = LoadedSession::create(job.file, execution);
    if (!fp32) return fp32.failure();
    const auto found =
        search_float_layers(job.file, *fp32, job.samples, arguments.float_search, options, job.progress);
    if (!found) return found.failure();
    mixed = *found;
    options.float_nodes = {mixed->nodes.data(), mixed->nodes.size()};
    options.slots = {mixed->slots.data(), mixed->slots.size()};
  }
  const bool wants_layers = !arguments.json || !arguments.report.empty();
  options.layer_report = wants_layers && !from_state;
  if (!from_state && !mixed) job.progress.set_estimate(estimate_of(options.recover, options.layer_report));
  Steps steps{job.progress, steps_of(options)};
  options.progress = {Steps::show, &steps};
  const auto needs = Calibrator::measure(model, options);
  if (!needs) return job.file.failure(needs.error());
  FileBytes memory(needs->total());
  auto calibrator = Calibrator::create(model, {memory.data(), memory.size()}, options);
  if (!calibrator) return job.file.failure(calibrator.error());
  steps.calibration = &Calibration::of(*calibrator);
  if (from_state) {
    if (auto step = load_state(arguments.state, model, *calibrator); !step) return step.failure();
    print_note("the samples of " + arguments.state +
               " cannot be run again: biases are corrected from their means");
  }
  const CalibrationState before = steps.calibration->seen;
  // Of the samples that are left where others are held out for mixed precision nothing more is.
  HeldOut held_out(*calibrator, model, options,
                   job.samples.held_out_count() > 0 ? std::vector<Digest>() : job.facts.digests);
  const auto classes = add_samples(job, held_out);
  if (!classes) return classes.failure();
  const std::vector<int32_t>& fp32_classes = classes->found();
  if (from_state) warn_of_doubling(arguments.state, before, steps.calibration->seen);
  ModelFileSink sink{arguments.output};
  sink.goal = goal;
  sink.at_once = execution.executor.width > 1;
  auto int8_classes = finish(job, *calibrator, from_state, sink);
  if (!int8_classes) return int8_classes.failure();
  job.progress.set_step(0, 0);
  if (!arguments.state.empty()) {
    if (auto step = save_state(arguments.state, *calibrator); !step)
      return Failure{step.message() + "; " + arguments.output + " is complete"};
  }
  const CalibrationReport& report = calibrator->report();
  CalibrationFigures figures;
  figures.images = job.samples.count();
  figures.sha256 = sink.sha256.get();
  figures.calibrating.sqnr = sqnr_db(report.signal, report.noise);
  OpenOptions checked;
  checked.skip_checksum = true;  // finish() has opened these bytes
  const auto written = Model::open(report.bytes, checked);
  if (!written) return failure_in(arguments.output, written.error());
  figures.method = written->calibration().method;
  note_vanished_sums(*written);
  Span<const LayerReport> layers = report.layers;
  Comparison comparison;
  if (from_state && !job.steps.has_states()) {
    auto fp32 = LoadedSession::create(job.file, execution);
    if (!fp32) return fp32.failure();
    auto int8 = LoadedSession::create(*written, execution);
    if (!int8) return failure_in(arguments.output, int8.error(), &*written);
    auto compared =
        compare_models(job.file, *fp32, *written, *int8, job.samples.samples(), wants_layers, job.progress);
    if (!compared) return compared.failure();
    comparison = std::move(*compared);
    layers = {comparison.layers.data(), comparison.layers.size()};
    if (!comparison.outputs.empty()) figures.calibrating.sqnr = comparison.figures().sqnr;
    if (!fp32_classes.empty()) int8_classes = classes_of(job, *fp32, *int8);
    if (!int8_classes) return int8_classes.failure();
  }
  if (!fp32_classes.empty()) figures.calibrating.agreement = agreement_of(fp32_classes, *int8_classes);
  if (const Error error = judge_held_out(held_out, job.samples, fp32_classes, !from_state, figures);
      !error.ok())
    return Failure{failure_of(job, error).message + "; " + arguments.output + " is complete"};
  if (job.steps.has_states()) {
    const auto compared = compare_sequences(job.steps.given(), *written, job.samples.samples(),
                                            job.steps.sequences(), execution, job.progress);
    if (!compared) return Failure{compared.message() + "; " + arguments.output + " is complete"};
    figures.sequences = *compared;
    if (from_state) figures.calibrating.sqnr = compared->sqnr;
  }
  job.progress.clear();
  const std::string& sign = job.facts.preprocessing_sign;
  figures.verdict =
      judge({figures.held_out.sqnr, figures.held_out.agreement, figures.judged,
             static_cast<size_t>(report.samples), sign.empty() ? classes->preprocessing_sign() : sign});
  const std::vector<StageTime> stages = job.progress.stages();
  figures.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - job.start).count();
  if (!arguments.report.empty()) {
    CalibrationPage page{job.file,         *written,        *calibrator, layers,
                         arguments.output, arguments.words, from_state,  figures};
    page.float_was_tried = tries_float(job, figures, sign.empty(), from_state);
    if (page.float_was_tried) {
      auto advice = advise_float_layers(job.file, *written, job.samples, options, execution, job.progress);
      if (!advice) return Failure{advice.message() + "; " + arguments.output + " is complete"};
      page.float_advice = std::move(*advice);
    }
    if (auto step = write_page(arguments.report, page); !step)
      return Failure{step.message() + "; " + arguments.output + " is complete"};
  }
  if (arguments.json) {
    Json json = json_of(figures);
    for (const StageTime& stage : stages)
      json["stages"].push_back({{"name", stage.name}, {"seconds", stage.seconds}});
    if (mixed) json["mixed"] = json_of(arguments.float_search, *mixed);
    print_json(json);
    return Done{};
  }
  print_layers(model, *written, layers, true);
  print_figures(figures, arguments.output, report);
  if (mixed) print_float_search(arguments.float_search, *mixed);
  return Done{};
}

// What is written besides the model.
Outcome<Done> check_other_paths(const CalibrateArguments& arguments) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto place = [&](const std::string& path) { return fs::weakly_canonical(path, error); };
  for (const auto& [path, option] :
       {std::pair{arguments.report, "--report"}, std::pair{arguments.state, "--state"}}) {
    if (path.empty()) continue;
    if (place(path) == place(arguments.output))
      return Failure{path + ": is the model to write; name another file, with " + option};
    if (auto step = check_output_path(path, arguments.model, option); !step) return step;
  }
  if (!arguments.report.empty() && !arguments.state.empty() &&
      place(arguments.report) == place(arguments.state))
    return Failure{arguments.state + ": is the report to write; name another file, with --state"};
  return Done{};
}

Outcome<Done> bake_known(const CalibrateArguments& arguments, const LoadedModel& file,
                         const CalibratedSteps& steps, const KnownParamsFile& known, const MemoryGoal& goal) {
  QuantizationLists lists;
  CalibratorOptions options;
  if (auto step = read_quantization(arguments.quantization, file, lists, options); !step)
    return step.failure();
  steps.set(arguments.int8_states, lists, options);
  return known.bake(file, options, arguments.output, arguments.json, goal);
}

Outcome<Done> run_calibrate(const CalibrateArguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const auto given = LoadedModel::open(arguments.model);
  if (!given) return given.failure();
  if (auto step = check_output_path(arguments.output, arguments.model); !step) return step.failure();
  if (auto step = check_other_paths(arguments); !step) return step.failure();
  const auto goal = memory_goal(arguments.memory);
  if (!goal) return goal.failure();
  const auto execution = session_options(arguments.execution);
  if (!execution) return execution.failure();
  auto steps = CalibratedSteps::of(*given);
  if (!steps) return steps.failure();
  const LoadedModel& file = steps->model();
  if (auto step = check_float(file); !step) return step.failure();
  if (arguments.float_search.asked() && steps->has_states())
    return Failure{"--min-sqnr and --max-drop: " + file.path() +
                   " has states; layers are judged on samples that do not hang on each other"};
  KnownParamsFile known;
  if (auto step = known.read(arguments.params, file); !step) return step.failure();
  if (arguments.without_samples()) return bake_known(arguments, file, *steps, known, *goal);
  auto samples = Samples::open(arguments.samples, *given);
  if (!samples) return samples.failure();
  if (auto step = samples->check_output(arguments.output); !step) return step.failure();
  if (auto step = steps->read_sequences(arguments.steps, arguments.samples, *execution, *samples); !step)
    return step.failure();
  ProgressLine progress;
  CalibrationSamples kept(*samples, file.model());
  const auto facts = check_samples(kept, execution->executor, progress);
  if (!facts) return facts.failure();
  if (arguments.float_search.asked())
    if (auto step = kept.hold_out(); !step) return step.failure();
  return calibrate({arguments, *steps, file, known, kept, *facts, progress, start}, *execution, *goal);
}

}  // namespace

Command add_calibrate_command(CLI::App& parent) {
  const auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App* app =
      add_subcommand(parent, "calibrate", "make an int8 model from an FP32 model and a few samples", kFooter);
  add_option(*app, "model", arguments->model, "the FP32 model file").required().type_name("NET.itg");
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
      "steps that lessen the error of quantization: default (method,bias, and cle where normalizations have "
      "factors), all, none, or a list of " +
          recovery_names())
      .type_name("LIST")
      .show_default();
  add_option(
      *app, "--params", arguments->params.file,
      "take scales and zero points from this file: see 'intaglio params'. The samples give those that it lacks. "
      "Without samples it must have all of them")
      .type_name("FILE");
  add_params_format_option(*app, "--params-format", "the parameters", arguments->params.format);
  add_params_map_option(*app, "--map", arguments->params.map);
  add_float_search_options(*app, arguments->float_search);
  add_option(*app, "--state", arguments->state,
             "a file for what was seen of the samples: read if it exists, then written with these added")
      .type_name("S.itgcal");
  add_option(
      *app, "--report", arguments->report,
      "write an HTML page: verdict, worst layers, remedies, ranges. Where the verdict is not good, up to "
      "four more calibrations measure what layers in FP32 gain")
      .type_name("FILE.html");
  add_memory_option(*app, arguments->memory);
  add_threads_option(*app, arguments->execution);
  add_flag(*app, "--json", arguments->json,
           "print one JSON object: {images, seconds, sqnr_db, agreement, judged, calibration_sqnr_db, "
           "calibration_agreement, verdict, remedy, sha256, stages:[{name, seconds}]}. With --min-sqnr or "
           "--max-drop it also has mixed, of a model with states sequences");
  keep_given_words(*app, arguments->words);
  return make_command(app, arguments, run_calibrate);
}

}  // namespace intaglio::cli

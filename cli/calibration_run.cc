#include "cli/calibration_run.h"

#include "calibrator/calibration.h"
#include "calibrator/option_checks.h"
#include "calibrator/recover/recovery.h"
#include "cli/advised_command.h"
#include "cli/calibration_figures.h"
#include "cli/calibration_page.h"
#include "cli/class_scores.h"
#include "cli/layer_comparison.h"
#include "cli/loaded_model.h"
#include "cli/quantization_options.h"
#include "cli/state_file.h"

namespace intaglio::cli {
namespace {

constexpr size_t kMaxReplayBytes = size_t{1} << 30;

// What the calibrator says of its progress, for the line.
struct Steps {
  ProgressLine& line;
  int32_t count;
  const Calibration* calibration = nullptr;

  static bool show(void* context, const char* stage, int32_t done, int32_t total) {
    const Steps& steps = *static_cast<Steps*>(context);
    if (steps.calibration != nullptr)
      steps.line.set_step(steps.calibration->finished.steps_done + 1, steps.count);
    try {
      steps.line.show(stage, static_cast<uint64_t>(done), static_cast<uint64_t>(total));
    } catch (const Stopped&) {  // goes through no code that knows no exceptions
      return false;
    }
    return true;
  }
};

class Run {
 public:
  explicit Run(const CalibrationJob& job);
  Outcome<Done> run();

 private:
  bool wants_layers() const { return !arguments_.json || !arguments_.report.empty(); }
  // What an error of the calibrator is about, in words.
  Failure failure_of(const Error& error, int32_t sample = -1) const;

  // Since the command began.
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - job_.start).count();
  }
  Outcome<Done> set_options();
  Outcome<Done> choose_wide_layers();
  Outcome<Done> observe(HeldOut& held_out);
  Outcome<Done> write_model(Calibrator& calibrator, ModelFileSink& sink);
  // Behind these the model is complete.
  Outcome<Done> report(const Calibrator& calibrator, HeldOut& held_out);
  Outcome<Done> measure_state(const Model& int8);
  Outcome<Done> write_page(const Calibrator& calibrator, const Model& int8);
  void print(const CalibrationReport& report, const Model& int8, const std::vector<StageTime>& stages) const;

  const CalibrationJob& job_;
  const CalibrateArguments& arguments_;
  const Model& model_;
  bool from_state_ = false;
  QuantizationLists lists_;  // options_ points into them
  CalibratorOptions options_;
  int32_t steps_ = 0;  // of the progress line: the calibrator's, the samples held out, the page
  std::optional<FloatSearchResult> mixed_;
  SampleClasses fp32_classes_;  // none where the output is not classes
  std::vector<int32_t> int8_classes_;
  CalibrationFigures figures_;
  Comparison comparison_;  // layers_ are its own where the samples of a state are not at hand
  Span<const LayerReport> layers_;
};

Run::Run(const CalibrationJob& job) : job_(job), arguments_(job.arguments), model_(job.file.model()) {
  from_state_ = !arguments_.state.empty() && job.outputs.state.was_there();
  options_.isa = job.execution.isa;
  options_.executor = job.execution.executor;
}

Failure Run::failure_of(const Error& error, int32_t sample) const {
  if (error.status == Status::kSamplesDiffer && !job_.samples.problem().empty())
    return Failure{job_.samples.problem()};
  const std::string what =
      sample < 0 ? job_.file.path() : "sample " + job_.samples.name(static_cast<size_t>(sample));
  return failure_in(what, error, &model_);
}

Outcome<Done> Run::set_options() {
  if (auto step = read_quantization(arguments_.quantization, job_.file, lists_, options_); !step) return step;
  job_.steps.set(arguments_.int8_states, lists_, options_);
  job_.known.set(options_);
  const size_t count = job_.samples.count();
  if (auto step = set_recover(arguments_.recover, model_, from_state_ ? 0 : count, options_); !step)
    return step;
  if (!from_state_) {
    const auto replay = Calibrator::replay_bytes(model_, static_cast<int32_t>(count), options_);
    if (!replay) return job_.file.failure(replay.error());
    options_.replay_bytes = std::min(*replay, kMaxReplayBytes);
  }
  return Done{};
}

Outcome<Done> Run::choose_wide_layers() {
  auto fp32 = LoadedSession::create(job_.file, job_.execution);
  if (!fp32) return fp32.failure();
  const auto found =
      search_float_layers(job_.file, *fp32, job_.samples, arguments_.float_search, options_, job_.progress);
  if (!found) return found.failure();
  mixed_ = *found;
  options_.float_nodes = {mixed_->nodes.data(), mixed_->nodes.size()};
  options_.slots = {mixed_->slots.data(), mixed_->slots.size()};
  return Done{};
}

Outcome<Done> Run::observe(HeldOut& held_out) {
  const bool gives = gives_classes(model_, job_.samples.samples());
  const SampleSource source = job_.samples.source([&](size_t i, const Session& fp32) {
    if (gives) fp32_classes_.add(i, job_.samples.name(i), fp32);
  });
  int32_t bad = -1;
  const Error error = held_out.add_all(source, &bad);
  if (!error.ok()) return failure_of(error, bad);
  job_.progress.clear();
  fp32_classes_.warn();
  return Done{};
}

// Its classes are those of the samples that are at hand.
Outcome<Done> Run::write_model(Calibrator& calibrator, ModelFileSink& sink) {
  sink.goal = job_.goal;
  sink.at_once = job_.execution.executor.width > 1;
  const SampleSource source = job_.samples.source([&](size_t i, const Session& int8) {
    int8_classes_.resize(job_.samples.count());
    int8_classes_[i] = best_class(class_scores(int8)).value_or(-1);
  });
  const Error error = calibrator.finish(sink.sink(), from_state_ ? nullptr : &source);
  job_.progress.clear();
  if (error.status == Status::kSinkFailed && !sink.problem.empty()) return Failure{sink.problem};
  if (!error.ok()) return failure_of(error);
  job_.progress.set_step(steps_of(options_) + 1, steps_);
  figures_.sha256 = sink.sha256.get();
  return Done{};
}

// What finish() could not measure, since it had no samples.
Outcome<Done> Run::measure_state(const Model& int8_model) {
  auto fp32 = LoadedSession::create(job_.file, job_.execution);
  if (!fp32) return fp32.failure();
  auto int8 = LoadedSession::create(int8_model, job_.execution);
  if (!int8) return failure_in(arguments_.output, int8.error(), &int8_model);
  auto compared = compare_models(job_.file, *fp32, int8_model, *int8, job_.samples.samples(), wants_layers(),
                                 job_.progress);
  if (!compared) return compared.failure();
  comparison_ = std::move(*compared);
  layers_ = {comparison_.layers.data(), comparison_.layers.size()};
  if (!comparison_.outputs.empty()) figures_.calibrating.sqnr = comparison_.figures().sqnr;
  if (fp32_classes_.found().empty()) return Done{};
  int8_classes_.clear();
  for (size_t i = 0; i < job_.samples.count(); ++i) {
    job_.progress.show("running the int8 model", i, job_.samples.count());
    if (auto loaded = job_.samples.load(i, *fp32, *int8); !loaded) return loaded;
    (*int8)->run();
    int8_classes_.push_back(best_class(class_scores(**int8)).value_or(-1));
  }
  job_.progress.clear();
  return Done{};
}

Outcome<Done> Run::write_page(const Calibrator& calibrator, const Model& int8) {
  CalibrationPage page{job_.file,  int8,        calibrator, layers_,          arguments_.output,
                       arguments_, from_state_, figures_,   warnings_so_far()};
  // Layers in FP32 are what to do next only where the preprocessing and the number of samples are not.
  page.float_was_tried = figures_.verdict.grade != Grade::kGood && job_.facts.preprocessing_sign.empty() &&
                         job_.samples.count() >= kEnoughSamples && !job_.steps.has_states() && !from_state_ &&
                         !arguments_.float_search.asked();
  if (page.float_was_tried) {
    job_.progress.set_step(steps_, steps_);
    auto advice = advise_float_layers(job_.file, int8, job_.samples, options_, job_.execution, job_.progress);
    if (!advice) return advice.failure();
    page.float_advice = std::move(*advice);
  }
  page.figures.seconds = seconds();
  const std::string html = calibration_page(page);
  return job_.outputs.report.write({reinterpret_cast<const uint8_t*>(html.data()), html.size()});
}

void Run::print(const CalibrationReport& report, const Model& int8,
                const std::vector<StageTime>& stages) const {
  if (arguments_.json) {
    Json json = json_of(figures_);
    for (const StageTime& stage : stages)
      json["stages"].push_back({{"name", stage.name}, {"seconds", stage.seconds}});
    if (mixed_) json["mixed"] = json_of(arguments_.float_search, *mixed_);
    print_json(json);
    return;
  }
  print_figures(figures_, arguments_.output, report);
  if (mixed_) print_float_search(arguments_.float_search, *mixed_);
  cli::print("\n");
  print_layers(model_, int8, layers_, true);
}

Outcome<Done> Run::report(const Calibrator& calibrator, HeldOut& held_out) {
  if (!arguments_.state.empty())
    if (auto step = save_state(job_.outputs.state, calibrator); !step) return step;
  const CalibrationReport& report = calibrator.report();
  OpenOptions checked;
  checked.skip_checksum = true;  // finish() has opened these bytes
  const auto written = Model::open(report.bytes, checked);
  if (!written) return failure_in(arguments_.output, written.error());
  note_vanished_sums(*written);
  figures_.images = job_.samples.count();
  figures_.method = written->calibration().method;
  figures_.calibrating.sqnr = sqnr_db(report.signal, report.noise);
  layers_ = report.layers;
  if (from_state_ && !job_.steps.has_states())
    if (auto step = measure_state(*written); !step) return step;
  const std::vector<int32_t>& classes = fp32_classes_.found();
  if (!classes.empty()) figures_.calibrating.agreement = agreement_of(classes, int8_classes_);
  if (const Error error = judge_held_out(held_out, job_.samples, classes, !from_state_, figures_);
      !error.ok())
    return failure_of(error);
  if (job_.steps.has_states()) {
    const auto compared = compare_sequences(job_.steps.given(), *written, job_.samples.samples(),
                                            job_.steps.sequences(), job_.execution, job_.progress);
    if (!compared) return compared.failure();
    figures_.sequences = *compared;
    if (from_state_) figures_.calibrating.sqnr = compared->sqnr;
  }
  job_.progress.clear();
  const std::string& sign = job_.facts.preprocessing_sign;
  figures_.verdict =
      judge({figures_.held_out.sqnr, figures_.held_out.agreement, figures_.judged,
             static_cast<size_t>(report.samples), sign.empty() ? fp32_classes_.preprocessing_sign() : sign,
             job_.file.model().image_count() > 0});
  figures_.command = advised_command(arguments_, job_.file.is_imported(), figures_.verdict);
  figures_.calibrating_seconds = seconds();
  if (!arguments_.report.empty())
    if (auto step = write_page(calibrator, *written); !step) return step;
  job_.progress.clear();
  figures_.seconds = seconds();
  print(report, *written, job_.progress.stages());
  return Done{};
}

Outcome<Done> Run::run() {
  if (auto step = set_options(); !step) return step;
  if (arguments_.float_search.asked())
    if (auto step = choose_wide_layers(); !step) return step;
  options_.layer_report = wants_layers() && !from_state_;
  if (!from_state_ && !mixed_)
    job_.progress.set_estimate(estimate_of(options_.recover, options_.layer_report));
  options_.recover = possible_recoveries(model_, options_);
  steps_ = steps_of(options_) + 1 + (arguments_.report.empty() ? 0 : 1);
  job_.progress.set_beforehand(false);
  Steps steps{job_.progress, steps_};
  options_.progress = {Steps::show, &steps};
  const auto needs = Calibrator::measure(model_, options_);
  if (!needs) return job_.file.failure(needs.error());
  FileBytes memory(needs->total());
  auto calibrator = Calibrator::create(model_, {memory.data(), memory.size()}, options_);
  if (!calibrator) return job_.file.failure(calibrator.error());
  steps.calibration = &Calibration::of(*calibrator);
  if (from_state_) {
    if (auto step = load_state(arguments_.state, model_, *calibrator); !step) return step;
    print_note("the samples of " + arguments_.state +
               " cannot be run again: biases are corrected from their means");
  }
  const CalibrationState before = steps.calibration->seen;
  // Of the samples that are left where others are held out for mixed precision nothing more is.
  HeldOut held_out(*calibrator, model_, options_,
                   job_.samples.held_out_count() > 0 ? std::vector<Digest>() : job_.facts.digests);
  if (auto step = observe(held_out); !step) return step;
  if (from_state_) warn_of_doubling(arguments_.state, before, steps.calibration->seen);
  ModelFileSink sink{job_.outputs.model};
  if (auto step = write_model(*calibrator, sink); !step) return step;
  if (auto step = report(*calibrator, held_out); !step)
    return Failure{step.message() + "; " + arguments_.output + " is complete"};
  return Done{};
}

}  // namespace

Outcome<Done> run_calibration(const CalibrationJob& job) { return Run(job).run(); }

}  // namespace intaglio::cli

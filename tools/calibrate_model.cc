#include "tools/calibrate_model.h"

#include <limits>

#include "calibrator/host/calibration_facts.h"
#include "calibrator/host/system/wording.h"
#include "calibrator/option_checks.h"
#include "calibrator/recover/recovery.h"
#include "tools/calibration_page.h"
#include "tools/class_scores.h"
#include "tools/layer_comparison.h"
#include "tools/observed_samples.h"
#include "tools/recipe_check.h"
#include "tools/remedy.h"
#include "tools/sample_checks.h"

namespace intaglio::tools {
namespace {

constexpr size_t kMaxReplayBytes = size_t{1} << 30;

// Tells the caller of the calibrator's progress.
struct Steps {
  Work& work;
  int32_t count;
  const Calibrator* calibrator = nullptr;

  static bool show(void* context, const char* stage, int32_t done, int32_t total) {
    const Steps& steps = *static_cast<Steps*>(context);
    if (steps.calibrator != nullptr) steps.work.set_step(steps_done(*steps.calibrator) + 1, steps.count);
    return show_or_stop(steps.work, stage, done, total);
  }
};

// Everything that stays the same from the first sample to the last.
struct Job {
  const CalibrateChoice& choice;
  const CalibratedSteps& steps;
  const LoadedModel& file;
  const KnownParamsFile& known;
  CalibrationSamples& samples;
  const SampleFacts& facts;
  Work& work;
};

class Run {
 public:
  explicit Run(const Job& job);
  Outcome<CalibratedModel> run();

 private:
  // finish() had no samples.
  bool measures_afterwards() const { return from_state_ || options_.one_pass; }
  // An error of the calibrator in words.
  Failure failure_of(const Error& error, int32_t sample = -1) const;

  // Since the caller's work began.
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - choice_.start).count();
  }
  Outcome<Done> set_options();
  Outcome<Done> set_rounds(size_t samples_at_hand);
  Outcome<Done> choose_wide_layers();
  // The sign of a wrong preprocessing, as a clause; empty: there is none.
  std::string preprocessing_sign() const {
    const std::string& of_values = job_.facts.preprocessing_sign;
    if (!of_values.empty()) return of_values;
    for (const std::string& sign : {fp32_outputs_.preprocessing_sign(), fp32_classes_.preprocessing_sign()})
      if (!sign.empty()) return sign;
    return better_recipe_;
  }
  // Not where another preprocessing would make other samples, nor where mixed precision was asked for, scales are known, or the
  // samples cannot be had again.
  bool can_try_remedy() const {
    const Grade grade = made_.figures.verdict.grade;
    return (grade == Grade::kFair || grade == Grade::kPoor) && preprocessing_sign().empty() &&
           !job_.steps.has_states() && !measures_afterwards() && !choice_.float_search.asked() &&
           options_.known.empty();
  }
  Outcome<Done> observe(HeldOut& held_out);
  void warn_of_doubling(const CalibrationState& before, const CalibrationState& now) const;
  Outcome<Done> make_model(Calibrator& calibrator);
  // Behind these the model is complete.
  Outcome<Done> report(const Calibrator& calibrator, HeldOut& held_out);
  Outcome<Done> report_unmeasured();
  Outcome<Done> measure_state(const Model& int8);
  Outcome<Done> make_page(const Calibrator& calibrator, const Model& int8);

  const Job& job_;
  const CalibrateChoice& choice_;
  const Model& model_;
  bool from_state_ = false;
  std::optional<Rounds> rounds_;  // the samples answer what is asked, wherever they are
  QuantizationLists lists_;       // options_ points into them
  CalibratorOptions options_;
  int32_t steps_ = 0;                   // of the progress: the calibrator's, the samples held out, the page
  std::optional<ClassOutput> classes_;  // none where no output is classes
  SampleClasses fp32_classes_;
  SampleOutputs fp32_outputs_;
  std::string better_recipe_;  // as a clause; empty: none
  std::vector<int32_t> int8_classes_;
  CalibratedModel made_;
};

Run::Run(const Job& job) : job_(job), choice_(job.choice), model_(job.file.model()) {
  from_state_ = !choice_.observed.empty();
  if (choice_.profile == Profile::kDevice) options_ = CalibratorOptions::device();
  options_.isa = choice_.execution.isa;
  options_.executor = choice_.execution.executor;
  options_.memory_ceiling = choice_.ceiling;
}

Failure Run::failure_of(const Error& error, int32_t sample) const {
  if (error.status == Status::kSamplesDiffer && !job_.samples.problem().empty())
    return Failure{job_.samples.problem()};
  const std::string what =
      sample < 0 ? job_.file.path() : "sample " + job_.samples.name(static_cast<size_t>(sample));
  return failure_in(what, error, &model_);
}

Outcome<Done> Run::set_options() {
  if (auto step = set_quantization(choice_.quantization, job_.file, job_.work, lists_, options_); !step)
    return step;
  job_.steps.set(choice_.int8_states, lists_, options_, job_.work);
  job_.known.set(lists_, options_);
  if (auto step = job_.known.note_observed(job_.file, options_, job_.work); !step) return step;
  const size_t count = job_.samples.count();
  if (auto step = set_rounds(count); !step) return step;
  if (!from_state_) {
    const auto replay = Calibrator::replay_bytes(model_, static_cast<int32_t>(count), options_);
    if (!replay) return job_.file.failure(replay.error());
    options_.replay_bytes = std::min(*replay, kMaxReplayBytes);
  }
  return Done{};
}

// Which recoveries run, and whether samples elsewhere answer what they ask.
Outcome<Done> Run::set_rounds(size_t samples_at_hand) {
  const bool is_question = from_state_ && Rounds::are(choice_.observed);
  if (is_question) {
    auto read = read_rounds(choice_.from, choice_.observed);
    if (!read) return read.failure();
    rounds_ = std::move(*read);
  }
  size_t samples = from_state_ ? 0 : samples_at_hand;
  if (is_question || choice_.asks) {
    const auto facts = facts_of_state(is_question ? rounds_->state() : choice_.observed);
    if (!facts) return load_failure(choice_.from, facts.error());
    samples = facts->sample_count;
  }
  set_recover(choice_.recover, model_, samples, options_);
  if (!is_question && !choice_.asks) return Done{};
  if ((options_.recover & ~kAskable) != 0)
    return Failure{
        option_word("recover") +
        ": absorb, eq, lsq and adaround take samples one by one, and those elsewhere cannot be asked for that"};
  if (is_question && rounds_->recover() != options_.recover)
    return Failure{choice_.from + ": was asked with another " + option_word("recover") + "; give that one"};
  if (!is_question) rounds_ = Rounds(choice_.observed, options_.recover);
  return Done{};
}

Outcome<Done> Run::choose_wide_layers() {
  auto fp32 = LoadedSession::create(job_.file, choice_.execution);
  if (!fp32) return fp32.failure();
  const auto found =
      search_float_layers(job_.file, *fp32, job_.samples, choice_.float_search, options_, job_.work);
  if (!found) return found.failure();
  made_.mixed = *found;
  options_.float_nodes = {made_.mixed->nodes.data(), made_.mixed->nodes.size()};
  options_.slots = {made_.mixed->slots.data(), made_.mixed->slots.size()};
  return Done{};
}

Outcome<Done> Run::observe(HeldOut& held_out) {
  if (gives_classes(model_, job_.samples.samples())) classes_ = class_output(model_);
  if (classes_) fp32_classes_.set_output(*classes_);
  const SampleSource source = job_.samples.source([&](size_t i, const Session& fp32) {
    if (classes_) fp32_classes_.add(i, job_.samples.name(i), fp32);
    const std::vector<Digest>& digests = job_.facts.digests;  // the same sample gives the same outputs
    if (i == 0 || (i < digests.size() && !(digests[i] == digests[0]))) fp32_outputs_.add(fp32);
  });
  int32_t bad = -1;
  const Error error = held_out.add_all(source, &bad);
  if (!error.ok()) return failure_of(error, bad);
  job_.work.clear();
  fp32_outputs_.warn(job_.work);
  if (!fp32_outputs_.are_constant()) fp32_classes_.warn(job_.work);
  if (fp32_classes_.are_doubtful()) {
    classes_.reset();
    fp32_classes_.forget();
  }
  if (!classes_ || !preprocessing_sign().empty()) return Done{};
  auto better = find_better_recipe(job_.file, job_.samples, *classes_, choice_.execution, job_.work);
  if (!better) return better.failure();
  better_recipe_ = std::move(*better);
  if (!better_recipe_.empty()) job_.work.warn(better_recipe_ + "; is the preprocessing right?");
  return Done{};
}

// Warns where exactly the samples that were observed before were added: most often the same folder, named twice.
void Run::warn_of_doubling(const CalibrationState& before, const CalibrationState& now) const {
  Digest twice;
  for (int32_t i = 0; i < 2; ++i) add_to_set(twice, before.samples);
  if (now.samples == twice)
    job_.work.warn(choice_.from + ": holds exactly these samples, so each counts twice now; give them once");
}

// Its classes are those of the samples that are at hand.
Outcome<Done> Run::make_model(Calibrator& calibrator) {
  FinishedModel finished(choice_.memory, choice_.write, choice_.execution.executor.width > 1);
  const SampleSource source = job_.samples.source([&](size_t i, const Session& int8) {
    if (!classes_) return;
    int8_classes_.resize(job_.samples.count());
    int8_classes_[i] = chosen_class(int8, *classes_).value_or(-1);
  });
  const Error error = rounds_ ? rounds_->finish(calibrator, finished.sink())
                              : calibrator.finish(finished.sink(), from_state_ ? nullptr : &source);
  job_.work.clear();
  if (error.status == Status::kOtherGraph && rounds_) return asks_another(choice_.from);
  if (error.status == Status::kAnswersMissing) {
    if (!choice_.asks)
      return Failure{choice_.from + ": more is to be asked; say with " + option_word("question") +
                     " where it shall be written"};
    made_.question = rounds_->save();
    made_.asked = rounds_->asked();
    return Done{};
  }
  if (error.status == Status::kSinkFailed && !finished.problem().empty()) return Failure{finished.problem()};
  if (!error.ok()) return failure_of(error);
  job_.work.set_step(steps_of(options_) + 1, steps_);
  made_.figures.sha256 = finished.sha256();
  made_.bytes = finished.take_bytes();
  return Done{};
}

// Measures what finish() could not, since it had no samples.
Outcome<Done> Run::measure_state(const Model& int8_model) {
  auto fp32 = LoadedSession::create(job_.file, choice_.execution);
  if (!fp32) return fp32.failure();
  auto int8 = LoadedSession::create(int8_model, choice_.execution);
  if (!int8) return failure_in(choice_.name, int8.error(), &int8_model);
  auto compared =
      compare_models(job_.file, *fp32, int8_model, *int8, job_.samples.samples(), choice_.layers, job_.work);
  if (!compared) return compared.failure();
  if (!compared->outputs.empty()) made_.figures.calibrating.sqnr = compared->figures().sqnr;
  made_.layers = std::move(compared->layers);
  if (fp32_classes_.found().empty()) return Done{};
  int8_classes_.clear();
  for (size_t i = 0; i < job_.samples.count(); ++i) {
    job_.work.show("running the int8 model", i, job_.samples.count());
    if (auto loaded = job_.samples.load(i, *fp32, *int8); !loaded) return loaded;
    (*int8)->run();
    int8_classes_.push_back(chosen_class(**int8, *classes_).value_or(-1));
  }
  job_.work.clear();
  return Done{};
}

Outcome<Done> Run::make_page(const Calibrator& calibrator, const Model& int8) {
  CalibrationPage page{
      job_.file,    int8,          calibrator,          {made_.layers.data(), made_.layers.size()},
      choice_.name, made_.figures, job_.work.warnings()};
  page.figures.seconds = seconds();
  made_.page = calibration_page(page);
  return Done{};
}

Outcome<Done> Run::report(const Calibrator& calibrator, HeldOut& held_out) {
  const CalibrationReport& report = calibrator.report();
  OpenOptions checked;
  checked.skip_checksum = true;  // finish() has opened these bytes
  const auto written = Model::open(report.bytes, checked);
  if (!written) return failure_in(choice_.name, written.error());
  note_vanished_sums(*written, job_.work);
  CalibrationFigures& figures = made_.figures;
  figures.images = job_.samples.count();
  figures.method = written->calibration().method;
  figures.bytes = report.bytes.size;
  figures.calibrating.sqnr = sqnr_db(report.signal, report.noise);
  made_.seen = report.samples;
  made_.flat_bytes = report.bytes.size;
  made_.layers.assign(report.layers.begin(), report.layers.end());
  made_.recoveries = summarize(report.recoveries, figures.method);
  if (job_.samples.count() == 0) return report_unmeasured();
  if (measures_afterwards() && !job_.steps.has_states())
    if (auto step = measure_state(*written); !step) return step;
  const std::vector<int32_t>& classes = fp32_classes_.found();
  if (!classes.empty()) figures.calibrating.agreement = agreement_of(classes, int8_classes_);
  const bool has_others = !classes_ || model_.outputs().size > 1;
  const bool has_states = job_.steps.has_states();
  const OutputsToJudge outputs{classes_, classes, !has_states && has_channels_of_their_own(model_),
                               !has_states && has_others,
                               Detector::may_be(model_, job_.samples.samples()) ? &model_ : nullptr};
  if (const Error error = judge_held_out(held_out, job_.samples, outputs, !measures_afterwards(), figures);
      !error.ok())
    return failure_of(error);
  if (job_.steps.has_states()) {
    const auto compared = compare_sequences(job_.steps.given(), *written, job_.samples.samples(),
                                            job_.steps.sequences(), choice_.execution, job_.work);
    if (!compared) return compared.failure();
    figures.sequences = *compared;
    if (measures_afterwards()) figures.calibrating.sqnr = compared->sqnr;
  }
  job_.work.clear();
  const std::optional<WorstPart>& worst = figures.held_out.worst;
  figures.verdict = judge({judged_sqnr(figures.held_out), figures.held_out.agreement, figures.judged,
                           figures.calibrating.sqnr - figures.held_out.sqnr, preprocessing_sign(),
                           job_.file.model().image_count() > 0});
  if (worst && figures.verdict.grade != Grade::kGood && figures.verdict.grade != Grade::kNone)
    figures.verdict.text +=
        " Its worst part is " + safe(worst->name) + ": " + decimal(worst->sqnr, 1) + " dB.";
  if (choice_.advised_command) figures.command = choice_.advised_command(figures.verdict);
  figures.calibrating_seconds = seconds();
  if (can_try_remedy()) {
    job_.work.set_step(steps_, steps_);
    const RemedyJob remedy{job_.file,       *written, job_.samples, job_.facts.digests, options_,
                           choice_.recover, outputs,  figures,      choice_.execution};
    auto trial = try_remedy(remedy, job_.work);
    if (!trial) return trial.failure();
    name_remedy(*trial, figures);
    if (trial->helps)
      figures.command = choice_.changed_command ? choice_.changed_command(trial->changes) : "";
    figures.trial = std::move(*trial);
  }
  if (choice_.page)
    if (auto step = make_page(calibrator, *written); !step) return step;
  job_.work.clear();
  figures.seconds = seconds();
  made_.stages = job_.work.stages();
  return Done{};
}

// No sample is at hand, so nothing says how near the model is.
Outcome<Done> Run::report_unmeasured() {
  CalibrationFigures& figures = made_.figures;
  figures.held_out.sqnr = std::numeric_limits<double>::quiet_NaN();
  if (!rounds_) figures.calibrating.sqnr = figures.held_out.sqnr;
  Judgeable judgeable;
  judgeable.at_hand = false;
  figures.verdict = judge(judgeable);
  figures.calibrating_seconds = figures.seconds = seconds();
  made_.stages = job_.work.stages();
  return Done{};
}

Outcome<CalibratedModel> Run::run() {
  if (auto step = set_options(); !step) return step.failure();
  if (choice_.float_search.asked())
    if (auto step = choose_wide_layers(); !step) return step.failure();
  options_.layer_report = choice_.layers && !measures_afterwards();
  if (!measures_afterwards() && !made_.mixed)
    job_.work.set_estimate(estimate_of(options_.recover, options_.layer_report));
  options_.recover = possible_recoveries(model_, options_);
  steps_ = steps_of(options_) + 1 + (choice_.page ? 1 : 0);
  job_.work.set_beforehand(false);
  Steps steps{job_.work, steps_};
  options_.progress = {Steps::show, &steps};
  const auto needs = Calibrator::measure(model_, options_);
  if (!needs) return job_.file.failure(needs.error());
  FileBytes memory(needs->total() + needs->shared_bytes);  // the FP32 session judges afterwards
  auto calibrator = Calibrator::create(model_, {memory.data(), memory.size()}, options_);
  if (!calibrator) return job_.file.failure(calibrator.error());
  steps.calibrator = &*calibrator;
  if (from_state_) {
    const Span<const uint8_t> state = rounds_ ? rounds_->state() : choice_.observed;
    if (auto step = load_observed(choice_.from, state, *calibrator); !step) return step.failure();
    if (!rounds_)
      job_.work.note("the samples of " + choice_.from +
                     " cannot be run again: biases are corrected from their means");
  }
  const CalibrationState before = samples_seen(*calibrator);
  // Where samples are held out for mixed precision, no more of the others are.
  HeldOut held_out(*calibrator, model_, options_,
                   job_.samples.held_out_count() > 0 ? std::vector<Digest>() : job_.facts.digests);
  if (job_.samples.count() > 0)
    if (auto step = observe(held_out); !step) return step.failure();
  if (from_state_) warn_of_doubling(before, samples_seen(*calibrator));
  if (auto step = make_model(*calibrator); !step) return step.failure();
  if (!made_.question.empty()) return std::move(made_);
  if (auto step = report(*calibrator, held_out); !step) {
    if (choice_.write) return Failure{step.message() + "; " + choice_.name + " is complete"};
    return step.failure();
  }
  return std::move(made_);
}

Outcome<CalibratedModel> bake(const CalibrateChoice& choice, const CalibratedSteps& steps,
                              const KnownParamsFile& known, const Work& work) {
  QuantizationLists lists;
  CalibratorOptions options;
  if (auto step = set_quantization(choice.quantization, steps.model(), work, lists, options); !step)
    return step.failure();
  steps.set(choice.int8_states, lists, options, work);
  options.memory_ceiling = choice.ceiling;
  auto baked = known.bake(steps.model(), options, work, choice.memory, choice.write);
  if (!baked) return baked.failure();
  CalibratedModel made;
  made.bytes = std::move(baked->bytes);
  made.baked = std::move(*baked);
  return made;
}

Outcome<CalibratedModel> calibrate_stoppable(const LoadedModel& network, const CalibrateChoice& choice,
                                             Work& work) {
  if (auto step = check_float(network); !step) return step.failure();
  KnownParamsFile known;
  const auto split = known.open(choice.params, network, work);
  if (!split) return split.failure();
  const LoadedModel& given = *split ? **split : network;
  auto steps = CalibratedSteps::of(given);
  if (!steps) return steps.failure();
  const LoadedModel& file = steps->model();
  if (choice.int8_states && !steps->has_states())
    work.note(option_word("int8-states") + ": " + file.path() + " has no states");
  if (choice.float_search.asked() && steps->has_states())
    return Failure{option_word("min-sqnr") + " and " + option_word("max-drop") + ": " + file.path() +
                   " has states; layers are judged on samples that do not hang on each other"};
  if (auto step = known.resolve(file, work); !step) return step.failure();
  const bool has_samples = !choice.samples.places.empty();
  if (!has_samples && choice.observed.empty()) return bake(choice, *steps, known, work);
  auto samples = Samples::open(choice.samples, given, work);
  if (!samples) return samples.failure();
  if (auto step = samples->check_output(choice.name); !step) return step.failure();
  if (has_samples)
    if (auto step = steps->read_sequences(choice.steps, choice.samples, choice.execution, *samples, work);
        !step)
      return step.failure();
  CalibrationSamples kept(*samples, file.model());
  work.set_beforehand(true);
  const auto facts = check_samples(kept, choice.execution.executor, work);
  if (!facts) return facts.failure();
  if (choice.float_search.asked())
    if (auto step = kept.hold_out(); !step) return step.failure();
  const Job job{choice, *steps, file, known, kept, *facts, work};
  return Run(job).run();
}

}  // namespace

Outcome<CalibratedModel> calibrate(const LoadedModel& given, const CalibrateChoice& choice, Work& work) {
  return stoppable([&] { return calibrate_stoppable(given, choice, work); });
}

Json json_of(const CalibratedModel& made, const CalibrateChoice& choice) {
  if (made.baked) return json_of(*made.baked);
  Json json = json_of(made.figures);
  for (const StageTime& stage : made.stages)
    json["stages"].push_back({{"name", stage.name}, {"seconds", stage.seconds}});
  json["warnings"] = Json::array();  // whoever prints it has them
  if (made.mixed) json["mixed"] = json_of(choice.float_search, *made.mixed);
  return json;
}

}  // namespace intaglio::tools

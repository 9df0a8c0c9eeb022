// Calibrator::finish: the chain of a calibration, from what has been seen to the file.
#include "calibrator/calibration.h"
#include "calibrator/judge/evaluate.h"
#include "calibrator/ranges/probes.h"
#include "calibrator/recover/bias_absorption.h"
#include "calibrator/recover/bias_correction.h"
#include "calibrator/recover/depthwise_scales.h"
#include "calibrator/recover/equalization.h"
#include "calibrator/recover/layer_recovery.h"
#include "calibrator/recover/range_method.h"
#include "runtime/crc32.h"

namespace intaglio {
namespace {

class Finish;

// A recovery takes the best candidate so far, and returns a candidate.
struct Step {
  RecoveryMask recovery;
  Result<Candidate> (*run)(Finish& finish);
};

class Finish {
 public:
  Finish(Calibration& calibration, const FinishJob& job, const SampleSource* source, Finished& finished)
      : calibration_(calibration),
        job_(job),
        options_(job.options),
        finished_(finished),
        samples_({calibration.fp32, job.seen, calibration.references, *calibration.observing.sha256}, source,
                 job.answers),
        arena_(job.memory.output),
        judge_(calibration.fp32, calibration.observing.outputs, calibration.exact_outputs, options_.progress,
               int8_, samples_, arena_),
        depthwise_scales_(calibration.fp32, job.seen, options_, arena_),
        equalizer_(calibration.fp32, job.seen, options_, arena_),
        absorber_(calibration.fp32, job.seen, options_, arena_),
        int8_({calibration.fp32, options_, job.memory.slots.map, job.memory.output.size}, arena_),
        kept_(calibration.references.rest()),
        given_{calibration.fp32.model, job.seen, {}, false, false, {}, {}},
        guard_(job.memory.records, samples_.has_source()),
        context_{options_,
                 calibration.fp32,
                 calibration.observing,
                 job.memory.slots,
                 int8_,
                 samples_,
                 walk_,
                 judge_,
                 guard_,
                 &given_,
                 {}} {
    finished_ = {};
    finished_.reported = job.seen.observers;
    best_.network = &given_;
    best_.method = job.earlier != nullptr ? job.earlier->method : options_.method;
  }

  // The order of a calibration.
  Error run(const ModelSink& sink) {
    constexpr Step kSteps[] = {
        {recovery::kDepthwiseScales, [](Finish& f) { return f.scale_depthwise(); }},
        {recovery::kRangeMethod, [](Finish& f) { return choose_method(f.context_, f.best_); }},
        {recovery::kEqualization, [](Finish& f) { return f.equalizer_.run(f.context_, f.best_); }},
        {recovery::kBiasAbsorption, [](Finish& f) { return f.absorber_.run(f.context_, f.best_); }},
        {recovery::kBiasCorrection, [](Finish& f) { return f.correct_biases(); }},
        {recovery::kLearnedScales, [](Finish& f) { return f.change_layers(recovery::kLearnedScales); }},
        {recovery::kWeightScales, [](Finish& f) { return f.change_layers(recovery::kWeightScales); }},
        {recovery::kAdaptiveRounding, [](Finish& f) { return f.change_layers(recovery::kAdaptiveRounding); }},
    };
    if (job_.seen.sample_count == 0) return bake_known(sink);
    ITG_TRY(find_samples());
    ITG_TRY(bake());
    for (const Step& step : kSteps) ITG_TRY(take(step));
    finished_.steps_done = steps_of(options_) - 1;
    NetworkError whole;
    ITG_TRY(context_.waiting.error());
    if (samples_.are_elsewhere())
      whole = best_.error;
    else if (!job_.dry_run)
      ITG_TRY(judge_.complete(best_.error, whole));
    const bool has_states = options_.states_of != nullptr;  // its layers are compared step by step
    const bool is_unwritten = Int8Model::is_written_once(options_);
    if (is_unwritten || (!job_.dry_run && !has_states)) ITG_TRY(reopen());
    ITG_TRY(report(whole));
    if (!job_.dry_run && has_states) ITG_TRY(reopen());
    ITG_TRY(context_.step("store", 0, 1));
    ITG_TRY(store(sink));
    finished_.steps_done = steps_of(options_);
    return kNoError;
  }

  // The caller's model runs again.
  Error restore() { return context_.network == &given_ ? kNoError : context_.use(given_); }

 private:
  // The samples that were added, in the source.
  Error find_samples() {
    Error error;
    calibration_.fp32.threads.hold([&] {
      error = samples_.check(kept_, Arena(calibration_.few_samples), !may_judge_by_half(options_.recover));
    });
    ITG_TRY(error);
    walk_ = SampleWalk(samples_, calibration_.fp32, int8_.session(), int8_.lanes(), kept_);
    return kNoError;
  }

  // Ranges, scales, the int8 model, and its error before anything lessens it.
  Error bake() {
    ITG_TRY(context_.step("bake", 0, 1));
    ITG_TRY(context_.build(best_));
    const bool is_observed_again = (options_.recover & recovery::kDepthwiseScales) != 0;
    if (is_observed_again && job_.seen.sample_count <= kMostRanked &&
        has_probes(calibration_.fp32.model, job_.seen.sample_count))
      ITG_TRY(context_.waiting.put_off(samples_.rank_among_all(int8_.bytes())));
    constexpr RecoveryMask kUnjudged = recovery::kBiasCorrection | recovery::kDepthwiseScales;
    if (job_.dry_run && (options_.recover & ~kUnjudged) == 0) return kNoError;  // nothing asks for it
    const bool decides = options_.recover != recovery::kNone;
    ITG_TRY(context_.waiting.put_off(
        judge_.ask({"first replay", decides ? Part::kJudges : Part::kAll}, best_.error)));
    baked_ = best_.error;
    return kNoError;
  }

  // One recovery, if the options ask for it.
  Error take(const Step& step) {
    if ((options_.recover & step.recovery) == 0) return kNoError;
    ++finished_.steps_done;
    // A recovery that needs several samples needs them again.
    const uint32_t least = rule_of(step.recovery).least_samples;
    if (least > 1 && static_cast<uint32_t>(samples_.count_of_all()) < least) {
      guard_.not_tried(step.recovery, best_,
                       samples_.has_source() ? RecoveryVerdict::kTooFewSamples : RecoveryVerdict::kNoSource);
      return kNoError;
    }
    const Result<Candidate> made = step.run(*this);
    if (!made) return made.error();
    best_ = *made;
    return kNoError;
  }

  Result<Candidate> change_layers(RecoveryMask which) {
    return intaglio::change_layers(context_, which, best_);
  }

  Result<Candidate> scale_depthwise() {
    return job_.earlier != nullptr ? depthwise_scales_.run_as(context_, job_.earlier->scales, best_)
                                   : depthwise_scales_.run(context_, best_);
  }

  Result<Candidate> correct_biases() {
    return job_.earlier != nullptr ? correct_biases_as(context_, job_.earlier->biases, best_)
                                   : intaglio::correct_biases(context_, best_);
  }

  // Without samples: what is known beforehand has to do.
  Error bake_known(const ModelSink& sink) {
    if (options_.known.empty()) return {Status::kNoSamples};
    ITG_TRY(context_.build(best_));
    ITG_TRY(int8_.finish());
    ITG_TRY(replay_twice());
    finished_.report.bytes = int8_.bytes();
    return store(sink);
  }

  // The file as it is handed over, opened and run as a stranger would.
  Error reopen() {
    Error error;
    calibration_.fp32.threads.hold([&] { error = int8_.finish(); });
    ITG_TRY(error);
    finished_.report.bytes = int8_.bytes();
    return replay_twice();
  }

  // A sample, or zeros where none is at hand: the FP32 session may be gone then.
  Error load_any(Session& int8) {
    if (samples_.count() == 0) {
      zero_inputs(int8);
      return kNoError;
    }
    ITG_TRY(samples_.load(0));
    copy_inputs(calibration_.fp32.session, int8);
    return kNoError;
  }

  // It gives the same bytes twice.
  Error replay_twice() {
    Session& int8 = int8_.session();
    uint32_t first = 0;
    for (int32_t run = 0; run < 2; ++run) {
      ITG_TRY(load_any(int8));
      int8.reset();
      int8.run();
      uint32_t crc = 0;
      for (size_t i = 0; i < int8.model().outputs().size; ++i) {
        const TensorView output = int8.output(static_cast<int32_t>(i));
        crc = crc32(crc, static_cast<const uint8_t*>(output.data), output.info.bytes());
      }
      if (run == 1 && crc != first) return {Status::kReplayDiffers};
      first = crc;
    }
    return kNoError;
  }

  Error report(const NetworkError& whole) {
    CalibrationReport& report = finished_.report;
    if (options_.layer_report) {
      const auto layers = report_layers(calibration_.fp32, int8_, samples_, options_.progress);
      if (!layers) return layers.error();
      report.layers = *layers;
    }
    report.recoveries = guard_.records();
    report.signal = whole.signal;
    report.noise = whole.noise;
    report.noise_without_recovery =
        baked_.signal == whole.signal ? baked_.noise : baked_.ratio() * whole.signal;
    report.samples = static_cast<int32_t>(job_.seen.sample_count);
    report.method = best_.method;
    report.bytes = int8_.bytes();
    finished_.reported = best_.network->seen.observers;
    finished_.made = best_;
    finished_.made.scales = best_.network->scales;
    finished_.made.network = nullptr;
    return kNoError;
  }

  Error store(const ModelSink& sink) const {
    const bool stored = sink.write == nullptr || sink.write(sink.context, int8_.bytes());
    return stored ? kNoError : Error{Status::kSinkFailed};
  }

  Calibration& calibration_;
  const FinishJob& job_;
  const CalibratorOptions& options_;
  Finished& finished_;
  Replay samples_;
  Arena arena_;
  Judge judge_;
  DepthwiseScales depthwise_scales_;
  Equalizer equalizer_;
  BiasAbsorber absorber_;
  Int8Model int8_;
  Arena kept_;  // memory for what is not computed twice
  SampleWalk walk_{samples_, calibration_.fp32, int8_.session(), int8_.lanes(), kept_};
  const Network given_;
  Guard guard_;
  RecoveryContext context_;
  Candidate best_;
  NetworkError baked_;  // of the model without recoveries
};

}  // namespace

// As Finish takes it: what its recoveries keep, the int8 model, and the most that one of its steps asks for.
Result<uint64_t> finish_bytes(const Model& model, const SessionNeeds& session,
                              const CalibratorOptions& options) {
  const auto nodes =
      2 * static_cast<uint64_t>(model.node_count() + model.tensor_count());  // of the int8 model
  const uint64_t of_steps[] = {bias_correction_bytes(model, options), layer_recovery_bytes(model, options),
                               layer_report_bytes(nodes, options),
                               sizeof(float) * static_cast<uint64_t>(model.tensor_count())};
  uint64_t largest = 0;
  for (const uint64_t of_step : of_steps) largest = of_step > largest ? of_step : largest;
  const Result<uint64_t> int8 = Int8Model::bytes(model, options, largest);
  if (!int8) return int8.error();
  return align_memory(
      Judge::bytes(model, options) + DepthwiseScales::bytes(model, session.persistent_bytes, options) +
      Equalizer::bytes(model, session.persistent_bytes, options) +
      BiasAbsorber::bytes(model, session.persistent_bytes, options) + *int8 + kMemoryAlignment);
}

Error finish_calibration(Calibration& calibration, const FinishJob& job, const ModelSink& sink,
                         const SampleSource* source, Finished& finished) {
  Finish finish(calibration, job, source, finished);
  const Error error = finish.run(sink);
  const Error restored = finish.restore();
  return error.ok() ? restored : error;
}

}  // namespace intaglio

// Calibrator::finish, top to bottom: parameters, bake, recoveries under guard, replay, hand over.
#include "calibrator/calibration.h"
#include "calibrator/judge/evaluate.h"
#include "calibrator/recover/bias_absorption.h"
#include "calibrator/recover/equalization.h"
#include "runtime/crc32.h"

namespace intaglio {
namespace {

class Finish {
 public:
  Finish(Calibration& calibration, const FinishAs& as, const SampleSource* source)
      : calibration_(calibration),
        options_(calibration.options),
        dry_run_(as.dry_run),
        samples_({calibration.fp32, calibration.seen, calibration.references, *calibration.observing.sha256},
                 source),
        arena_(calibration.output),
        meter_(calibration.fp32, calibration.observing.outputs, calibration.exact_outputs, arena_),
        equalizer_(calibration.fp32.model, calibration.seen, options_, arena_),
        absorber_(calibration.fp32, calibration.seen, options_, arena_),
        int8_({calibration.fp32, options_, calibration.slots.map, calibration.output.size}, arena_),
        kept_(calibration.references.rest()),
        context_{options_,
                 calibration.fp32,
                 calibration.observing,
                 calibration.seen,
                 calibration.slots,
                 int8_,
                 samples_,
                 walk_,
                 meter_,
                 equalizer_,
                 absorber_,
                 calibration.records,
                 calibration.report,
                 as.method,
                 as.by_samples,
                 calibration.steps_done,
                 calibration.kept_biases,
                 as.biases} {}

  Error run(const ModelSink& sink) {
    calibration_.steps_done = 0;
    calibration_.report = CalibrationReport();
    calibration_.kept_biases = {};
    calibration_.reported = calibration_.seen.observers;
    if (calibration_.seen.sample_count == 0) return bake_known(sink);
    ITG_TRY(find_samples());
    ITG_TRY(bake());
    ITG_TRY(recover(context_));
    calibration_.steps_done = steps_of(options_) - 1;
    if (!dry_run_) ITG_TRY(context_.complete());
    const bool has_states = options_.states_of != nullptr;  // its layers are compared step by step
    if (!dry_run_ && !has_states) ITG_TRY(reopen());
    ITG_TRY(report());
    if (!dry_run_ && has_states) ITG_TRY(reopen());
    ITG_TRY(context_.step("store", 0, 1));
    return store(sink);
  }

  // What recoveries have put in place of the model, and of what has been seen of it, is taken out again.
  Error restore() {
    const Error error = absorber_.restore(context_);
    const Error scaled = equalizer_.restore(context_);
    return error.ok() ? scaled : error;
  }

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
    ITG_TRY(context_.build());
    if (dry_run_ && (options_.recover & ~recovery::kBiasCorrection) == 0)
      return kNoError;  // nothing asks for it
    const bool decides = options_.recover != recovery::kNone;
    ITG_TRY(context_.measure("first replay", context_.error, decides ? Part::kJudges : Part::kAll));
    baked_ = context_.error;
    return kNoError;
  }

  // Without samples: what is known beforehand has to do. The model runs on zeros.
  Error bake_known(const ModelSink& sink) {
    if (options_.known.empty()) return {Status::kNoSamples};
    ITG_TRY(context_.build());
    ITG_TRY(int8_.finish());
    for (size_t i = 0; i < calibration_.fp32.model.inputs().size; ++i) {
      const TensorView input = calibration_.fp32.session.input(static_cast<int32_t>(i));
      memset(input.data, 0, input.info.bytes());
    }
    ITG_TRY(replay_twice(false));
    calibration_.report.bytes = int8_.bytes();
    return store(sink);
  }

  // The file as it is handed over, opened and run as a stranger would.
  Error reopen() {
    Error error;
    calibration_.fp32.threads.hold([&] { error = int8_.finish(); });
    ITG_TRY(error);
    calibration_.report.bytes = int8_.bytes();
    return replay_twice(true);
  }

  // It gives the same bytes twice.
  Error replay_twice(bool loads) {
    Session& int8 = int8_.session();
    uint32_t first = 0;
    for (int32_t run = 0; run < 2; ++run) {
      if (loads) ITG_TRY(samples_.load(0));
      copy_inputs(calibration_.fp32.session, int8);
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

  Error report() {
    CalibrationReport& report = calibration_.report;
    if (options_.layer_report) {
      const auto layers = report_layers(calibration_.fp32, int8_, samples_, options_.progress);
      if (!layers) return layers.error();
      report.layers = *layers;
    }
    const NetworkError& whole = context_.whole;
    report.signal = whole.signal;
    report.noise = whole.noise;
    report.noise_without_recovery =
        baked_.signal == whole.signal ? baked_.noise : baked_.ratio() * whole.signal;
    report.samples = static_cast<int32_t>(calibration_.seen.sample_count);
    report.method = context_.method;
    calibration_.by_samples = context_.by_samples;
    report.bytes = int8_.bytes();
    calibration_.reported = calibration_.seen.observers;
    return kNoError;
  }

  Error store(const ModelSink& sink) const {
    const bool stored = sink.write == nullptr || sink.write(sink.context, int8_.bytes());
    return stored ? kNoError : Error{Status::kSinkFailed};
  }

  Calibration& calibration_;
  const CalibratorOptions& options_;
  bool dry_run_;
  Replay samples_;
  Arena arena_;
  NetworkErrorMeter meter_;
  Equalizer equalizer_;
  BiasAbsorber absorber_;
  Int8Model int8_;
  Arena kept_;  // memory for what is not computed twice
  SampleWalk walk_{samples_, calibration_.fp32, int8_.session(), int8_.lanes(), kept_};
  RecoveryContext context_;
  NetworkError baked_;  // of the model without recoveries
};

}  // namespace

Error finish_calibration(Calibration& calibration, const FinishAs& as, const ModelSink& sink,
                         const SampleSource* source) {
  Finish finish(calibration, as, source);
  const Error error = finish.run(sink);
  const Error restored = finish.restore();
  return error.ok() ? restored : error;
}

}  // namespace intaglio

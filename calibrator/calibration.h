// What a Calibrator keeps: a part for each stage, and the steps of its interface.
#pragma once

#include "calibrator/judge/replay.h"
#include "calibrator/observe/observe_sample.h"
#include "calibrator/ranges/slot_params.h"
#include "calibrator/recover/recovery.h"
#include "calibrator/state/calibration_state.h"
#include "calibrator/workspace/float_model.h"
#include "intaglio/calibrator.h"

namespace intaglio {

// So many samples have their digests at hand whatever memory there is.
inline constexpr size_t kFewSamples = 64;

struct Calibrator::Parts {
  // It lives as long as the calibrator's memory.
  static Parts& of(Calibrator& calibrator) { return *calibrator.parts_; }

  CalibratorOptions
      options;  // the caller's, but for recoveries that cannot run and the executor, which is fp32's
  FloatModel fp32;
  Observing observing;
  CalibrationState seen;
  Slots slots;                  // of the last choose_params()
  ReferenceOutputs references;  // FP32 outputs that are kept
  Span<float> exact_outputs;    // of one sample a lane
  Span<uint8_t>
      few_samples;  // Replay's list of kFewSamples: without it each look at a sample's half loads it
  Span<RecoveryRecord> records;  // room for them
  Span<uint8_t> output;          // memory of finish()
  CalibrationReport report;
  Span<TensorObserver> reported;  // seen's, or those of the rewritten model that finish() handed over
  Error fault;                    // of a sample that cannot be taken back
  bool by_samples = true;         // of the last finish(): RecoveryContext::by_samples
  KeptBiases kept_biases;         // likewise
  int32_t steps_done = 0;         // of steps_of()
  bool graph_is_named = false;    // whether seen.graph is known yet

  ParamSource param_source() const { return {fp32, options, observing, seen}; }
  // Only states that are kept or merged name their graph.
  void name_graph();
};
// Gives the private name to the library.
struct CalibratorParts {
  using Type = Calibrator::Parts;
};
using Calibration = CalibratorParts::Type;

// Bytes of what create() makes beside the session.
uint64_t observer_bytes(const Model& model, const CalibratorOptions& options);
// Bytes of all that finish() makes.
uint64_t output_bytes(const Model& model, const SessionNeeds& session, const CalibratorOptions& options);

// Calibrator::add_all() for samples that `elsewhere` others will calibrate with: what depends on how many there
// are depends on all of them. `progress` takes the place of the options'.
Error add_samples(Calibration& calibration, const SampleSource& source, uint32_t elsewhere,
                  const Progress& progress, int32_t* bad);

// How finish_calibration() differs from Calibrator::finish().
struct FinishAs {
  RangeMethod method;      // that chooses the ranges; options.method is the one that was asked for
  bool by_samples = true;  // RecoveryContext::by_samples, where no search decides it
  // Biases are corrected as in an earlier calibration, whose verdicts these are: samples that made a correction
  // need not judge it once more.
  const KeptBiases* biases = nullptr;
  // The model is judged by others, and never handed over: its bytes are not written anew, reopened and replayed, and
  // their checksum is that of the model as it was baked.
  bool dry_run = false;
};
// What the sink gets; see finish.cc.
Error finish_calibration(Calibration& calibration, const FinishAs& as, const ModelSink& sink,
                         const SampleSource* source);

}  // namespace intaglio

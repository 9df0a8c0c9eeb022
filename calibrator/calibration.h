// The parts of a Calibrator, one for each stage, and the steps of its interface.
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

// Memory that finish() works in.
struct FinishMemory {
  Slots slots;
  Span<RecoveryRecord> records;  // room for them
  Span<uint8_t> output;
};

// The result of finish().
struct Finished {
  CalibrationReport report;
  Candidate made;                 // without its network, which is gone
  Span<TensorObserver> reported;  // of the network that the model was made from
  int32_t steps_done = 0;         // of steps_of(), while it works
};

struct Calibrator::Parts {
  // It lives as long as the calibrator's memory.
  static Parts& of(Calibrator& calibrator) { return *calibrator.parts_; }

  CalibratorOptions
      options;  // the caller's, but for recoveries that cannot run and the executor, which is fp32's
  FloatModel fp32;
  Observing observing;
  CalibrationState seen;
  ReferenceOutputs references;  // FP32 outputs that are kept
  Span<float> exact_outputs;    // of one sample a lane
  Span<uint8_t>
      few_samples;  // Replay's list of kFewSamples: without it each look at a sample's half loads it
  FinishMemory memory;
  Finished finished;
  Error fault;                  // of a sample that cannot be taken back
  bool graph_is_named = false;  // whether seen.graph is known yet
  bool shares_memory = false;   // finish() works in the FP32 session's memory
  bool session_is_gone = false;

  ParamSource param_source() const { return {fp32, options, observing, seen}; }
  // Before a sample is added: makes the FP32 session anew where finish() has taken its memory.
  Error take_session_back();
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
Result<uint64_t> finish_bytes(const Model& model, const SessionNeeds& session,
                              const CalibratorOptions& options);

// Calibrator::add() of the one sample that the source loads.
Error add_sample(Calibration& calibration, const SampleSource& source);

// Calibrator::add_all() for samples that `elsewhere` others will calibrate with: what depends on how many there
// are depends on all of them. `progress` takes the place of the options'.
Error add_samples(Calibration& calibration, const SampleSource& source, uint32_t elsewhere,
                  const Progress& progress, int32_t* bad);

// One call of finish(): from what, with which options, in which memory.
struct FinishJob {
  const CalibratorOptions& options;
  const CalibrationState& seen;
  FinishMemory& memory;
  // An earlier calibration, with more samples. Its method, its factors and its corrections of biases hold: samples that made them need not
  // judge them once more. nullptr: none.
  const Candidate* earlier = nullptr;
  // The model is judged by others, and never handed over: its bytes are not written anew, reopened and replayed, and
  // their checksum is that of the model as it was baked.
  bool dry_run = false;
  // Of samples elsewhere: `seen` is of all of them, and the source has some of them, or there is none. kAnswersMissing where not all
  // is known.
  const Answers* answers = nullptr;
};
// The chain of a calibration; see finish.cc. The calibration's sessions, and what it keeps of the samples, serve each call.
Error finish_calibration(Calibration& calibration, const FinishJob& job, const ModelSink& sink,
                         const SampleSource* source, Finished& finished);

}  // namespace intaglio

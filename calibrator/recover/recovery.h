// The steps of a calibration hand on a candidate: an int8 model as a value. Here is what makes its model, and the guard that
// keeps the better of two.
#pragma once

#include "calibrator/judge/judge.h"
#include "calibrator/judge/sample_walk.h"
#include "calibrator/ranges/slot_params.h"

namespace intaglio {

// Which scales before depthwise layers have been kept (depthwise_scales.h); nothing where there are no factors.
struct KeptScales {
  Span<const float> factors;
  Span<const TensorObserver> observers;  // as CalibrationState::observers
};

// An FP32 model and what has been seen of it: the caller's, or one that computes the same with other weights and biases.
struct Network {
  Model model;
  CalibrationState seen;
  // Memory of its session, if its outputs may differ in a bit: errors are then measured against the session of the model
  // before it. Empty: its session takes the place of that one.
  Span<uint8_t> persistent;
  bool channels_scaled = false, channels_shifted = false;
  KeptScales scales;
  Span<const FunctionFactors> functions;  // as FloatModel::functions
};

// Which corrections of biases have been kept (bias_correction.h).
struct KeptBiases {
  bool alone = false, by_samples = false;
};

// A model that might be handed over, by what it is made from. What layers' recoveries have changed is in its graph alone.
struct Candidate {
  RangeMethod method = RangeMethod::kAuto;  // that chooses the ranges
  KeptBiases biases;
  const Network* network = nullptr;
  NetworkError error;  // over the samples that judge
  KeptScales scales;   // of a network that is gone
};

// Keeps the better of two models, and the record of each attempt.
class Guard {
 public:
  // `judges`: samples are at hand. Without them what is tried stays.
  Guard(Span<RecoveryRecord> room, bool judges) : room_(room), judges_(judges) {}

  // Whether the model after an attempt stays: its error is no more than before, or less than `share` of that.
  bool keeps(RecoveryMask step, const NetworkError& before, const NetworkError& after, double share = 1.0);
  void not_tried(RecoveryMask step, const Candidate& now, RecoveryVerdict why);
  void record(const RecoveryRecord& record);
  Span<const RecoveryRecord> records() const { return {room_.data, count_}; }

 private:
  Span<RecoveryRecord> room_;
  bool judges_;
  size_t count_ = 0;
};

// Memory, sessions and samples that all steps work with. A step gets it and the best candidate so far, whose int8 model
// stands in `int8`. It returns the candidate that stands there afterwards: its own, or the one it got.
struct RecoveryContext {
  const CalibratorOptions& options;
  FloatModel& fp32;  // of the network in use
  const Observing& observing;
  Slots& slots;
  Int8Model& int8;
  Replay& samples;
  SampleWalk& walk;  // through the int8 model
  Judge& judge;
  Guard& guard;
  const Network* network;  // in use
  Waiting waiting;         // for answers that errors of candidates hang on

  // The parameters of every slot, from what has been seen by all samples or by one half of them, and the int8 model that has
  // them. The candidate's network comes into use.
  Error build(const Candidate& candidate, int32_t half = kBothHalves);
  // The first part of it: the graph alone. Biases may be corrected in it before int8.write_and_open().
  Error bake(const Candidate& candidate, int32_t half);
  // Runs this network from now on, also where it is in use already.
  Error use(const Network& network);
  // The candidate whose int8 model stands, with its error, or without where `waiting` says so.
  Result<Candidate> judged(const char* stage, Candidate candidate);
  Error step(const char* stage, int32_t done, int32_t total) const {
    return tell(options.progress, stage, done, total);
  }
};

// Fewer samples leave too few held out to judge layers by.
inline constexpr uint32_t kGuardedSamples = 8;

// One recovery. The chain runs them in the order of the table (finish.cc).
struct RecoveryRule {
  RecoveryMask bit = 0;
  const char* name = "";       // on the command line
  const char* title = "";      // in the file
  uint32_t least_samples = 1;  // with fewer it does not run
};

Span<const RecoveryRule> recovery_rules();
const RecoveryRule& rule_of(RecoveryMask bit);

// Steps of a calibration, in order: the samples with the first int8 model, each recovery that is asked for,
// the report.
int32_t steps_of(const CalibratorOptions& options);

// Whether one half of many samples may judge: recoveries that take minutes are judged by all.
bool may_judge_by_half(RecoveryMask recover);

// The text in a file about its calibration: method, options, recoveries, samples.

// In CalibrationInfo::options where equalization has stayed: activations inside are those of the FP32 model with channels
// scaled.
inline constexpr char kChannelsScaled[] = "channels scaled";
// The same where scales before depthwise layers have stayed: of what these layers read.
inline constexpr char kDepthwiseScaled[] = "depthwise scales";
// The same where bias absorption has stayed.
inline constexpr char kChannelsShifted[] = "channels shifted";

// For this candidate, or as the caller gave it (CalibratorOptions::provenance).
class Provenance {
 public:
  Provenance(const CalibratorOptions& options, const Candidate& candidate);
  const CalibrationInfo& info() const { return info_; }

 private:
  void describe(const CalibratorOptions& options, const Network& network);
  void add(const char* words);

  char text_[161];
  size_t length_ = 0;
  CalibrationInfo info_;
};

}  // namespace intaglio

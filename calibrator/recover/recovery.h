// What lessens the error of quantization once scales are chosen. Each recovery is an attempt that is measured
// with the real int8 kernels before and after, kept or undone, and recorded.
#pragma once

#include <limits>

#include "calibrator/judge/network_error.h"
#include "calibrator/judge/sample_walk.h"
#include "calibrator/ranges/slot_params.h"

namespace intaglio {

class Equalizer;
class BiasAbsorber;

// Which corrections of biases a calibration has kept (bias_correction.h).
struct KeptBiases {
  bool alone = false, by_samples = false;
};

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// What recoveries work on.
struct RecoveryContext {
  const CalibratorOptions& options;
  FloatModel& fp32;  // a rewrite of the model takes its place here
  Observing& observing;
  CalibrationState& seen;
  Slots& slots;
  Int8Model& int8;
  Replay& samples;
  SampleWalk& walk;  // through the int8 model
  NetworkErrorMeter& meter;
  Equalizer& equalizer;
  BiasAbsorber& absorber;
  Span<RecoveryRecord> records;  // room for them
  CalibrationReport& report;
  RangeMethod method;  // that chooses the ranges; options.method is the one that was asked for
  bool
      by_samples;  // whether biases are corrected by samples layer by layer, and not for the rounding of weights alone
  int32_t& steps_done;                           // of steps_of()
  KeptBiases& kept_biases;                       // what correct_biases() has kept
  const KeptBiases* corrected_before = nullptr;  // what it is to do, without judging it
  bool channels_scaled = false;                  // whether fp32 and seen are those of an equalized model
  bool channels_shifted = false;                 // whether they are those of one with biases absorbed
  NetworkError error = {};  // of the int8 model as it is now, over the samples that judge
  NetworkError whole = {};  // over all samples, of the int8 model at `whole_revision`
  int64_t whole_revision = -1;
  // Of the int8 model whose results the source has been told last: of all samples, of those that judge.
  int64_t told_revision = -1, judges_told_revision = -1;

  // Reports progress; kCancelled where the caller cancels.
  Error step(const char* stage, int32_t done, int32_t total) const;
  // From what has been seen by all samples, or by one half of them: the parameters of every slot, and the int8
  // model that has them.
  Error build(int32_t half = kBothHalves);
  // The first part of it: the graph alone. Biases may be corrected in it before int8.write_and_open().
  Error bake(int32_t half);
  // Over these samples, with the int8 model as it is now. Of a model with one output it ends as soon as the
  // noise is more than `most`, and says that it is infinite.
  Error measure(const char* stage, NetworkError& error, Part part = Part::kJudges, double most = kNoLimit);
  // The same of samples that stand before this node in the walk, all or those that judge: it goes on to the
  // end, and ends. The source is not told: what is measured so is often undone. `error` is the judges'.
  Error measure_from(int32_t node, const char* stage, NetworkError& error, Part part);
  // The source is told after all, where measure_from() has left every sample at hand.
  void tell_measured();
  // Measures what is missing for `whole` and the source's results to be those of the model as it is now.
  Error complete();
  void record(const RecoveryRecord& record);

  bool walk_is_over = false;  // by measure_from(), the samples' outputs standing in the walk

 private:
  Error run(const char* stage, Part part, bool tells, const WalkStart& from, double most = kNoLimit);
  Error run_all(const char* stage, Part part, bool tells, const WalkStart& from, double most);
};

// One recovery. Those of a calibration run in the order of the table.
struct RecoveryRule {
  RecoveryMask bit = 0;
  const char* name = "";       // on the command line
  const char* title = "";      // in the file
  uint32_t least_samples = 1;  // with fewer it does not run
  // Measures context.error anew where it keeps what it did, and leaves the int8 model as it was where not.
  Error (*run)(RecoveryContext& context) = nullptr;
};

Span<const RecoveryRule> recovery_rules();

// Steps of a calibration, in order: the samples with the first int8 model, each recovery that is asked for,
// the report.
int32_t steps_of(const CalibratorOptions& options);

// Whether one half of many samples may judge: recoveries that take minutes are judged by all.
bool may_judge_by_half(RecoveryMask recover);

// Runs those that the options ask for.
Error recover(RecoveryContext& context);

// What a file says of its calibration: method, options and recoveries, and the samples.

// In CalibrationInfo::options where equalization has stayed: activations inside are those of the FP32 model with channels
// scaled.
inline constexpr char kChannelsScaled[] = "channels scaled";
// The same where bias absorption has stayed.
inline constexpr char kChannelsShifted[] = "channels shifted";

// Of the model that would be baked now; or what the caller gave (CalibratorOptions::provenance).
class Provenance {
 public:
  explicit Provenance(const RecoveryContext& context);
  const CalibrationInfo& info() const { return info_; }

 private:
  void describe_options(const RecoveryContext& context);
  void add(const char* words);

  char text_[161];
  size_t length_ = 0;
  CalibrationInfo info_;
};

}  // namespace intaglio

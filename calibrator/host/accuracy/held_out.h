// The error of an int8 model on samples that did not calibrate it. Errors on the samples that did flatter: ranges
// hold what these reach, and biases fit them (one picture: 102 dB, and 27 dB on others).
//
// The samples are observed part by part, in the order of their digests, so that what was seen of all but one part
// is at hand. After the calibration each part is judged by a model that the others have calibrated with the same
// options. Which method chooses the ranges is taken over from the search over all samples, which itself judges
// each half by the other; so is whether a correction of biases is kept. Of few pictures each judges twice, the second
// time shifted by a pixel. Nothing depends on the order of the samples, the machine or the threads.
#pragma once

#include <functional>
#include <vector>

#include "calibrator/calibration.h"
#include "calibrator/host/accuracy/sample_errors.h"

namespace intaglio {

class HeldOut {
 public:
  // With fewer samples, equal ones counted once, nothing is held out.
  static constexpr size_t kFewest = 4;

  // Called for a sample that has run through to the model's outputs.
  struct Ran {
    // Only where FP32 outputs were not kept, or always with `runs_fp32`, which takes a run a sample.
    std::function<void(size_t i, const Session& fp32)> fp32;
    std::function<void(size_t i, const Session& int8)> int8;
    bool runs_fp32 = false;
    bool by_channels = false;  // SampleErrors::parts() are channels of unlike size, too
  };

  // A calibrator to which nothing was added but a state, perhaps; its model and options. `digests`: of the
  // samples' inputs.
  HeldOut(Calibrator& calibrator, const Model& model, const CalibratorOptions& options,
          std::vector<Digest> digests);

  bool is_possible() const { return parts_ > 0; }
  // Calibrator::add_all(), part by part.
  Error add_all(const SampleSource& source, int32_t* bad);
  // After Calibrator::finish(), whose report stays. `source` has the samples of add_all(); `repeats`: finish()
  // had them again. Where nothing can be held out: all samples, by a model without recoveries.
  Error judge(const SampleSource& source, bool repeats, const Ran& ran, SampleErrors& errors);
  // Judges the model that finish() made, by samples that were never added.
  Error judge_written(const SampleSource& source, const Ran& ran, SampleErrors& errors);

 private:
  // The state of some samples, in memory of its own.
  struct Seen {
    explicit Seen(const CalibrationState& from);
    std::vector<uint8_t> memory;  // of the observers
    std::vector<int64_t> mean_sums;
    std::vector<InputValues> inputs;
    CalibrationState state;
  };

  void divide();
  std::vector<int32_t> members(int32_t part, bool others) const;
  Error judge_model(Span<const uint8_t> bytes, const SampleSource& source, const std::vector<int32_t>& which,
                    const Ran& ran, SampleErrors& errors);

  Calibrator& calibrator_;
  const Model& model_;
  CalibratorOptions options_;
  std::vector<Digest> digests_;
  std::vector<int32_t> part_of_;  // of each sample
  std::vector<bool> shifted_;     // whether it judges shifted by a pixel, too
  int32_t parts_ = 0, judged_parts_ = 0;
  std::vector<Seen> seen_;  // of each part, and last what was there before
};

}  // namespace intaglio

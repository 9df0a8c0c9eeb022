// Looks at the samples of a calibration: the signs of a wrong folder or a wrong preprocessing.
#pragma once

#include <vector>

#include "calibrator/observe/digest.h"
#include "cli/calibration_samples.h"
#include "cli/output.h"
#include "cli/suspects.h"

namespace intaglio::cli {

struct SampleFacts {
  std::vector<Digest> digests;     // of each sample's inputs
  std::string preprocessing_sign;  // what speaks for a wrong preprocessing, as a clause; empty: nothing
};

// Before any runs: warns of what is suspicious in the values themselves, refuses what is no number.
Outcome<SampleFacts> check_samples(CalibrationSamples& samples, const Executor& executor,
                                   ProgressLine& progress);

// What the FP32 model makes of the samples, where its output is classes.
class SampleClasses {
 public:
  // Sample `i`, in any order.
  void add(size_t i, const std::string& sample, const Session& fp32);
  void warn() const;
  std::string preprocessing_sign() const;                       // as in SampleFacts
  const std::vector<int32_t>& found() const { return found_; }  // -1: a score is no number

 private:
  bool all_uniform() const { return 2 * uniform_.count() > found_.size(); }
  bool one_class() const;

  std::vector<int32_t> found_;
  Suspects uniform_;
};

}  // namespace intaglio::cli

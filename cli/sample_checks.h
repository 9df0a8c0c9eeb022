// Looks at the samples of a calibration: the signs of a wrong folder or a wrong preprocessing.
#pragma once

#include <vector>

#include "cli/calibration_samples.h"
#include "cli/output.h"

namespace intaglio::cli {

// Warnings of one kind, told as one: how many, and the first names.
class Suspects {
 public:
  void add(const std::string& name);
  size_t count() const { return count_; }
  void warn(const std::string& what) const;

 private:
  size_t count_ = 0;
  std::string names_;
};

// Before any runs: warns of what is suspicious in the values themselves, refuses what is no number.
Outcome<Done> check_samples(CalibrationSamples& samples, const Executor& executor, ProgressLine& progress);

// What the FP32 model makes of the samples, where its output is classes.
class SampleClasses {
 public:
  void add(const std::string& sample, const TensorView& output);
  void warn() const;
  const std::vector<int32_t>& found() const { return found_; }  // -1: a score is no number

 private:
  std::vector<int32_t> found_;
  Suspects uniform_;
};

}  // namespace intaglio::cli

// How far a model's outputs are from FP32 in their own unit: for outputs that are not classes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrator/judge/order_free_sum.h"
#include "intaglio/session.h"
#include "tools/answer_kind.h"
#include "tools/json.h"

namespace intaglio::tools {

struct OutputError {
  std::string name;
  double mean = 0, largest = 0;  // of the absolute differences
  double low = 0, high = 0;      // the FP32 values
};

// One after the other: a sample's outputs by FP32, then by the other model. The order of the samples does not matter.
class OutputErrors {
 public:
  // Of all outputs but the one that is classes.
  explicit OutputErrors(const std::optional<ClassOutput>& classes) : classes_(classes) {}

  void keep(const Session& fp32);
  void add(const Session& test);
  // Of each output that both models have with as many numbers, and all of which are finite. None without a sample.
  std::vector<OutputError> errors() const;

 private:
  struct Sums {
    std::string name;
    OrderFreeSum differences;
    double count = 0, largest = 0, low = 0, high = 0;
    bool is_finite = true;
  };
  bool is_class(size_t output) const { return classes_ && classes_->output == output; }

  std::optional<ClassOutput> classes_;
  std::vector<std::vector<float>> kept_;
  std::vector<Sums> sums_;
};

// [{name, mean, largest, low, high}]
Json json_of(const std::vector<OutputError>& errors);
// "off by 0.12 on average and 3.4 at most, in values from -3 to 640"
std::string error_words(const OutputError& error);

}  // namespace intaglio::tools

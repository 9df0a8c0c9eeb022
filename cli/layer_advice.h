// What is the matter with one layer of an int8 model, and what can be done about it.
#pragma once

#include <string>

#include "intaglio/calibrator.h"

namespace intaglio::cli {

// What is known of a layer beside its figures.
struct LayerFacts {
  const LayerReport* report = nullptr;
  TensorInfo output;   // of the int8 model
  int64_t values = 0;  // that the report's sums are over: elements times samples
  bool has_weights = false;
  bool reads_int8 = false;  // its first input
  bool is_int8 = true;
  double used_codes = 256;  // of 256, that hold all but a thousandth of the values seen; 256: unknown
};

struct LayerAdvice {
  std::string reason;  // one or two sentences, plain
  bool sound = false;  // nothing is the matter
};

LayerAdvice advise(const LayerFacts& facts);

}  // namespace intaglio::cli

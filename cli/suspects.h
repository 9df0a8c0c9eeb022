// Samples with something suspicious about them.
#pragma once

#include <string>

#include "calibrator/quantization/scales.h"

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

std::string range_text(const Range& range);  // "0 to 255"

}  // namespace intaglio::cli

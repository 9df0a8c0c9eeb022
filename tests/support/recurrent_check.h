// For tests of recurrent operators: products in doubles, and what a model gives beside them.
#pragma once

#include "tests/support/imported.h"

namespace intaglio::test {

// Row `row` of weights, `count` a row, times x.
inline double dot(const std::vector<float>& rows, size_t row, const double* x, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += static_cast<double>(rows[row * count + i]) * x[i];
  return sum;
}

inline void check_near(const std::vector<float>& found, const std::vector<double>& expected, double most) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    CHECK(std::fabs(static_cast<double>(found[i]) - expected[i]) < most);
}

inline RunningModel running(const std::string& file) {
  Import import(file);
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  return model;
}

}  // namespace intaglio::test

// The SQNR of what a model gives beside the exact results.
#pragma once

#include <cmath>
#include <stdexcept>
#include <vector>

namespace intaglio::test {

inline double decibels(double signal, double noise) { return 10.0 * std::log10(signal / noise); }

struct SignalAndNoise {
  void add(const std::vector<float>& exact, const std::vector<float>& found) {
    if (exact.size() != found.size()) throw std::invalid_argument("results of another size");
    for (size_t i = 0; i < exact.size(); ++i) {
      const double value = static_cast<double>(exact[i]), error = value - static_cast<double>(found[i]);
      signal += value * value;
      noise += error * error;
    }
  }
  double sqnr_db() const { return decibels(signal, noise); }

  double signal = 0.0, noise = 0.0;
};

}  // namespace intaglio::test

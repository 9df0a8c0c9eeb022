#include "calibrator/host/accuracy/sample_errors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace intaglio {
namespace {

// What expected() adds: all of it up to so many samples, and 6 dB at most.
constexpr double kManySamples = 16;
const double kMostMore = std::log(4.0);
// Before any is measured: the variance of the logarithms of the samples' noise, and how many samples that guess is worth.
// The spread of few samples is a guess itself.
constexpr double kSpread = 1.5, kSpreadSamples = 4;

}  // namespace

void SampleErrors::add(const std::vector<NetworkError>& outputs) { samples_.push_back(outputs); }

NetworkError SampleErrors::expected() const {
  NetworkError whole;
  const size_t outputs = samples_.empty() ? 0 : samples_[0].size();
  const auto count = static_cast<double>(samples_.size());
  for (size_t o = 0; o < outputs; ++o) {
    // One order, any, whatever the samples' is: sums have the same last digits then.
    std::vector<NetworkError> ordered;
    for (const auto& sample : samples_) ordered.push_back(sample[o]);
    std::sort(ordered.begin(), ordered.end(),
              [](const NetworkError& a, const NetworkError& b) { return std::memcmp(&a, &b, sizeof a) < 0; });
    NetworkError sum;
    double logarithms = 0.0, squares = 0.0, noisy = 0.0, ratios = 0.0, loud = 0.0;
    for (const NetworkError& sample : ordered) {
      sum.signal += sample.signal;
      sum.noise += sample.noise;
      if (sample.signal > 0.0) {
        ratios += sample.ratio();
        ++loud;
      }
      if (!(sample.noise > 0.0)) continue;
      const double log_noise = std::log(sample.noise);
      logarithms += log_noise;
      squares += log_noise * log_noise;
      ++noisy;
    }
    if (noisy > 1) {
      const double mean = logarithms / noisy;
      const double measured = std::max(0.0, squares / noisy - mean * mean) * noisy;
      const double variance = (kSpreadSamples * kSpread + measured) / (kSpreadSamples + noisy - 1);
      double more = std::max(0.0, mean + variance / 2 - std::log(sum.noise / count));
      // A few loud samples can hide what the others lose.
      if (loud > 0 && sum.signal > 0.0)
        more += std::max(0.0, std::log(ratios / loud) - std::log(sum.ratio()) - more) / 2;
      sum.noise *= std::exp(std::min(1.0, kManySamples / count) * std::min(more, kMostMore));
    }
    whole.add(sum, outputs);
  }
  return whole;
}

}  // namespace intaglio

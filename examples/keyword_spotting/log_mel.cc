#include "examples/keyword_spotting/log_mel.h"

#include <cmath>
#include <cstring>
#include <utility>

namespace example {
namespace {

constexpr double kPi = 3.14159265358979323846, kLn2 = 0.69314718055994530942;

// sqrt is exact everywhere; sine, cosine and logarithm are not, so they are sums of ours.

// cos(pi * turns) for turns in [0, 2]: Taylor's series on [0, pi / 4], which ends below 1e-17.
double cosine_of_half_turns(double turns) {
  if (turns > 1) return cosine_of_half_turns(2 - turns);
  if (turns > 0.5) return -cosine_of_half_turns(1 - turns);
  const bool is_sine = turns > 0.25;
  const double x = kPi * (is_sine ? 0.5 - turns : turns);
  double term = is_sine ? x : 1.0, sum = term;
  for (int n = is_sine ? 2 : 1; n < 20; n += 2) {
    term = -term * x * x / (n * (n + 1));
    sum += term;
  }
  return sum;
}

// sin(pi * turns) for turns in [0, 1].
double sine_of_half_turns(double turns) {
  return cosine_of_half_turns(turns > 0.5 ? turns - 0.5 : 0.5 - turns);
}

// ln x for x > 0: 2 atanh((m - 1) / (m + 1)) of the mantissa m in [sqrt(1/2), sqrt(2)), and the exponent's part.
double logarithm(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
  double mantissa;
  std::memcpy(&mantissa, &bits, sizeof mantissa);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  const double z = (mantissa - 1) / (mantissa + 1), square = z * z;
  double power = z, sum = z;
  for (int n = 3; n < 40; n += 2) {
    power *= square;
    sum += power / n;
  }
  return 2 * sum + exponent * kLn2;
}

double mel(double hertz) { return 1127.0 * logarithm(1.0 + hertz / 700.0); }

}  // namespace

LogMel::LogMel(const MelOptions& options) : options_(options) {
  const auto size = static_cast<size_t>(options.fft), bands = static_cast<size_t>(options.bands);
  for (int32_t i = 0; i < options.window; ++i)
    window_.push_back(0.5 - 0.5 * cosine_of_half_turns(2.0 * i / options.window));
  for (size_t i = 0; i < size / 2; ++i) {
    const double turns = 2.0 * static_cast<double>(i) / static_cast<double>(size);
    cosines_.push_back(cosine_of_half_turns(turns));
    sines_.push_back(sine_of_half_turns(turns));
  }
  // Triangle b rises from edge b to edge b + 1 and falls to edge b + 2; the edges are even on the mel scale.
  const double low = mel(options.lowest), step = (mel(options.highest) - low) / (options.bands + 1);
  for (size_t bin = 0; bin <= size / 2; ++bin) {
    const double at = mel(static_cast<double>(bin) * options.sample_rate / static_cast<double>(size));
    for (size_t b = 0; b < bands; ++b) {
      const double up = (at - (low + step * static_cast<double>(b))) / step;
      const double weight = up < 2 - up ? up : 2 - up;
      weights_.push_back(bin > 0 && weight > 0 ? weight : 0.0);
    }
  }
  // Orthonormal DCT-II, scaled as TensorFlow's: 1 / sqrt(2 bands) of twice the sum.
  const double scale = 2.0 / std::sqrt(2.0 * options.bands);
  for (int32_t k = 0; k < options.coefficients; ++k)
    for (int32_t b = 0; b < options.bands; ++b) {
      const double turns = std::fmod(k * (b + 0.5) / options.bands, 2.0);
      cepstrum_.push_back(scale * cosine_of_half_turns(turns));
    }
  real_.resize(size);
  imaginary_.resize(size);
  logs_.resize(bands);
}

int32_t LogMel::frames(size_t samples) const {
  const auto window = static_cast<size_t>(options_.window);
  if (samples < window) return 0;
  return static_cast<int32_t>((samples - window) / static_cast<size_t>(options_.stride)) + 1;
}

// Decimation in time, radix 2, in place.
void LogMel::transform() {
  const size_t size = real_.size();
  for (size_t i = 1, j = 0; i < size; ++i) {
    size_t bit = size >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      std::swap(real_[i], real_[j]);
      std::swap(imaginary_[i], imaginary_[j]);
    }
  }
  for (size_t half = 1; half < size; half *= 2) {
    const size_t step = size / (2 * half);
    for (size_t start = 0; start < size; start += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const double c = cosines_[k * step], s = -sines_[k * step];
        const size_t a = start + k, b = a + half;
        const double re = real_[b] * c - imaginary_[b] * s, im = real_[b] * s + imaginary_[b] * c;
        real_[b] = real_[a] - re;
        imaginary_[b] = imaginary_[a] - im;
        real_[a] += re;
        imaginary_[a] += im;
      }
    }
  }
}

void LogMel::frame(const float* samples, int32_t t, float* out) {
  const float* const first = samples + static_cast<ptrdiff_t>(t) * options_.stride;
  for (size_t i = 0; i < real_.size(); ++i) {
    real_[i] = i < window_.size() ? window_[i] * static_cast<double>(first[i]) : 0.0;
    imaginary_[i] = 0.0;
  }
  transform();
  const size_t bands = logs_.size();
  std::vector<double>& sums = logs_;
  for (size_t b = 0; b < bands; ++b) sums[b] = 0.0;
  for (size_t bin = 0; bin <= real_.size() / 2; ++bin) {
    const double size = std::sqrt(real_[bin] * real_[bin] + imaginary_[bin] * imaginary_[bin]);
    for (size_t b = 0; b < bands; ++b) sums[b] += weights_[bin * bands + b] * size;
  }
  for (size_t b = 0; b < bands; ++b) logs_[b] = logarithm(sums[b] + 1e-6);
  if (options_.coefficients == 0) {
    for (size_t b = 0; b < bands; ++b) out[b] = static_cast<float>(logs_[b]);
    return;
  }
  for (size_t k = 0; k < static_cast<size_t>(options_.coefficients); ++k) {
    double sum = 0.0;
    for (size_t b = 0; b < bands; ++b) sum += cepstrum_[k * bands + b] * logs_[b];
    out[k] = static_cast<float>(sum);
  }
}

}  // namespace example

#include "runtime/real_functions.h"

#include <cstdint>
#include <cstring>
#include <limits>

namespace intaglio {
namespace {

double from_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

uint64_t to_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

// 2^n for n in [-1022, 1023].
double power_of_two(int n) { return from_bits(static_cast<uint64_t>(n + 1023) << 52); }

typedef double Pair __attribute__((vector_size(16)));
typedef uint64_t PairBits __attribute__((vector_size(16)));

constexpr double kLargestMantissa = 1.4142135623730951;

// log2(m) = 2 / ln 2 * atanh(t), t = (m - 1) / (m + 1), |t| <= 0.172: the 11th term is below 1e-17.
template <typename Real>
Real log2_near_one(Real m) {
  constexpr double kTerms[] = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                               1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
  const Real t = (m - 1.0) / (m + 1.0), t2 = t * t;
  Real sum{};
  for (const double term : kTerms) sum = term + t2 * sum;
  return 2.8853900817779268 * t * sum;
}

}  // namespace

double exp_real(double x) {
  if (!(x > -745.0)) return x != x ? x : 0.0;
  if (x > 709.78) return std::numeric_limits<double>::infinity();
  // x = n ln 2 + r with |r| <= ln 2 / 2; ln 2 in two parts, the first exact in the product.
  constexpr double kLog2e = 1.4426950408889634, kLn2High = 6.93147180369123816490e-01,
                   kLn2Low = 1.90821492927058770002e-10;
  const double n = round_even(x * kLog2e);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  // Taylor's series: the 15th term is below 1e-19.
  double sum = 1.0;
  for (int i = 15; i > 0; --i) sum = 1.0 + r * sum / i;
  const int whole = static_cast<int>(n);
  const int half = whole / 2;  // in two steps, so that subnormal results are reached
  return sum * power_of_two(half) * power_of_two(whole - half);
}

double log2_real(double x) {
  int exponent = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    exponent = -54;
  }
  const uint64_t bits = to_bits(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  double m = from_bits((bits & 0xfffffffffffffu) | uint64_t{1023} << 52);  // [1, 2)
  if (m > kLargestMantissa) {
    m *= 0.5;
    ++exponent;
  }
  return exponent + log2_near_one(m);
}

// Two at once.
void log2_each(const double* x, int32_t n, double* logs) {
  constexpr double kExponent = 0x1p52;  // its last bit is worth 1
  for (; n >= 2; n -= 2, x += 2, logs += 2) {
    PairBits bits;
    memcpy(&bits, x, sizeof bits);
    Pair exponent = reinterpret_cast<Pair>((bits >> 52) | to_bits(kExponent)) - (kExponent + 1023.0);
    Pair m = reinterpret_cast<Pair>((bits & 0xfffffffffffffu) | uint64_t{1023} << 52);
    const auto large = m > kLargestMantissa;
    m = large ? m * 0.5 : m;
    exponent = large ? exponent + 1.0 : exponent;
    const Pair found = exponent + log2_near_one(m);
    memcpy(logs, &found, sizeof found);
  }
  if (n > 0) *logs = log2_real(*x);
}

double sigmoid_real(double x) { return 1.0 / (1.0 + exp_real(-x)); }

double tanh_real(double x) {
  const double e = exp_real(-2.0 * (x < 0.0 ? -x : x));
  const double t = (1.0 - e) / (1.0 + e);
  return x < 0.0 ? -t : t;
}

double erf_real(double x) {
  const double a = x < 0.0 ? -x : x;
  if (a > 6.0) return x < 0.0 ? -1.0 : 1.0;  // within 3e-17
  // erf(a) = 2 / sqrt(pi) * exp(-a^2) * sum of 2^n a^(2n+1) / (1 * 3 * ... * (2n+1)): every term is positive.
  double term = a, sum = a;
  for (int n = 1; n < 200 && term > sum * 1e-18; ++n) {
    term *= 2.0 * a * a / (2 * n + 1);
    sum += term;
  }
  const double y = 1.1283791670955126 * exp_real(-a * a) * sum;
  return x < 0.0 ? -y : (x > 0.0 ? y : x);
}

double sqrt_real(double x) {
  if (!(x > 0.0) || x > 0x1.fffffffffffffp+1023)
    return x == 0.0 || x > 0.0 ? x : from_bits(0x7ff8000000000000u);
  const bool is_small = x < 0x1p-900;
  if (is_small) x *= 0x1p200;
  // Half the exponent, then Newton: each step doubles the digits.
  double y = from_bits((to_bits(x) >> 1) + (uint64_t{511} << 52) + (uint64_t{1} << 51));
  for (int i = 0; i < 6; ++i) y = 0.5 * (y + x / y);
  return is_small ? y * 0x1p-100 : y;
}

double log_real(double x) {
  if (x > 0.0 && x <= 0x1.fffffffffffffp+1023) return log2_real(x) * 0.69314718055994531;
  if (x == 0.0) return -std::numeric_limits<double>::infinity();
  return x > 0.0 ? x : from_bits(0x7ff8000000000000u);
}

// sin(x + turns * pi / 2)
static double turned_sine(double x, int64_t turns) {
  // n is exact up to 2^51; pi / 2 in three parts, the products with the first two exact for n below 2^20.
  constexpr double kTwoOverPi = 0.63661977236758134, kMost = 0x1p50;
  constexpr double kHigh = 1.57079632673412561417e+00, kMiddle = 6.07710050630396597660e-11,
                   kLow = 2.02226624879595063154e-21;
  if (!(x < kMost && x > -kMost)) return std::numeric_limits<double>::quiet_NaN();
  const double n = round_even(x * kTwoOverPi);
  const double r = ((x - n * kHigh) - n * kMiddle) - n * kLow;
  const int64_t quadrant = (static_cast<int64_t>(n) + turns) & 3;
  // Taylor's series from the smallest term on: |r| <= pi / 4 makes the 10th one vanish.
  const double z = r * r;
  double sum = 1.0;
  const bool is_cosine = (quadrant & 1) != 0;
  for (int i = 9; i > 0; --i) sum = 1.0 - z * sum / (2 * i * (is_cosine ? 2 * i - 1 : 2 * i + 1));
  const double value = is_cosine ? sum : r * sum;
  return (quadrant & 2) != 0 ? -value : value;
}

double sin_real(double x) { return turned_sine(x, 0); }
double cos_real(double x) { return turned_sine(x, 1); }

double pow_real(double x, double exponent) {
  constexpr double kMostDoubled = 128.0;
  const double doubled = 2.0 * exponent, size = doubled < 0.0 ? -doubled : doubled;
  if (!(size <= kMostDoubled) || round_even(doubled) != doubled) {
    if (x == 0.0) return exponent > 0.0 ? 0.0 : std::numeric_limits<double>::infinity();
    return x > 0.0 ? exp_real(exponent * log_real(x)) : std::numeric_limits<double>::quiet_NaN();
  }
  const auto halves = static_cast<uint32_t>(size);
  const bool of_root = (halves & 1) != 0;
  double power = 1.0, square = of_root ? sqrt_real(x) : x;
  for (uint32_t left = of_root ? halves : halves / 2; left != 0; left >>= 1, square *= square)
    if ((left & 1) != 0) power *= square;
  return exponent < 0.0 ? 1.0 / power : power;
}

}  // namespace intaglio

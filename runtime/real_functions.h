// Real functions in double for baked tables: our own, so that every machine bakes the same bytes. libm is
// not called. Operators name them in their rules for the calibrator; a device that runs int8 alone links
// none.
#pragma once

#include <cstdint>

namespace intaglio {

double exp_real(double x);   // relative error below 1e-13; 0 below -745, infinity above 709.78
double log2_real(double x);  // x > 0, finite; absolute error below 1e-13 of the larger of 1 and |result|
// logs[i] = log2_real(x[i]), to the bit, of numbers that are not subnormal.
void log2_each(const double* x, int32_t n, double* logs);
// Nearest integer, half to even, |x| < 2^51.
inline double round_even(double x) {
  constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52: the sum has no fraction bits left
  const double shifted = x + kMagic;
  return shifted - kMagic;
}

double sigmoid_real(double x);  // 1 / (1 + exp(-x))
double tanh_real(double x);     // absolute error below 1e-13
double erf_real(double x);      // the error function; relative error below 1e-13
double sqrt_real(double x);     // within 1 ulp; NaN below 0
double log_real(
    double x);  // relative error below 1e-13 but near 1, absolute there; -infinity at 0, NaN below

double sin_real(double x);  // absolute error below 1e-13 for |x| up to 2^20, growing with |x| beyond
double cos_real(double x);
// x^exponent: products where it is a multiple of 1/2 of size 64 at most, else by log_real; NaN of x below 0 there
double pow_real(double x, double exponent);

}  // namespace intaglio

// Real functions in double for baked tables: our own, so that every machine bakes the same bytes. libm is
// not called.
#pragma once

namespace intaglio {

double exp_real(double x);     // relative error below 1e-13; 0 below -745, infinity above 709.78
double log2_real(double x);    // x > 0, finite; absolute error below 1e-13 of the larger of 1 and |result|
double round_even(double x);   // nearest integer, half to even, |x| < 2^51

}  // namespace intaglio

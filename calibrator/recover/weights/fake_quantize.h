// Fake quantization and its gradients, in double: what quantization does to a real number, with rounding
// taken for the identity where a derivative is asked for. For gradients alone: what a model computes is
// judged by its own kernels.
//
//   step = range / (levels - 1)
//   y    = rne((clip(x, low, low + range) - low) / step) * step + low
//
//   dy/dx = 1 within [low, low + range], ends included, else 0
//   asymmetric (low and range are free):
//     dy/dlow   = 0 within, 1 outside
//     dy/drange = (y - x) / range within, 1 above, 0 below
//   symmetric (one free scale, the largest value; a = first / last code, low = scale * a,
//   range = scale * (1 - a)):
//     dy/dscale = (y - x) * (1 - a) / range within, 1 above, a below
//
// The symmetric one is LSQ's gradient by the step, divided by the last code.
#pragma once

#include <cstdint>

namespace intaglio {

struct FakeQuantizer {
  double low = 0.0, range = 1.0;
  int32_t levels = 256;

  double step() const { return range / (levels - 1); }
};

// Codes from `first` to `last` (first <= 0 < last) with the largest value `scale` > 0.
struct SymmetricQuantizer {
  double scale = 1.0;
  int32_t first = -127, last = 127;

  double ratio() const { return static_cast<double>(first) / last; }
  FakeQuantizer quantizer() const { return {scale * ratio(), scale - scale * ratio(), last - first + 1}; }
};

double fake_quantize(const FakeQuantizer& quantizer, double x);

// Derivatives of y = fake_quantize(quantizer, x).
struct FakeQuantizeGradient {
  double x, low, range;
};
FakeQuantizeGradient fake_quantize_gradient(const FakeQuantizer& quantizer, double x, double y);

struct SymmetricGradient {
  double x, scale;
};
SymmetricGradient fake_quantize_gradient(const SymmetricQuantizer& quantizer, double x, double y);

// A positive parameter that follows its gradient's sign: steps, relative to its value, grow while the sign
// stays and halve where it changes, so that no rate has to fit the loss.
class SignDescent {
 public:
  SignDescent(double value, double first_step) : value_(value), step_(first_step) {}
  double value() const { return value_; }
  void follow(double gradient);

 private:
  static constexpr double kLargestStep = 0.05;
  double value_, step_, last_ = 0.0;
};

}  // namespace intaglio

#include "calibrator/recover/weights/fake_quantize.h"

#include "runtime/real_functions.h"

namespace intaglio {

double fake_quantize(const FakeQuantizer& q, double x) {
  const double high = q.low + q.range;
  const double clipped = x < q.low ? q.low : (x > high ? high : x);
  return round_even((clipped - q.low) / q.step()) * q.step() + q.low;
}

FakeQuantizeGradient fake_quantize_gradient(const FakeQuantizer& q, double x, double y) {
  if (x < q.low) return {0.0, 1.0, 0.0};
  if (x > q.low + q.range) return {0.0, 1.0, 1.0};
  return {1.0, 0.0, (y - x) / q.range};
}

SymmetricGradient fake_quantize_gradient(const SymmetricQuantizer& s, double x, double y) {
  const FakeQuantizer q = s.quantizer();
  if (x < q.low) return {0.0, s.ratio()};
  if (x > q.low + q.range) return {0.0, 1.0};
  return {1.0, (y - x) * (1.0 - s.ratio()) / q.range};
}

void SignDescent::follow(double gradient) {
  if (gradient == 0.0) return;
  const double sign = gradient > 0.0 ? 1.0 : -1.0;
  if (last_ != 0.0) step_ *= sign == last_ ? 1.2 : 0.5;
  step_ = step_ < kLargestStep ? step_ : kLargestStep;
  last_ = sign;
  value_ *= 1.0 - sign * step_;
}

}  // namespace intaglio

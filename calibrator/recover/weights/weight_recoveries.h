// One layer's weights made better by its inputs' moments: scale search, learned scales, adaptive rounding.
#pragma once

#include <cstdint>

#include "calibrator/recover/weights/layer_weights.h"

namespace intaglio {

// Fake quantization and its gradients, in double: what quantization does to a real number, with rounding
// taken for the identity where a derivative is asked for. For gradients alone: what a model computes is
// judged by its own kernels.
//
//   step = range / (levels - 1)
//   y    = rne((clip(x, low, low + range) - low) / step) * step + low
//
//   dy/dx = 1 within [low, low + range], ends included, else 0
//   one free scale, the largest value; a = first / last code, low = scale * a, range = scale * (1 - a):
//     dy/dscale = (y - x) * (1 - a) / range within, 1 above, a below
//
// It is LSQ's gradient by the step, divided by the last code.
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

// AdaRound: each weight is rounded up or down, whichever gives the least error of the layer's output on its
// real inputs.
//
//   minimize (s q - w)' C (s q - w) over q with q[k] in {floor(w[k] / s), ceil(w[k] / s)}
//
// C: covariance of the layer's quantized inputs. AdaRound descends along a relaxed gradient of this form;
// with C at hand each change of a code is scored exactly, so this descends from code to code and ends where
// neither one code nor a pair of them can improve it. Nothing is random.

// At most `sweeps` passes over the weights of a row, from the codes that it has; a clipped weight stays.
LayerError round_adaptively(LayerWeights& weights, const WeightWork& work, int32_t sweeps);

// Scales that follow the gradient of the error they make, through fake quantization (weight_recoveries.h).

// Weight scales, each output channel's by its own gradient of the layer's output error on its real inputs;
// the best of `steps` steps is kept.
LayerError learn_weight_scales(LayerWeights& weights, const WeightWork& work, int32_t steps);

// EQ: each output channel's weight scale, times the factor whose codes give the least error of the layer's
// output on its real inputs.

// Factors from 0.7 to 1.05, 1 among them: rarely is a largest weight worth a finer step for all the others,
// but often do the others fall better on a grid a little narrower or wider.
inline constexpr int32_t kScaleFactors = 32;
double scale_factor(int32_t i);  // 0 <= i < kScaleFactors; scale_factor(0) is 1

LayerError search_weight_scales(LayerWeights& weights, const WeightWork& work);

}  // namespace intaglio

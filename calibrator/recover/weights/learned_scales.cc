#include "calibrator/recover/weights/learned_scales.h"

#include "calibrator/recover/weights/fake_quantize.h"
#include "runtime/quantization_range.h"

namespace intaglio {
namespace {

constexpr double kFirstStep = 0.01;

// Error of a row, and its derivative by the scale of the symmetric quantizer.
struct ScaleGradient {
  double error, slope;
};

ScaleGradient gradient_of(const WeightRow& row, const SymmetricQuantizer& quantizer) {
  double* const difference = row.spare;
  for (int32_t k = 0; k < row.depth; ++k)
    difference[k] = fake_quantize(quantizer.quantizer(), row.reals[k]) - row.reals[k];
  ScaleGradient sum{0.0, 0.0};
  double* const products = row.lanes;  // covariance times difference
  for (int32_t b = 0; b < row.moments->blocks; ++b) {
    const int32_t size = row.moments->size(b), start = row.moments->start(b);
    for (int32_t i = 0; i < size; ++i) products[i] = 0.0;
    const double* covariance = row.moments->covariance(row.group(), b);
    for (int32_t k = 0; k < size; ++k, covariance += row.moments->block)
      for (int32_t i = 0; i < size; ++i) products[i] += difference[start + k] * covariance[i];
    for (int32_t k = 0; k < size; ++k) {
      const double x = row.reals[start + k], d = difference[start + k];
      sum.error += d * products[k];
      sum.slope += 2.0 * products[k] * fake_quantize_gradient(quantizer, x, x + d).scale;
    }
  }
  return sum;
}

void learn_row(WeightRow& row, int32_t steps) {
  const double last = static_cast<double>(row.largest);
  SignDescent scale(row.scale * last, kFirstStep);
  double best = row_error(row, row.codes, row.scale), best_scale = 0.0;
  for (int32_t step = 0; step <= steps; ++step) {
    const ScaleGradient found = gradient_of(row, {scale.value(), -row.largest, row.largest});
    const auto as_stored = static_cast<float>(scale.value() / last);
    if (found.error < best && is_scale(as_stored)) {
      best = found.error;
      best_scale = static_cast<double>(as_stored);
    }
    scale.follow(found.slope);
  }
  if (best_scale == 0.0) return;
  row.scale = best_scale;
  nearest_codes(row, best_scale, row.codes);
}

}  // namespace

LayerError learn_weight_scales(LayerWeights& weights, const WeightWork& work, int32_t steps) {
  return change_rows(weights, work, [steps](WeightRow& row) { learn_row(row, steps); });
}

}  // namespace intaglio

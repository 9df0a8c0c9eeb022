#include "calibrator/recover/weights/weight_scale_search.h"

#include "runtime/quantization_range.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

static_assert(kScaleFactors % kLanes == 0);

void fill_lane(const WeightRow& row, int32_t lane, double scale) {
  for (int32_t k = 0; k < row.depth; ++k)
    row.lanes[int64_t{k} * kLanes + lane] =
        row.clamp(round_even(row.reals[k] / scale)) * scale - row.reals[k];
}

void search_row(WeightRow& row) {
  double best = row_error(row, row.codes, row.scale), best_scale = 0.0;
  for (int32_t first = 0; first < kScaleFactors; first += kLanes) {
    double scales[kLanes], errors[kLanes];
    for (int32_t l = 0; l < kLanes; ++l) {
      scales[l] = static_cast<double>(static_cast<float>(row.scale * scale_factor(first + l)));
      fill_lane(row, l, scales[l]);
    }
    lane_errors(row, errors);
    for (int32_t l = 0; l < kLanes; ++l) {
      const bool legal =
          scales[l] >= static_cast<double>(kMinScale) && scales[l] <= static_cast<double>(kMaxScale);
      if (!legal || !(errors[l] < best)) continue;
      best = errors[l];
      best_scale = scales[l];
    }
  }
  if (best_scale == 0.0) return;
  row.scale = best_scale;
  nearest_codes(row, best_scale, row.codes);
}

}  // namespace

// 1, then from 1.05 down to 0.7: where two are equal, the first wins.
double scale_factor(int32_t i) {
  if (i == 0) return 1.0;
  return 1.05 - 0.35 * (i - 1) / (kScaleFactors - 2);
}

LayerError search_weight_scales(LayerWeights& weights, const WeightWork& work) {
  return change_rows(weights, work, [](WeightRow& row) { search_row(row); });
}

}  // namespace intaglio

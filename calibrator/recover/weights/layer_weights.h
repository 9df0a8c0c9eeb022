// The weights of one layer while a recovery changes them: reals, codes, scales and biases, row by row.
#pragma once

#include "calibrator/recover/weights/layer_moments.h"

namespace intaglio {

struct LayerWeights {
  LayerMatrix matrix;
  Span<const float> reals;  // of the FP32 layer
  Span<int8_t> codes;       // in the layout of `reals`
  Span<float> scales;       // [outputs]
  Span<int32_t> bias;       // [outputs], scale of the input times scales[c]
  int32_t largest = 127;    // codes lie within [-largest, largest]
};

// The error of the layer's output, its mean apart, summed over the outputs, before and after; in units of the
// squared input step.
struct LayerError {
  double before = 0.0, after = 0.0;
};

// What a recovery of weights works with.
struct WeightWork {
  const LayerMoments* moments = nullptr;  // finished
  Executor executor;
  Span<double> scratch;  // of make_weight_scratch()
};
Span<double> make_weight_scratch(const LayerMatrix& matrix, int32_t width, Arena& arena);
uint64_t weight_scratch_bytes(const LayerMatrix& matrix, int32_t width);

// Candidates that are scored at once.
inline constexpr int32_t kLanes = 8;

// One row as a worker of for_each_row() sees it.
struct WeightRow {
  int32_t output = 0, depth = 0;
  double scale = 0.0;  // present
  int32_t largest = 127;
  double* reals = nullptr;  // [depth]
  double* codes = nullptr;  // [depth], integers; what stands here at the end is written back
  double* lanes = nullptr;  // [depth, kLanes], scratch
  double* spare = nullptr;  // [depth], scratch
  const LayerMoments* moments = nullptr;

  int32_t group() const { return output / moments->matrix.rows; }
  double clamp(double code) const {
    const double most = static_cast<double>(largest);
    return code > most ? most : (code < -most ? -most : code);
  }
};

// Error of a row with the codes `codes` at the scale `scale`.
double row_error(const WeightRow& row, const double* codes, double scale);
// The same of kLanes candidates: lanes [depth, kLanes] holds what each differs by from the reals.
void lane_errors(const WeightRow& row, double errors[kLanes]);

// Nearest codes at a scale.
void nearest_codes(const WeightRow& row, double scale, double* codes);

// Calls change(row), which may put other codes and another scale into the row, for every row, and writes back
// what lowers the row's error; the row's bias then keeps the mean of its output. A row whose accumulator
// could leave int32 stays as it was.
LayerError change_rows(LayerWeights& weights, const WeightWork& work,
                       void (*change)(void* context, WeightRow& row), void* context);

template <typename Change>
LayerError change_rows(LayerWeights& weights, const WeightWork& work, Change&& change) {
  return change_rows(
      weights, work, [](void* context, WeightRow& row) { (*static_cast<Change*>(context))(row); }, &change);
}

}  // namespace intaglio

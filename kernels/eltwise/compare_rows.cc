#include "kernels/eltwise/compare_rows.h"

namespace intaglio {
namespace {

template <typename Compare>
inline void for_rows(const float* a, const float* b, float* y, int32_t rows, int32_t n, Compare compare) {
  for (int32_t r = 0; r < rows; ++r, a += n, y += n)
    for (int32_t i = 0; i < n; ++i) y[i] = compare(a[i], b[i]) ? 1.0f : 0.0f;
}

}  // namespace

void equal_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n) {
  for_rows(a, b, y, rows, n, [](float p, float q) { return p == q; });
}
void less_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n) {
  for_rows(a, b, y, rows, n, [](float p, float q) { return p < q; });
}
void less_from_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n) {
  for_rows(a, b, y, rows, n, [](float p, float q) { return q < p; });
}
void less_equal_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n) {
  for_rows(a, b, y, rows, n, [](float p, float q) { return p <= q; });
}
void less_equal_from_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n) {
  for_rows(a, b, y, rows, n, [](float p, float q) { return q <= p; });
}

void where_row_f32(const float* condition, const float* a, const float* b, float* y, int32_t n,
                   WhereSteps steps) {
  for (int32_t i = 0; i < n; ++i, condition += steps.condition, a += steps.a, b += steps.b)
    y[i] = canonical_f32(*condition != 0.0f ? *a : *b);
}

}  // namespace intaglio

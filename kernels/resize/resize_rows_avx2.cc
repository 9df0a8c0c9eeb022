// Eight channels at a time; the last vector of a pixel's channels overlaps the one before. Fewer channels: plain loops.
#include <immintrin.h>

#include "kernels/resize/resize_rows_loops.h"

namespace intaglio {

void resize_row_s8_avx2(const ResizeRow<int8_t, int32_t>& row);
void resize_row_f32_avx2(const ResizeRow<float, float>& row);

namespace {

constexpr int32_t kLanes = 8;

// Calls function(x00, x01, x10, x11, weight, y) for the vectors of each pixel, which has one at least.
template <typename T, typename Weight, typename Function>
inline void for_each_vector(const ResizeRow<T, Weight>& row, Function function) {
  const ResizeRow<T, Weight> r = row;  // what is written to y changes none of it
  const int32_t last = r.channels - kLanes;
  T* y = r.y;
  for (int32_t o = 0; o < r.ow; ++o, y += r.channels) {
    const ResizeTap<Weight> tap = r.taps[o];
    const ptrdiff_t first = static_cast<ptrdiff_t>(tap.first) * r.channels;
    const ptrdiff_t second = static_cast<ptrdiff_t>(tap.second) * r.channels;
    for (ptrdiff_t c = 0;; c = c + kLanes < last ? c + kLanes : last) {
      function(r.top + first + c, r.top + second + c, r.bottom + first + c, r.bottom + second + c, tap.weight,
               y + c);
      if (c == last) break;
    }
  }
}

inline __m128i load_eight(const int8_t* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }

}  // namespace

void resize_row_s8_avx2(const ResizeRow<int8_t, int32_t>& row) {
  if (row.channels < kLanes) return resize_row_s8(row);
  const __m256i wy = _mm256_set1_epi32(row.row_weight), vy = _mm256_set1_epi32(kResizeOne - row.row_weight),
                half = _mm256_set1_epi32(1 << 21);
  for_each_vector(row, [&](const int8_t* x00, const int8_t* x01, const int8_t* x10, const int8_t* x11,
                           int32_t wx, int8_t* y) {
    const __m256i weights = _mm256_set1_epi32((kResizeOne - wx) | wx << 16);
    const auto between = [&](const int8_t* first, const int8_t* second) {
      const __m128i pairs = _mm_unpacklo_epi8(load_eight(first), load_eight(second));
      return _mm256_madd_epi16(_mm256_cvtepi8_epi16(pairs), weights);
    };
    const __m256i t = _mm256_mullo_epi32(between(x00, x01), vy),
                  b = _mm256_mullo_epi32(between(x10, x11), wy);
    const __m256i sums = _mm256_srai_epi32(_mm256_add_epi32(_mm256_add_epi32(t, b), half), 22);
    const __m128i codes = _mm_packs_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm_packs_epi16(codes, codes));
  });
}

void resize_row_f32_avx2(const ResizeRow<float, float>& row) {
  if (row.channels < kLanes) return resize_row_f32(row);
  const __m256 wy = _mm256_set1_ps(row.row_weight), zero = _mm256_setzero_ps();
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
  for_each_vector(row, [&](const float* x00, const float* x01, const float* x10, const float* x11,
                           float weight, float* y) {
    const __m256 wx = _mm256_set1_ps(weight), top = _mm256_loadu_ps(x00), bottom = _mm256_loadu_ps(x10);
    const __m256 t = _mm256_fmadd_ps(wx, _mm256_sub_ps(_mm256_loadu_ps(x01), top), top);
    const __m256 b = _mm256_fmadd_ps(wx, _mm256_sub_ps(_mm256_loadu_ps(x11), bottom), bottom);
    const __m256 v = _mm256_fmadd_ps(wy, _mm256_sub_ps(b, t), t);
    _mm256_storeu_ps(y, _mm256_blendv_ps(nan, _mm256_add_ps(v, zero), _mm256_cmp_ps(v, v, _CMP_ORD_Q)));
  });
}

}  // namespace intaglio

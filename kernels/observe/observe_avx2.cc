#include <immintrin.h>

#include "kernels/observe/observe_loops.h"
#include "kernels/observe/patch_sums_vectors.h"

namespace intaglio {

void extremes_f32_avx2(const float* x, size_t n, ExtremesF32* seen);
void count_f32_avx2(const float* x, size_t n, size_t stride, const BinsF32& bins);

void extremes_f32_avx2(const float* x, size_t n, ExtremesF32* seen) {
  constexpr size_t kLanes = 8, kVectors = 4;
  __m256 min[kVectors], max[kVectors];
  __m256i magnitude[kVectors];
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) {
    min[v] = max[v] = _mm256_setzero_ps();
    magnitude[v] = _mm256_setzero_si256();
  }
  const __m256i kMagnitude = _mm256_set1_epi32(0x7fffffff);
  size_t i = 0;
  for (; i + kVectors * kLanes <= n; i += kVectors * kLanes)
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      const __m256 values = _mm256_loadu_ps(x + i + v * kLanes);
      min[v] = _mm256_min_ps(values, min[v]);
      max[v] = _mm256_max_ps(values, max[v]);
      magnitude[v] =
          _mm256_max_epi32(magnitude[v], _mm256_and_si256(_mm256_castps_si256(values), kMagnitude));
    }
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) {
    float least[kLanes], most[kLanes];
    int32_t largest[kLanes];
    _mm256_storeu_ps(least, min[v]);
    _mm256_storeu_ps(most, max[v]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(largest), magnitude[v]);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      seen->min = least[lane] < seen->min ? least[lane] : seen->min;
      seen->max = most[lane] > seen->max ? most[lane] : seen->max;
      seen->finite = seen->finite && largest[lane] < 0x7f800000;
    }
  }
  for (; i < n; ++i) {
    seen->min = x[i] < seen->min ? x[i] : seen->min;
    seen->max = x[i] > seen->max ? x[i] : seen->max;
    seen->finite = seen->finite && x[i] * 0.0f == 0.0f;
  }
}

void count_f32_avx2(const float* x, size_t n, size_t stride, const BinsF32& bins) {
  constexpr size_t kLanes = 8, kBlock = 256;
  alignas(32) float gathered[kBlock];
  alignas(32) int32_t bin[kBlock];
  const __m256 per_bin = _mm256_set1_ps(bins.per_bin), nothing = _mm256_setzero_ps();
  const __m256i zero = _mm256_set1_epi32(bins.zero);
  size_t first = 0;
  for (size_t count; (count = (n - first < kBlock ? n - first : kBlock) / kLanes * kLanes) > 0;
       first += count) {
    const float* block = x + first * stride;
    if (stride != 1) {
      for (size_t i = 0; i < count; ++i) gathered[i] = block[i * stride];
      block = gathered;
    }
    for (size_t i = 0; i < count; i += kLanes) {
      const __m256 values = _mm256_loadu_ps(block + i), position = _mm256_mul_ps(values, per_bin);
      const __m256i whole = _mm256_cvttps_epi32(_mm256_floor_ps(position));
      const __m256 vanished = _mm256_and_ps(_mm256_cmp_ps(values, nothing, _CMP_LT_OQ),
                                            _mm256_cmp_ps(position, nothing, _CMP_EQ_OQ));
      // True is -1.
      const __m256i found = _mm256_add_epi32(_mm256_add_epi32(whole, zero), _mm256_castps_si256(vanished));
      _mm256_store_si256(reinterpret_cast<__m256i*>(bin + i), found);
    }
    count_bins(bin, count, bins);
  }
  if (first < n) count_one_by_one(x + first * stride, n - first, stride, bins);
}

void patch_row_s8_avx2(const PatchRow<int8_t>& row);
void patch_row_f32_avx2(const PatchRow<float>& row);

void patch_row_s8_avx2(const PatchRow<int8_t>& row) {
  int32_t c = patch_row_vectors<PatchVectors<CodeSums8, 4>>(row, 0);
  c = patch_row_vectors<PatchVectors<CodeSums8, 1>>(row, c);
  patch_rest_s8_scalar(row, c);
}

void patch_row_f32_avx2(const PatchRow<float>& row) {
  int32_t c = patch_row_vectors<PatchVectors<RealSums4, 8>>(row, 0);
  c = patch_row_vectors<PatchVectors<RealSums4, 2>>(row, c);
  patch_rest_f32_scalar(row, c);
}

}  // namespace intaglio

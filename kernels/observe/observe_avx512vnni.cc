#include <immintrin.h>

#include "kernels/observe/observe_loops.h"
#include "kernels/observe/patch_sums_vectors.h"

namespace intaglio {

void extremes_f32_avx512vnni(const float* x, size_t n, ExtremesF32* seen);
void count_f32_avx512vnni(const float* x, size_t n, size_t stride, const BinsF32& bins);

namespace {

constexpr size_t kValueLanes = 16;

__mmask16 first_lanes(size_t n) {
  return n < kValueLanes ? static_cast<__mmask16>((1u << n) - 1) : static_cast<__mmask16>(0xffff);
}

}  // namespace

void extremes_f32_avx512vnni(const float* x, size_t n, ExtremesF32* seen) {
  constexpr size_t kVectors = 4;
  __m512 min[kVectors], max[kVectors];
  __m512i magnitude[kVectors];
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) {
    min[v] = max[v] = _mm512_setzero_ps();
    magnitude[v] = _mm512_setzero_si512();
  }
  const __m512i kMagnitude = _mm512_set1_epi32(0x7fffffff);
  const auto look = [&](size_t v, __m512 values) {
    min[v] = _mm512_min_ps(values, min[v]);
    max[v] = _mm512_max_ps(values, max[v]);
    magnitude[v] = _mm512_max_epi32(magnitude[v], _mm512_and_si512(_mm512_castps_si512(values), kMagnitude));
  };
  size_t i = 0;
  for (; i + kVectors * kValueLanes <= n; i += kVectors * kValueLanes)
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) look(v, _mm512_loadu_ps(x + i + v * kValueLanes));
  for (; i < n; i += kValueLanes) look(0, _mm512_maskz_loadu_ps(first_lanes(n - i), x + i));
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) {
    const float least = _mm512_reduce_min_ps(min[v]), most = _mm512_reduce_max_ps(max[v]);
    seen->min = least < seen->min ? least : seen->min;
    seen->max = most > seen->max ? most : seen->max;
    seen->finite = seen->finite && _mm512_reduce_max_epi32(magnitude[v]) < 0x7f800000;
  }
}

// Values in zero's bin, which are many after an activation, are counted without going through memory.
void count_f32_avx512vnni(const float* x, size_t n, size_t stride, const BinsF32& bins) {
  constexpr size_t kBlock = 256;
  alignas(64) float gathered[kBlock];
  int32_t bin[kBlock + kValueLanes];
  const __m512 per_bin = _mm512_set1_ps(bins.per_bin), nothing = _mm512_setzero_ps();
  const __m512i zero = _mm512_set1_epi32(bins.zero), one = _mm512_set1_epi32(1);
  uint32_t at_zero = 0;
  for (size_t first = 0; first < n; first += kBlock) {
    const size_t count = n - first < kBlock ? n - first : kBlock;
    const float* block = x + first * stride;
    if (stride != 1) {
      for (size_t i = 0; i < count; ++i) gathered[i] = block[i * stride];
      block = gathered;
    }
    size_t elsewhere = 0;
    for (size_t i = 0; i < count; i += kValueLanes) {
      const __mmask16 lanes = first_lanes(count - i);
      const __m512 values = _mm512_maskz_loadu_ps(lanes, block + i),
                   position = _mm512_mul_ps(values, per_bin);
      const __m512i whole = _mm512_cvt_roundps_epi32(position, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
      const __mmask16 negative = _mm512_cmp_ps_mask(values, nothing, _CMP_LT_OQ);
      const __mmask16 vanished = _mm512_mask_cmp_ps_mask(negative, position, nothing, _CMP_EQ_OQ);
      const __m512i off = _mm512_mask_sub_epi32(whole, vanished, whole, one);
      const __mmask16 counted = _mm512_mask_test_epi32_mask(lanes, off, off);
      _mm512_storeu_si512(bin + elsewhere, _mm512_maskz_compress_epi32(counted, _mm512_add_epi32(off, zero)));
      elsewhere += static_cast<size_t>(__builtin_popcount(counted));
      at_zero += static_cast<uint32_t>(__builtin_popcount(lanes) - __builtin_popcount(counted));
    }
    count_bins(bin, elsewhere, bins);
  }
  bins.counts[bins.zero] += at_zero;
}

namespace {

// Eight doubles.
struct RealSums8 {
  using Element = float;
  using Sums = __m512d;
  static constexpr int32_t kLanes = 8;

  static Sums zero() { return _mm512_setzero_pd(); }
  static Sums widen(const float* x) { return _mm512_cvtps_pd(_mm256_loadu_ps(x)); }
  static Sums add(Sums a, Sums b) { return _mm512_add_pd(a, b); }
  static Sums subtract(Sums a, Sums b) { return _mm512_sub_pd(a, b); }
  static void add_to(double* to, Sums sums, double zeros) {
    _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), _mm512_sub_pd(sums, _mm512_set1_pd(zeros))));
  }
};

// Sixteen sums of codes.
struct CodeSums16 {
  using Element = int8_t;
  using Sums = __m512i;
  static constexpr int32_t kLanes = 16;

  static Sums zero() { return _mm512_setzero_si512(); }
  static Sums widen(const int8_t* x) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  }
  static Sums add(Sums a, Sums b) { return _mm512_add_epi32(a, b); }
  static Sums subtract(Sums a, Sums b) { return _mm512_sub_epi32(a, b); }
  static void add_to(double* to, Sums sums, double zeros) {
    RealSums8::add_to(to, _mm512_cvtepi32_pd(_mm512_castsi512_si256(sums)), zeros);
    RealSums8::add_to(to + 8, _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(sums, 1)), zeros);
  }
};

}  // namespace

void patch_row_s8_avx512vnni(const PatchRow<int8_t>& row);
void patch_row_f32_avx512vnni(const PatchRow<float>& row);

void patch_row_s8_avx512vnni(const PatchRow<int8_t>& row) {
  int32_t c = patch_row_vectors<PatchVectors<CodeSums16, 4>>(row, 0);
  c = patch_row_vectors<PatchVectors<CodeSums16, 1>>(row, c);
  c = patch_row_vectors<PatchVectors<CodeSums8, 1>>(row, c);
  patch_rest_s8_scalar(row, c);
}

void patch_row_f32_avx512vnni(const PatchRow<float>& row) {
  int32_t c = patch_row_vectors<PatchVectors<RealSums8, 4>>(row, 0);
  c = patch_row_vectors<PatchVectors<RealSums8, 1>>(row, c);
  patch_rest_f32_scalar(row, c);
}

}  // namespace intaglio

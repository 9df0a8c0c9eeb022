#include "kernels/observe/patch_sums_vectors.h"

namespace intaglio {
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

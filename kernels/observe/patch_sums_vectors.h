// Blocks of channels in vectors, for the AVX2 and the AVX-512 kernels.
#pragma once

#include <immintrin.h>

#include "kernels/observe/observe_loops.h"

namespace intaglio {
namespace {

// Four doubles.
struct RealSums4 {
  using Element = float;
  using Sums = __m256d;
  static constexpr int32_t kLanes = 4;

  static Sums zero() { return _mm256_setzero_pd(); }
  static Sums widen(const float* x) { return _mm256_cvtps_pd(_mm_loadu_ps(x)); }
  static Sums add(Sums a, Sums b) { return _mm256_add_pd(a, b); }
  static Sums subtract(Sums a, Sums b) { return _mm256_sub_pd(a, b); }
  static void add_to(double* to, Sums sums, double zeros) {
    _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), _mm256_sub_pd(sums, _mm256_set1_pd(zeros))));
  }
};

// Eight sums of codes.
struct CodeSums8 {
  using Element = int8_t;
  using Sums = __m256i;
  static constexpr int32_t kLanes = 8;

  static Sums zero() { return _mm256_setzero_si256(); }
  static Sums widen(const int8_t* x) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
  }
  static Sums add(Sums a, Sums b) { return _mm256_add_epi32(a, b); }
  static Sums subtract(Sums a, Sums b) { return _mm256_sub_epi32(a, b); }
  static void add_to(double* to, Sums sums, double zeros) {
    RealSums4::add_to(to, _mm256_cvtepi32_pd(_mm256_castsi256_si128(sums)), zeros);
    RealSums4::add_to(to + 4, _mm256_cvtepi32_pd(_mm256_extracti128_si256(sums, 1)), zeros);
  }
};

}  // namespace
}  // namespace intaglio

// Exact for all codes: both sides widened to int16, pairs summed by vpmaddwd. The tile's rows are widened
// once, into scratch [m][taps][k rounded up to 2]; the panels' weights on the fly.
#include <immintrin.h>

#include "kernels/gemm_s8.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 6, kNr = 16;

inline __m128i load_8(const int8_t* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }
inline __m128i load_16(const int8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }

// k codes to int16, and a zero after an odd one. The last vector overlaps the one before: nothing past the
// end.
inline void widen_row(const int8_t* x, int32_t k, int16_t* out) {
  if (k >= 16) {
    for (int32_t i = 0; i + 16 <= k; i += 16)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_cvtepi8_epi16(load_16(x + i)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + k - 16), _mm256_cvtepi8_epi16(load_16(x + k - 16)));
  } else if (k >= 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_cvtepi8_epi16(load_8(x)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + k - 8), _mm_cvtepi8_epi16(load_8(x + k - 8)));
  } else {
    for (int32_t i = 0; i < k; ++i) out[i] = x[i];
  }
  if ((k & 1) != 0) out[k] = 0;
}

inline __m256i requantize(__m256i acc, __m256 multiplier, const OutputS8& output) {
  __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(acc), multiplier);
  v = _mm256_max_ps(v, _mm256_set1_ps(output.lo_minus_zero_point));
  v = _mm256_min_ps(v, _mm256_set1_ps(output.hi_minus_zero_point));
  return _mm256_add_epi32(_mm256_cvtps_epi32(v), _mm256_set1_epi32(output.zero_point));
}

// add_s8 on eight lanes.
inline __m256i add_codes(__m256i a, __m256i b, const AddS8& p) {
  a = _mm256_mullo_epi32(_mm256_sub_epi32(a, _mm256_set1_epi32(p.a_zero_point)),
                         _mm256_set1_epi32(p.a_multiplier));
  b = _mm256_mullo_epi32(_mm256_sub_epi32(b, _mm256_set1_epi32(p.b_zero_point)),
                         _mm256_set1_epi32(p.b_multiplier));
  __m256i q = _mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_set1_epi32(int32_t{1} << (p.right_shift - 1)));
  q = _mm256_sra_epi32(q, _mm_cvtsi32_si128(p.right_shift));
  q = _mm256_add_epi32(q, _mm256_set1_epi32(p.zero_point));
  return _mm256_min_epi32(_mm256_max_epi32(q, _mm256_set1_epi32(p.lo)), _mm256_set1_epi32(p.hi));
}

// Sixteen int32 codes, in order, to int8.
inline __m128i narrow(__m256i q0, __m256i q1) {
  const __m256i q = _mm256_permute4x64_epi64(_mm256_packs_epi32(q0, q1), 0xd8);
  return _mm_packs_epi16(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
}

// The first `count` of eight lanes.
inline __m256i lanes(int32_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// One function for all row counts: its size matters more than the trip through memory.
__attribute__((noinline)) void store_rows(const GemmS8Args& args, int32_t rows, int32_t first,
                                          int32_t columns, const __m256i* sums) {
  const __m256 m0 = _mm256_maskload_ps(args.multiplier + first, lanes(columns));
  const __m256 m1 =
      columns > 8 ? _mm256_maskload_ps(args.multiplier + first + 8, lanes(columns - 8)) : _mm256_setzero_ps();
  alignas(16) int8_t some[kNr] = {};
  for (int32_t r = 0; r < rows; ++r) {
    __m256i q0 = requantize(sums[2 * r], m0, args.requant);
    __m256i q1 = requantize(sums[2 * r + 1], m1, args.requant);
    if (args.residual != nullptr) {
      const int8_t* from = args.residual + static_cast<size_t>(r) * args.residual_stride + first;
      if (columns < kNr) {
        memcpy(some, from, static_cast<size_t>(columns));
        from = some;
      }
      const __m128i codes = load_16(from);
      q0 = add_codes(q0, _mm256_cvtepi8_epi32(codes), *args.add);
      q1 = add_codes(q1, _mm256_cvtepi8_epi32(_mm_srli_si128(codes, 8)), *args.add);
    }
    int8_t* const to = args.output + static_cast<size_t>(r) * args.output_stride + first;
    if (columns == kNr) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), narrow(q0, q1));
    } else {
      _mm_store_si128(reinterpret_cast<__m128i*>(some), narrow(q0, q1));
      memcpy(to, some, static_cast<size_t>(columns));
    }
  }
}

template <int32_t M>
void tile(const GemmS8Args& args, const int16_t* lhs, int32_t pairs) {
  const auto* w = static_cast<const int8_t*>(args.weights);
  const ptrdiff_t lhs_stride = ptrdiff_t{2} * pairs;
  alignas(32) __m256i sums[2 * M];
  for (int32_t first = 0; first < args.n; first += kNr) {
    const int32_t columns = args.n - first < kNr ? args.n - first : kNr;
    const __m256i low = lanes(columns), high = lanes(columns - 8);
    const int32_t* const bias = args.folded_bias + first;
    __m256i acc[M][2];
    acc[0][0] = _mm256_maskload_epi32(bias, low);
    acc[0][1] = columns > 8 ? _mm256_maskload_epi32(bias + 8, high) : _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int32_t r = 1; r < M; ++r) {
      acc[r][0] = acc[0][0];
      acc[r][1] = acc[0][1];
    }
    const int16_t* x = lhs;
    for (int32_t p = 0; p < pairs; ++p) {
      const __m256i w0 = _mm256_cvtepi8_epi16(load_16(w));
      const __m256i w1 = _mm256_cvtepi8_epi16(load_16(w + 16));
#pragma GCC unroll 8
      for (int32_t r = 0; r < M; ++r) {
        int32_t pair;
        memcpy(&pair, x + r * lhs_stride, sizeof pair);
        const __m256i broadcast = _mm256_set1_epi32(pair);
        acc[r][0] = _mm256_add_epi32(acc[r][0], _mm256_madd_epi16(broadcast, w0));
        acc[r][1] = _mm256_add_epi32(acc[r][1], _mm256_madd_epi16(broadcast, w1));
      }
      w += 32;
      x += 2;
    }
#pragma GCC unroll 8
    for (int32_t r = 0; r < M; ++r) {
      _mm256_store_si256(sums + 2 * r, acc[r][0]);
      _mm256_store_si256(sums + 2 * r + 1, acc[r][1]);
    }
    store_rows(args, M, first, columns, sums);
  }
}

}  // namespace

void gemm_s8_avx2(const GemmS8Args& args);

void gemm_s8_avx2(const GemmS8Args& args) {
  const int32_t k2 = (args.k + 1) / 2 * 2;
  const int32_t pairs = args.taps * (k2 / 2);
  auto* const lhs = static_cast<int16_t*>(args.scratch);
  for (int32_t r = 0; r < args.m; ++r)
    for (int32_t t = 0; t < args.taps; ++t)
      widen_row(args.rows[static_cast<ptrdiff_t>(t) * kMr + r], args.k,
                lhs + (static_cast<ptrdiff_t>(r) * args.taps + t) * k2);
  switch (args.m) {
    case 1:
      return tile<1>(args, lhs, pairs);
    case 2:
      return tile<2>(args, lhs, pairs);
    case 3:
      return tile<3>(args, lhs, pairs);
    case 4:
      return tile<4>(args, lhs, pairs);
    case 5:
      return tile<5>(args, lhs, pairs);
    default:
      return tile<6>(args, lhs, pairs);
  }
}

}  // namespace intaglio

// Products of int16 with int8 weights, and of two activations.
#include <immintrin.h>
#include <cstring>

#include "kernels/gemm/gemm_s16.h"
#include "kernels/gemm/gemm_s16_tiles.h"

namespace intaglio {
namespace {

// vpmaddwd adds two products of int16 in 32 bits; the weights are widened as they are read.

struct Lanes {
  using Sums = __m256i;
  static constexpr int32_t kWidth = 8;
  static Sums zeros() { return _mm256_setzero_si256(); }
  static Sums load(const int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store(int32_t* p, Sums sums) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), sums); }
  static Sums widened(const int8_t* w) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w)));
  }
  static Sums spread(int32_t pair) { return _mm256_set1_epi32(pair); }
  static Sums multiply_add(Sums sums, Sums weights, Sums pair) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(weights, pair));
  }
};

template <int32_t kTileRows>
struct Tile : PairSums<Lanes, kTileRows> {
  using PairSums<Lanes, kTileRows>::kRows;
  using PairSums<Lanes, kTileRows>::sums;

  void store(const float* multiplier, const OutputS16& requant, int16_t* y, size_t stride) const {
    const __m256 lo = _mm256_set1_ps(requant.lo), hi = _mm256_set1_ps(requant.hi);
    for (int32_t r = 0; r < kRows; ++r, y += stride) {
      __m256i codes[2];
      for (int32_t v = 0; v < 2; ++v) {
        const __m256 factor = _mm256_loadu_ps(multiplier + 8 * v);
        const __m256 real = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[r][v]), factor);
        codes[v] = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(real, lo), hi));
      }
      const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(codes[0], codes[1]), 0xd8);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), packed);
    }
  }
};

}  // namespace

void gemm_s16_avx2(const GemmS16Args& args);

void gemm_s16_avx2(const GemmS16Args& args) { run_panels_s16<Tile, 2>(args, 48); }

// The loops of the kernels for x86 of gemm_s16.h. Lanes is a kernel's own, so that no symbol is weak:
//   Sums, kColumns                  a vector of 32-bit lanes, one a column
//   zeros(), load(panel), spread(pair)
//   products(w, pair)               the sum of two products, less 1
//   add_low(sums, v), add_high(sums, v)   plus the lower half, without a sign; plus the upper half, with its sign
//   store(low, high, steps, args, out)    codes of the columns; a sum is high * 2^16 + low + steps

// A row's two sums.
template <typename Lanes>
struct RowSums {
  typename Lanes::Sums low = Lanes::zeros(), high = Lanes::zeros();

  inline __attribute__((always_inline)) void add(typename Lanes::Sums w, int32_t pair) {
    const auto v = Lanes::products(w, Lanes::spread(pair));
    low = Lanes::add_low(low, v);
    high = Lanes::add_high(high, v);
  }
  inline __attribute__((always_inline)) void store(const MatmulS16Args& args, int32_t row) const {
    int16_t codes[Lanes::kColumns];
    Lanes::store(low, high, (args.k + 1) / 2, args, codes);
    memcpy(args.output + row * args.output_stride, codes, static_cast<size_t>(args.n) * sizeof codes[0]);
  }
};

static inline int32_t pair_s16(const int16_t* x) {
  int32_t pair;
  memcpy(&pair, x, sizeof pair);
  return pair;
}

// Four rows; of fewer the last one is computed again. The sums are plain variables: in a loop gcc keeps an array of them on the
// stack.
template <typename Lanes>
static inline void run_rows_s16(const MatmulS16Args& args, int32_t row) {
  const int32_t last = args.m - 1 - row;
  const int16_t* const a0 = args.a + row * args.a_stride;
  const int16_t* const a1 = last < 1 ? a0 : a0 + args.a_stride;
  const int16_t* const a2 = last < 2 ? a1 : a1 + args.a_stride;
  const int16_t* const a3 = last < 3 ? a2 : a2 + args.a_stride;
  RowSums<Lanes> r0, r1, r2, r3;
  const int16_t* panel = args.panel;
  int32_t i = 0;
  for (; i + 2 <= args.k; i += 2, panel += 2 * Lanes::kColumns) {
    const auto w = Lanes::load(panel);
    r0.add(w, pair_s16(a0 + i));
    r1.add(w, pair_s16(a1 + i));
    r2.add(w, pair_s16(a2 + i));
    r3.add(w, pair_s16(a3 + i));
  }
  if (i < args.k) {
    const auto w = Lanes::load(panel);
    r0.add(w, static_cast<uint16_t>(a0[i]));
    r1.add(w, static_cast<uint16_t>(a1[i]));
    r2.add(w, static_cast<uint16_t>(a2[i]));
    r3.add(w, static_cast<uint16_t>(a3[i]));
  }
  const RowSums<Lanes> sums[] = {r0, r1, r2, r3};
  for (int32_t r = 0; r < 4 && r <= last; ++r) sums[r].store(args, row + r);
}

template <typename Lanes>
static inline void run_matmul_s16(const MatmulS16Args& args) {
  for (int32_t row = 0; row < args.m; row += 4) run_rows_s16<Lanes>(args, row);
}

namespace {

struct MatmulLanes {
  using Sums = __m256i;
  static constexpr int32_t kColumns = 8;
  static Sums zeros() { return _mm256_setzero_si256(); }
  static Sums load(const int16_t* panel) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel));
  }
  static Sums spread(int32_t pair) { return _mm256_set1_epi32(pair); }
  static Sums products(Sums w, Sums pair) {
    return _mm256_add_epi32(_mm256_madd_epi16(w, pair), _mm256_set1_epi32(-1));
  }
  static Sums add_low(Sums sums, Sums v) {
    return _mm256_add_epi32(sums, _mm256_and_si256(v, _mm256_set1_epi32(0xffff)));
  }
  static Sums add_high(Sums sums, Sums v) { return _mm256_add_epi32(sums, _mm256_srai_epi32(v, 16)); }
  // A double holds the sum, and is rounded once.
  static __m128 reals(__m128i low, __m128i high, __m256d steps) {
    const __m256d upper = _mm256_mul_pd(_mm256_cvtepi32_pd(high), _mm256_set1_pd(65536.0));
    return _mm256_cvtpd_ps(_mm256_add_pd(_mm256_add_pd(upper, _mm256_cvtepi32_pd(low)), steps));
  }
  static void store(Sums low, Sums high, int32_t steps, const MatmulS16Args& args, int16_t* out) {
    const __m256d added = _mm256_set1_pd(steps);
    const __m128 first = reals(_mm256_castsi256_si128(low), _mm256_castsi256_si128(high), added);
    const __m128 last = reals(_mm256_extracti128_si256(low, 1), _mm256_extracti128_si256(high, 1), added);
    const __m256 v = _mm256_mul_ps(_mm256_set_m128(last, first), _mm256_set1_ps(args.multiplier));
    const __m256 bounded =
        _mm256_min_ps(_mm256_max_ps(v, _mm256_set1_ps(args.requant.lo)), _mm256_set1_ps(args.requant.hi));
    const __m256i q = _mm256_cvtps_epi32(bounded);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1)));
  }
};

}  // namespace

void matmul_s16_avx2(const MatmulS16Args& args);

void matmul_s16_avx2(const MatmulS16Args& args) { run_matmul_s16<MatmulLanes>(args); }

}  // namespace intaglio

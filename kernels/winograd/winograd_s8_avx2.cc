#include "kernels/arithmetic/requant_avx2.h"
#include "kernels/winograd/winograd_s8_tiles.h"

namespace intaglio {
namespace {

inline __m256i load_32(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void store_32(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }

// B d of six int16 each.
inline void transform_input(const __m256i d[6], __m256i to[6]) {
  const __m256i t = _mm256_sub_epi16(d[4], _mm256_slli_epi16(d[2], 2));
  const __m256i u = _mm256_sub_epi16(d[3], _mm256_slli_epi16(d[1], 2));
  const __m256i v = _mm256_sub_epi16(d[4], d[2]);
  const __m256i s = _mm256_sub_epi16(d[3], d[1]), w = _mm256_add_epi16(s, s);
  to[0] = _mm256_add_epi16(_mm256_slli_epi16(_mm256_sub_epi16(d[0], d[2]), 2), v);
  to[1] = _mm256_add_epi16(t, u);
  to[2] = _mm256_sub_epi16(t, u);
  to[3] = _mm256_add_epi16(v, w);
  to[4] = _mm256_sub_epi16(v, w);
  to[5] = _mm256_sub_epi16(_mm256_sub_epi16(d[5], d[3]), _mm256_add_epi16(w, w));
}

// A m of six int32 each.
inline void transform_output(const __m256i m[6], __m256i to[4]) {
  const __m256i a = _mm256_add_epi32(m[1], m[2]), b = _mm256_sub_epi32(m[1], m[2]);
  const __m256i c = _mm256_add_epi32(m[3], m[4]), d = _mm256_sub_epi32(m[3], m[4]);
  const __m256i d2 = _mm256_add_epi32(d, d);
  to[0] = _mm256_add_epi32(_mm256_add_epi32(m[0], a), c);
  to[1] = _mm256_add_epi32(b, d2);
  to[2] = _mm256_add_epi32(a, _mm256_slli_epi32(c, 2));
  to[3] = _mm256_add_epi32(b, _mm256_slli_epi32(_mm256_add_epi32(d2, m[5]), 2));
}

constexpr int32_t kRows = 4;

// Four tiles of one position by sixteen columns.
inline void multiply_rows(const int16_t* v, ptrdiff_t ic, const int16_t* u, int32_t* to) {
  __m256i acc[kRows][2];
#pragma GCC unroll 4
  for (int32_t r = 0; r < kRows; ++r) acc[r][0] = acc[r][1] = _mm256_setzero_si256();
  for (ptrdiff_t i = 0; i < ic; i += 2, u += 32) {
    const __m256i u0 = load_32(u), u1 = load_32(u + 16);
#pragma GCC unroll 4
    for (int32_t r = 0; r < kRows; ++r) {
      int32_t pair;
      memcpy(&pair, v + r * ic + i, sizeof pair);
      const __m256i x = _mm256_set1_epi32(pair);
      acc[r][0] = _mm256_add_epi32(acc[r][0], _mm256_madd_epi16(x, u0));
      acc[r][1] = _mm256_add_epi32(acc[r][1], _mm256_madd_epi16(x, u1));
    }
  }
#pragma GCC unroll 4
  for (int32_t r = 0; r < kRows; ++r) {
    store_32(to + r * kWinogradPositions * 16, acc[r][0]);
    store_32(to + r * kWinogradPositions * 16 + 8, acc[r][1]);
  }
}

struct Avx2 {
  static constexpr int32_t kTiles = 8, kColumns = 16, kLanes = 16;

  static void transform(const int8_t* from, ptrdiff_t line, int32_t ic, int16_t* to, ptrdiff_t step) {
    for (int32_t c = 0; c < ic; c += kLanes, from += kLanes, to += kLanes) {
      __m256i half[6][6];  // [column][line]
      for (int32_t x = 0; x < 6; ++x) {
        __m256i d[6];
#pragma GCC unroll 6
        for (int32_t y = 0; y < 6; ++y)
          d[y] = _mm256_cvtepi8_epi16(_mm_loadu_si128(
              reinterpret_cast<const __m128i*>(from + y * line + static_cast<ptrdiff_t>(x) * ic)));
        transform_input(d, half[x]);
      }
      for (int32_t y = 0; y < 6; ++y) {
        __m256i d[6], out[6];
#pragma GCC unroll 6
        for (int32_t x = 0; x < 6; ++x) d[x] = half[x][y];
        transform_input(d, out);
#pragma GCC unroll 6
        for (int32_t x = 0; x < 6; ++x) store_32(to + (y * 6 + x) * step, out[x]);
      }
    }
  }

  __attribute__((noinline)) static void multiply(const int16_t* v, int32_t tiles, ptrdiff_t ic,
                                                 const int16_t* u, int32_t* to) {
    constexpr ptrdiff_t kStep = ptrdiff_t{kWinogradPositions} * kColumns;
    for (int32_t t = 0; t < tiles; t += kRows, v += kRows * ic, to += kRows * kStep)
      multiply_rows(v, ic, u, to);
  }

  static void store(const WinogradS8Args& args, WinogradPlace place, const uint8_t* panel, int32_t column,
                    const int32_t* sums) {
    __m256i lines[4][2][4];
    const __m256i inverse_of_9 = _mm256_set1_epi32(kInverseOf9);
    for (int32_t half = 0; half < 2; ++half) {
      __m256i columns[6][4];
      for (int32_t x = 0; x < 6; ++x) {
        __m256i m[6];
#pragma GCC unroll 6
        for (int32_t y = 0; y < 6; ++y) m[y] = load_32(sums + (y * 6 + x) * 16 + 8 * half);
        transform_output(m, columns[x]);
      }
      for (int32_t y = 0; y < 4; ++y) {
        __m256i m[6];
#pragma GCC unroll 6
        for (int32_t x = 0; x < 6; ++x) m[x] = columns[x][y];
        transform_output(m, lines[y][half]);
      }
    }
    const __m256i bias[2] = {load_32(panel), load_32(panel + 32)};
    const __m256 multiplier[2] = {_mm256_loadu_ps(reinterpret_cast<const float*>(panel + 64)),
                                  _mm256_loadu_ps(reinterpret_cast<const float*>(panel + 96))};
    const __m256i zero_point = _mm256_set1_epi16(static_cast<int16_t>(args.requant.zero_point));
    const __m256i lowest = _mm256_set1_epi16(static_cast<int16_t>(
        static_cast<int32_t>(args.requant.lo_minus_zero_point) + args.requant.zero_point));
    const __m256i highest = _mm256_set1_epi16(static_cast<int16_t>(
        static_cast<int32_t>(args.requant.hi_minus_zero_point) + args.requant.zero_point));
    const int32_t width = args.ow - place.x < 4 ? args.ow - place.x : 4;
    const int32_t height = args.oh - place.y < 4 ? args.oh - place.y : 4;
    const auto round = [&](__m256i sum, int32_t half) {
      const __m256i exact =
          _mm256_add_epi32(_mm256_srai_epi32(_mm256_mullo_epi32(sum, inverse_of_9), 6), bias[half]);
      return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(exact), multiplier[half]));
    };
    for (int32_t y = 0; y < height; ++y) {
      ptrdiff_t at = (static_cast<ptrdiff_t>(place.y + y) * args.ow + place.x) * args.oc + column;
      for (int32_t x = 0; x < width; ++x, at += args.oc) {
        __m256i words = _mm256_adds_epi16(
            _mm256_packs_epi32(round(lines[y][0][x], 0), round(lines[y][1][x], 1)), zero_point);
        words = _mm256_min_epi16(_mm256_max_epi16(words, lowest), highest);
        __m128i codes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        if (args.residual != nullptr)
          codes = avx2_add(words, _mm_loadu_si128(reinterpret_cast<const __m128i*>(args.residual + at)),
                           *args.add);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(args.output + at), codes);
      }
    }
  }
};

}  // namespace

void winograd_s8_avx2(const WinogradS8Args& args);

void winograd_s8_avx2(const WinogradS8Args& args) { winograd_s8_run<Avx2>(args); }

}  // namespace intaglio

// vpdpbusd multiplies unsigned by signed bytes, so a tile's rows are read as x + 128: they are copied once, with
// their top bits flipped, into scratch [m][taps][k rounded up to 4], which also flattens the taps and rounds off
// their ends. Against that copy a tile holds up to 7 x 64 or 14 x 32 sums in registers.
#include <immintrin.h>

#include "kernels/gemm_s8.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 14, kNr = 64, kLanes = 16;

struct Tile {
  const uint8_t* lhs;
  ptrdiff_t lhs_stride;
  const int32_t* correction;  // of the panel; its weights follow
  const int32_t* bias;
  const float* multiplier;
  int8_t* output;
  size_t output_stride;
  int32_t quads, columns;
};

// gcc would copy every sum around the intrinsic.
inline void dot(__m512i& acc, __m512i x, __m512i w) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(w));
}
inline void dot_memory(__m512i& acc, __m512i x, const int8_t* w) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "m"(*reinterpret_cast<const __m512i*>(w)));
}

inline __m512i broadcast(const uint8_t* x) {
  int32_t quad;
  memcpy(&quad, x, sizeof quad);
  return _mm512_set1_epi32(quad);
}

inline __mmask64 first_bytes(int32_t count) { return ~uint64_t{0} >> (64 - count); }

inline void flip_row(const int8_t* x, int32_t k, uint8_t* out) {
  const __m512i top = _mm512_set1_epi8(-128);
  for (; k >= 64; k -= 64, x += 64, out += 64)
    _mm512_storeu_si512(out, _mm512_xor_si512(_mm512_loadu_si512(x), top));
  if (k > 0)
    _mm512_mask_storeu_epi8(out, first_bytes((k + 3) / 4 * 4),
                            _mm512_xor_si512(_mm512_maskz_loadu_epi8(first_bytes(k), x), top));
}

// requant.h on sixteen lanes, up to the zero point. What is too small for int32 becomes its least value.
inline __m512i round_product(__m512i acc, __m512 multiplier, __m512 highest) {
  return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(acc), multiplier), highest));
}

struct Output {
  __m512 highest;       // before the zero point
  __m512i zero_point;   // int16
  __m512i lowest;       // int8
  __m512i order;        // of the packs below, as dwords
};

inline Output make_output(const OutputS8& requant) {
  Output out;
  out.highest = _mm512_set1_ps(requant.hi_minus_zero_point);
  out.zero_point = _mm512_set1_epi16(static_cast<int16_t>(requant.zero_point));
  out.lowest = _mm512_set1_epi8(
      static_cast<int8_t>(static_cast<int32_t>(requant.lo_minus_zero_point) + requant.zero_point));
  out.order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return out;
}

// Four times sixteen codes, in order.
inline __m512i narrow(__m512i a, __m512i b, __m512i c, __m512i d, const Output& out) {
  const __m512i ab = _mm512_adds_epi16(_mm512_packs_epi32(a, b), out.zero_point);
  const __m512i cd = _mm512_adds_epi16(_mm512_packs_epi32(c, d), out.zero_point);
  return _mm512_max_epi8(_mm512_permutexvar_epi32(out.order, _mm512_packs_epi16(ab, cd)), out.lowest);
}

// M rows of 16 V columns.
template <int32_t M, int32_t V>
void tile(const Tile& t, const OutputS8& requant) {
  __m512i acc[M][V];
  const auto* w = reinterpret_cast<const int8_t*>(t.correction + kLanes * V);
  const __mmask64 mask = first_bytes(t.columns);
#pragma GCC unroll 4
  for (int32_t v = 0; v < V; ++v)
    acc[0][v] = _mm512_add_epi32(
        _mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask >> (kLanes * v)), t.bias + kLanes * v),
        _mm512_loadu_si512(t.correction + kLanes * v));
#pragma GCC unroll 14
  for (int32_t r = 1; r < M; ++r)
#pragma GCC unroll 4
    for (int32_t v = 0; v < V; ++v) acc[r][v] = acc[0][v];

  const uint8_t* x[4];
  for (int32_t i = 0; i < 4; ++i) x[i] = t.lhs + 4 * i * t.lhs_stride;
  const ptrdiff_t stride = t.lhs_stride;
  for (int32_t q = 0; q < t.quads; ++q) {
    __m512i columns[V];
    // With all four 7 rows would not fit the registers.
    constexpr int32_t kHeld = V < 4 ? V : 3;
#pragma GCC unroll 4
    for (int32_t v = 0; v < kHeld; ++v) columns[v] = _mm512_loadu_si512(w + 64 * v);
#pragma GCC unroll 14
    for (int32_t r = 0; r < M; ++r) {
      const __m512i row = broadcast(x[r / 4] + r % 4 * stride);
#pragma GCC unroll 4
      for (int32_t v = 0; v < V; ++v) {
        if (v < kHeld) {
          dot(acc[r][v], row, columns[v]);
        } else {
          dot_memory(acc[r][v], row, w + 64 * v);
        }
      }
    }
    w += 64 * V;
    for (int32_t i = 0; i < (M + 3) / 4; ++i) x[i] += 4;
  }

  const Output out = make_output(requant);
  __m512 multiplier[V];
#pragma GCC unroll 4
  for (int32_t v = 0; v < V; ++v)
    multiplier[v] =
        _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> (kLanes * v)), t.multiplier + kLanes * v);
  int8_t* y = t.output;
  const size_t step = t.output_stride;
  if (V >= 3) {
#pragma GCC unroll 14
    for (int32_t r = 0; r < M; ++r, y += step) {
      __m512i q[4];
#pragma GCC unroll 4
      for (int32_t v = 0; v < 4; ++v)
        q[v] = round_product(acc[r][v < V ? v : V - 1], multiplier[v < V ? v : V - 1], out.highest);
      const __m512i codes = narrow(q[0], q[1], q[2], q[3], out);
      if (V == 4 && t.columns == kNr) {
        _mm512_storeu_si512(y, codes);
      } else {
        _mm512_mask_storeu_epi8(y, mask, codes);
      }
    }
  } else {
    // Several rows share a vector.
    constexpr int32_t kShare = 4 / V;
    const auto small = static_cast<__mmask32>(mask);
#pragma GCC unroll 14
    for (int32_t r = 0; r < M; r += kShare) {
      __m512i q[4];
#pragma GCC unroll 4
      for (int32_t i = 0; i < 4; ++i) {
        const int32_t row = r + i / V < M ? r + i / V : M - 1;
        q[i] = round_product(acc[row][i % V], multiplier[i % V], out.highest);
      }
      const __m512i codes = narrow(q[0], q[1], q[2], q[3], out);
#pragma GCC unroll 4
      for (int32_t i = 0; i < kShare; ++i) {
        if (r + i >= M) break;
        if (V == 2) {
          const __m256i half = i == 0 ? _mm512_castsi512_si256(codes) : _mm512_extracti64x4_epi64(codes, 1);
          if (t.columns == 32) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), half);
          } else {
            _mm256_mask_storeu_epi8(y, small, half);
          }
        } else {
          const __m128i quarter = i == 0   ? _mm512_castsi512_si128(codes)
                                  : i == 1 ? _mm512_extracti32x4_epi32(codes, 1)
                                  : i == 2 ? _mm512_extracti32x4_epi32(codes, 2)
                                           : _mm512_extracti32x4_epi32(codes, 3);
          if (t.columns == 16) {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(y), quarter);
          } else {
            _mm_mask_storeu_epi8(y, static_cast<__mmask16>(small), quarter);
          }
        }
        y += step;
      }
    }
  }
}

using TileFunction = void (*)(const Tile& t, const OutputS8& requant);

// By rows; eight of them, where two vectors suffice, stand for fourteen.
constexpr TileFunction kTiles[4][8] = {
    {tile<1, 1>, tile<2, 1>, tile<3, 1>, tile<4, 1>, tile<5, 1>, tile<6, 1>, tile<7, 1>, tile<14, 1>},
    {tile<1, 2>, tile<2, 2>, tile<3, 2>, tile<4, 2>, tile<5, 2>, tile<6, 2>, tile<7, 2>, tile<14, 2>},
    {tile<1, 3>, tile<2, 3>, tile<3, 3>, tile<4, 3>, tile<5, 3>, tile<6, 3>, tile<7, 3>, nullptr},
    {tile<1, 4>, tile<2, 4>, tile<3, 4>, tile<4, 4>, tile<5, 4>, tile<6, 4>, tile<7, 4>, nullptr}};

// output = add_s8(codes, residual), up to 64 columns of each row; output may be residual.
__attribute__((noinline)) void add_rows(const int8_t* codes, const int8_t* residual, size_t residual_stride,
                                        int8_t* output, size_t output_stride, int32_t rows, int32_t columns,
                                        const AddS8& p) {
  const __m512i factors = _mm512_set1_epi32(p.b_multiplier * 65536 + p.a_multiplier);
  const __m512i offset = _mm512_set1_epi32((int32_t{1} << (p.right_shift - 1)) -
                                           p.a_zero_point * p.a_multiplier - p.b_zero_point * p.b_multiplier);
  const __m128i shift = _mm_cvtsi32_si128(p.right_shift);
  const __m512i zero_point = _mm512_set1_epi16(static_cast<int16_t>(p.zero_point));
  const __m256i lo = _mm256_set1_epi8(static_cast<int8_t>(p.lo));
  const __m256i hi = _mm256_set1_epi8(static_cast<int8_t>(p.hi));
  for (int32_t r = 0; r < rows; ++r) {
    for (int32_t c = 0; c < columns; c += 32) {
      const int32_t count = columns - c < 32 ? columns - c : 32;
      const auto mask = static_cast<__mmask32>(first_bytes(count));
      const __m512i a =
          _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + 64 * r + c)));
      const __m512i b = _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, residual + c));
      const __m512i low = _mm512_madd_epi16(_mm512_unpacklo_epi16(a, b), factors);
      const __m512i high = _mm512_madd_epi16(_mm512_unpackhi_epi16(a, b), factors);
      const __m512i sums = _mm512_packs_epi32(_mm512_sra_epi32(_mm512_add_epi32(low, offset), shift),
                                              _mm512_sra_epi32(_mm512_add_epi32(high, offset), shift));
      const __m256i q = _mm512_cvtsepi16_epi8(_mm512_adds_epi16(sums, zero_point));
      _mm256_mask_storeu_epi8(output + c, mask, _mm256_min_epi8(_mm256_max_epi8(q, lo), hi));
    }
    residual += residual_stride;
    output += output_stride;
  }
}

}  // namespace

void gemm_s8_avx512vnni(const GemmS8Args& args);

void gemm_s8_avx512vnni(const GemmS8Args& args) {
  const int32_t tap_bytes = (args.k + 3) / 4 * 4;
  auto* const lhs = static_cast<uint8_t*>(args.scratch);
  Tile t;
  t.lhs_stride = static_cast<ptrdiff_t>(args.taps) * tap_bytes;
  t.quads = args.taps * (tap_bytes / 4);
  for (int32_t r = 0; r < args.m; ++r) {
    uint8_t* out = lhs + r * t.lhs_stride;
    for (int32_t i = 0; i < args.taps; ++i, out += tap_bytes)
      flip_row(args.rows[static_cast<ptrdiff_t>(i) * kMr + r], args.k, out);
  }

  const auto* panel = static_cast<const int8_t*>(args.weights);
  alignas(64) int8_t codes[kMr * kNr];
  for (int32_t first = 0; first < args.n; first += kNr) {
    t.columns = args.n - first < kNr ? args.n - first : kNr;
    const int32_t vectors = (t.columns + kLanes - 1) / kLanes;
    t.correction = reinterpret_cast<const int32_t*>(panel);
    t.bias = args.folded_bias + first;
    t.multiplier = args.multiplier + first;
    panel += (4 + 4 * static_cast<ptrdiff_t>(t.quads)) * kLanes * vectors;
    const bool adds = args.residual != nullptr;
    int8_t* const y = args.output + first;
    t.output_stride = adds ? kNr : args.output_stride;
    for (int32_t r = 0; r < args.m;) {
      const int32_t left = args.m - r;
      int32_t rows = left <= 7 ? left : (left + 1) / 2;
      if (left == kMr && vectors <= 2) rows = kMr;
      t.lhs = lhs + r * t.lhs_stride;
      t.output = (adds ? codes : y) + static_cast<size_t>(r) * t.output_stride;
      kTiles[vectors - 1][rows == kMr ? 7 : rows - 1](t, args.requant);
      r += rows;
    }
    if (adds)
      add_rows(codes, args.residual + first, args.residual_stride, y, args.output_stride, args.m, t.columns,
               *args.add);
  }
}

}  // namespace intaglio

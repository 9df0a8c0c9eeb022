// Depthwise convolutions, int8 to int8 and to FP32.
//
// 64 channels at a time: the codes of four taps are interleaved, as x + 128, and summed by vpdpbusd. The weights of a block
// are interleaved once, into scratch [taps / 4][4 vectors][16 channels][4]; taps past the last have weight zero. Packing 128
// bits at a time undoes the interleaving. Fewer channels are read and written under a mask; the last block of 64 and more
// overlaps the one before.
#include <immintrin.h>

#include "kernels/arithmetic/output_f32_avx512.h"
#include "kernels/dwconv/dwconv_s8.h"

namespace intaglio {
namespace {

constexpr int32_t kBlock = 64, kQuad = 4;

struct Vectors {
  __m512i v[kQuad];
};

// Each lane the bytes of one channel in four rows. Vector i has channels 4 i to 4 i + 3 of each sixteen.
inline Vectors interleave(__m512i r0, __m512i r1, __m512i r2, __m512i r3) {
  const __m512i a = _mm512_unpacklo_epi8(r0, r1), b = _mm512_unpackhi_epi8(r0, r1);
  const __m512i c = _mm512_unpacklo_epi8(r2, r3), d = _mm512_unpackhi_epi8(r2, r3);
  return {{_mm512_unpacklo_epi16(a, c), _mm512_unpackhi_epi16(a, c), _mm512_unpacklo_epi16(b, d),
           _mm512_unpackhi_epi16(b, d)}};
}

// `Full`: all channels of the block are there. Otherwise nothing past them is read or written.
template <bool Full>
inline __m512i load(const int8_t* p, __mmask64 mask) {
  return Full ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi8(mask, p);
}

// 32-bit elements of the block's channels, in the order of the vectors.
Vectors spread(const void* p, int32_t count) {
  alignas(64) int32_t all[kBlock] = {}, turned[kBlock];
  memcpy(all, p, static_cast<size_t>(count) * sizeof all[0]);
  for (int32_t i = 0; i < kBlock; ++i) turned[i] = all[i % 16 / 4 * 16 + i / 16 * 4 + i % 4];
  Vectors result;
  for (int32_t v = 0; v < kQuad; ++v) result.v[v] = _mm512_load_si512(turned + 16 * v);
  return result;
}

// Bias less 128 times the weights' sum, and the weights interleaved.
template <bool Full>
__attribute__((always_inline)) inline Vectors prepare(const DwconvS8Args& args, int32_t first, int32_t count,
                                                      __mmask64 mask, __m512i* out) {
  Vectors acc = spread(args.folded_bias + first, count), sums{};
  const __m512i ones = _mm512_set1_epi8(1), zero = _mm512_setzero_si512();
  for (int32_t t = 0; t < args.taps; t += kQuad) {
    __m512i rows[kQuad];
    for (int32_t j = 0; j < kQuad; ++j)
      rows[j] = t + j < args.taps
                    ? load<Full>(args.weights + static_cast<ptrdiff_t>(t + j) * args.channels + first, mask)
                    : zero;
    const Vectors w = interleave(rows[0], rows[1], rows[2], rows[3]);
    for (int32_t v = 0; v < kQuad; ++v) {
      _mm512_store_si512(out++, w.v[v]);
      sums.v[v] = _mm512_dpbusd_epi32(sums.v[v], ones, w.v[v]);
    }
  }
  for (int32_t v = 0; v < kQuad; ++v) acc.v[v] = _mm512_sub_epi32(acc.v[v], _mm512_slli_epi32(sums.v[v], 7));
  return acc;
}

// End, made of a call's arguments, stores a pixel's sums: store<Full>(pixel, first channel, mask, sums, multipliers), of the channels of the mask, in
// the order of the vectors.
template <bool Full, typename End, typename Args>
void block(const Args& args, int32_t first, int32_t count) {
  const __mmask64 mask = ~uint64_t{0} >> (kBlock - count);
  auto* const weights = static_cast<__m512i*>(args.scratch);
  const Vectors bias = prepare<Full>(args, first, count, mask, weights),
                factors = spread(args.multiplier + first, count);
  const End end(args);
  const __m512i flip = _mm512_set1_epi8(-128);
  const int32_t last = args.taps - 1;
  for (int32_t p = 0; p < args.pixels; ++p) {
    const int8_t* const* const rows = args.rows + static_cast<ptrdiff_t>(p) * args.taps;
    Vectors acc = bias;
    const __m512i* w = weights;
    for (int32_t t = 0; t < args.taps; t += kQuad, w += kQuad) {
      const auto row = [&](int32_t i) {  // past the last tap any one
        return _mm512_xor_si512(load<Full>(rows[i < last ? i : last] + first, mask), flip);
      };
      const Vectors x = interleave(row(t), row(t + 1), row(t + 2), row(t + 3));
#pragma GCC unroll 4
      for (int32_t v = 0; v < kQuad; ++v)
        acc.v[v] = _mm512_dpbusd_epi32(acc.v[v], x.v[v], _mm512_load_si512(w + v));
    }
    end.template store<Full>(p, first, mask, acc, factors);
  }
}

template <typename End, typename Args>
void for_blocks(const Args& args) {
  const int32_t c = args.channels;
  if (c < kBlock) return block<false, End>(args, 0, c);
  int32_t first = 0;
  for (; first + kBlock <= c; first += kBlock) block<true, End>(args, first, kBlock);
  if (first < c) block<true, End>(args, c - kBlock, kBlock);
}

class Codes {
 public:
  explicit Codes(const DwconvS8Args& args)
      : lo_(_mm512_set1_ps(args.requant.lo_minus_zero_point)),
        hi_(_mm512_set1_ps(args.requant.hi_minus_zero_point)),
        zero_point_(_mm512_set1_epi32(args.requant.zero_point)),
        args_(args) {}

  template <bool Full>
  void store(int32_t p, int32_t first, __mmask64 mask, const Vectors& acc, const Vectors& factors) const {
    __m512i q[kQuad];
#pragma GCC unroll 4
    for (int32_t v = 0; v < kQuad; ++v) {
      const __m512 real = _mm512_mul_ps(_mm512_cvtepi32_ps(acc.v[v]), _mm512_castsi512_ps(factors.v[v]));
      q[v] = _mm512_add_epi32(_mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(real, lo_), hi_)), zero_point_);
    }
    const __m512i codes = _mm512_packs_epi16(_mm512_packs_epi32(q[0], q[1]), _mm512_packs_epi32(q[2], q[3]));
    int8_t* const y = args_.output + static_cast<size_t>(p) * args_.output_stride + first;
    if (Full) {
      _mm512_storeu_si512(y, codes);
    } else {
      _mm512_mask_storeu_epi8(y, mask, codes);
    }
  }

 private:
  const __m512 lo_, hi_;
  const __m512i zero_point_;
  const DwconvS8Args& args_;
};

}  // namespace

void dwconv_s8_avx512vnni(const DwconvS8Args& args);

void dwconv_s8_avx512vnni(const DwconvS8Args& args) { for_blocks<Codes>(args); }

namespace {

class Reals {
 public:
  explicit Reals(const DwconvS8F32Args& args) : finish_(args.clamp), args_(args) {}

  template <bool Full>
  void store(int32_t p, int32_t first, __mmask64 mask, const Vectors& acc, const Vectors& factors) const {
    __m512 reals[kQuad];
#pragma GCC unroll 4
    for (int32_t v = 0; v < kQuad; ++v) reals[v] = finish_(acc.v[v], _mm512_castsi512_ps(factors.v[v]));
    order_quads(reals);
    float* const y = args_.y + static_cast<size_t>(p) * args_.y_stride + first;
#pragma GCC unroll 4
    for (int32_t v = 0; v < kQuad; ++v)
      _mm512_mask_storeu_ps(y + 16 * v, static_cast<__mmask16>(mask >> 16 * v), reals[v]);
  }

 private:
  const FinishSums finish_;
  const DwconvS8F32Args& args_;
};

}  // namespace

void dwconv_s8_f32_avx512vnni(const DwconvS8F32Args& args);

void dwconv_s8_f32_avx512vnni(const DwconvS8F32Args& args) { for_blocks<Reals>(args); }

}  // namespace intaglio

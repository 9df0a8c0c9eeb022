// Depthwise convolutions, int8 to int8 and to FP32.
//
// Sixteen channels at a time: the codes of two taps are interleaved, widened to int16 and summed by vpmaddwd.
// The weights of a block are widened once, into scratch [pairs of taps][16 channels][2]. With an odd number
// of taps the last one pairs with itself at weight zero. The last block of 16 and more channels overlaps the
// one before.
#include <immintrin.h>

#include "kernels/arithmetic/output_f32_avx2.h"
#include "kernels/dwconv/dwconv_s8.h"

namespace intaglio {
namespace {

constexpr int32_t kBlock = 16;

// `count` codes, count <= kBlock; nothing past them is read.
inline __m128i load(const int8_t* p, int32_t count) {
  if (count == kBlock) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  alignas(16) int8_t some[kBlock] = {};
  memcpy(some, p, static_cast<size_t>(count));
  return _mm_load_si128(reinterpret_cast<const __m128i*>(some));
}

// The first `count` of eight lanes.
inline __m256i lanes(int32_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

void widen_weights(const DwconvS8Args& args, int32_t first, int32_t count, __m256i* out) {
  for (int32_t t = 0; t < args.taps; t += 2) {
    const int8_t* const w = args.weights + static_cast<ptrdiff_t>(t) * args.channels + first;
    const __m128i w0 = load(w, count);
    const __m128i w1 = t + 1 < args.taps ? load(w + args.channels, count) : _mm_setzero_si128();
    _mm256_store_si256(out++, _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(w0, w1)));
    _mm256_store_si256(out++, _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(w0, w1)));
  }
}

// `Full`: count is kBlock.
template <bool Full, typename Store>
void block(const DwconvS8Args& args, int32_t first, int32_t some, Store store) {
  const int32_t count = Full ? kBlock : some;
  auto* const weights = static_cast<__m256i*>(args.scratch);
  widen_weights(args, first, count, weights);
  const __m256i low = lanes(count), high = lanes(count - 8);
  const bool upper = count > 8;
  const int32_t* const bias = args.folded_bias + first;
  const float* const multiplier = args.multiplier + first;
  const __m256i bias0 = _mm256_maskload_epi32(bias, low);
  const __m256i bias1 = upper ? _mm256_maskload_epi32(bias + 8, high) : _mm256_setzero_si256();
  const __m256 m0 = _mm256_maskload_ps(multiplier, low);
  const __m256 m1 = upper ? _mm256_maskload_ps(multiplier + 8, high) : _mm256_setzero_ps();
  for (int32_t p = 0; p < args.pixels; ++p) {
    const int8_t* const* const rows = args.rows + static_cast<ptrdiff_t>(p) * args.taps;
    __m256i acc0 = bias0, acc1 = bias1;
    const __m256i* w = weights;
    for (int32_t t = 0; t < args.taps; t += 2) {
      const __m128i x0 = load(rows[t] + first, count);
      const __m128i x1 = t + 1 < args.taps ? load(rows[t + 1] + first, count) : x0;
      const __m256i lo = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(x0, x1));
      const __m256i hi = _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(x0, x1));
      acc0 = _mm256_add_epi32(acc0, _mm256_madd_epi16(lo, _mm256_load_si256(w)));
      acc1 = _mm256_add_epi32(acc1, _mm256_madd_epi16(hi, _mm256_load_si256(w + 1)));
      w += 2;
    }
    store(p, first, count, acc0, m0, acc1, m1);
  }
}

// store(pixel, first channel, count, sums and multipliers of the first eight channels, of the next eight): of at most kBlock
// channels.
template <typename Store>
inline void for_blocks(const DwconvS8Args& args, Store store) {
  const int32_t c = args.channels;
  if (c < kBlock) return block<false>(args, 0, c, store);
  int32_t first = 0;
  for (; first + kBlock <= c; first += kBlock) block<true>(args, first, kBlock, store);
  if (first < c) block<true>(args, c - kBlock, kBlock, store);
}

inline __m256i requantize(__m256i acc, __m256 multiplier, const OutputS8& output) {
  __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(acc), multiplier);
  v = _mm256_max_ps(v, _mm256_set1_ps(output.lo_minus_zero_point));
  v = _mm256_min_ps(v, _mm256_set1_ps(output.hi_minus_zero_point));
  return _mm256_add_epi32(_mm256_cvtps_epi32(v), _mm256_set1_epi32(output.zero_point));
}

// Sixteen int32 codes, in order, to int8.
inline __m128i narrow(__m256i q0, __m256i q1) {
  const __m256i q = _mm256_permute4x64_epi64(_mm256_packs_epi32(q0, q1), 0xd8);
  return _mm_packs_epi16(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
}

}  // namespace

void dwconv_s8_avx2(const DwconvS8Args& args);

void dwconv_s8_avx2(const DwconvS8Args& args) {
  for_blocks(
      args, [&](int32_t p, int32_t first, int32_t count, __m256i acc0, __m256 m0, __m256i acc1, __m256 m1) {
        const __m128i codes = narrow(requantize(acc0, m0, args.requant), requantize(acc1, m1, args.requant));
        int8_t* const y = args.output + static_cast<size_t>(p) * args.output_stride + first;
        if (count == kBlock) {
          _mm_storeu_si128(reinterpret_cast<__m128i*>(y), codes);
        } else {
          alignas(16) int8_t all[kBlock];
          _mm_store_si128(reinterpret_cast<__m128i*>(all), codes);
          memcpy(y, all, static_cast<size_t>(count));
        }
      });
}

void dwconv_s8_f32_avx2(const DwconvS8F32Args& args);

void dwconv_s8_f32_avx2(const DwconvS8F32Args& args) {
  const FinishSums finish(args.clamp);
  for_blocks(args,
             [&](int32_t p, int32_t first, int32_t count, __m256i acc0, __m256 m0, __m256i acc1, __m256 m1) {
               float* const y = args.y + static_cast<size_t>(p) * args.y_stride + first;
               if (count == kBlock) {
                 _mm256_storeu_ps(y, finish(acc0, m0));
                 _mm256_storeu_ps(y + 8, finish(acc1, m1));
               } else {
                 _mm256_maskstore_ps(y, lanes(count), finish(acc0, m0));
                 if (count > 8) _mm256_maskstore_ps(y + 8, lanes(count - 8), finish(acc1, m1));
               }
             });
}

}  // namespace intaglio

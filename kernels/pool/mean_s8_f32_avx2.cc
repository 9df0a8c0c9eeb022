// Channels in vectors; the last vector of enough channels overlaps the one before.
#include "kernels/arithmetic/requant_avx2.h"
#include "kernels/pool/mean_s8_f32.h"

namespace intaglio {
namespace {

// Sixteen channels, or the first `count` of them.
void mean_16(const int8_t* x, const Taps& taps, int32_t folded, float scale, float* y, int32_t count) {
  const __m256 multiplier = _mm256_set1_ps(scale);
  __m256i low = _mm256_set1_epi32(folded), high = low;
  for_each_tap(taps, [&](ptrdiff_t offset) {
    const __m128i codes = avx2_load_some(x + offset, count);
    low = _mm256_add_epi32(low, _mm256_cvtepi8_epi32(codes));
    high = _mm256_add_epi32(high, _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(codes, codes)));
  });
  const __m256 means[2] = {_mm256_mul_ps(_mm256_cvtepi32_ps(low), multiplier),
                           _mm256_mul_ps(_mm256_cvtepi32_ps(high), multiplier)};
  if (count < 16) {
    memcpy(y, means, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  _mm256_storeu_ps(y, means[0]);
  _mm256_storeu_ps(y + 8, means[1]);
}

}  // namespace

MeanS8F32 mean_s8_f32_avx2;

void mean_s8_f32_avx2(const int8_t* x, const Taps& taps, int32_t x_zero_point, float multiplier, float* y,
                      int32_t channels) {
  const int32_t folded = -taps_count(taps) * x_zero_point;
  if (channels < 16) return mean_16(x, taps, folded, multiplier, y, channels);
  for (int32_t c = 0; c < channels; c += 16) {
    const int32_t from = c + 16 <= channels ? c : channels - 16;
    mean_16(x + from, taps, folded, multiplier, y + from, 16);
  }
}

}  // namespace intaglio

// Eight channels at a time; the last vector of a pixel's channels overlaps the one before. Of fewer channels as many whole pixels
// as eight lanes hold, from one window of the row that has all of their taps: each lane picks its element there.
#include <immintrin.h>

#include "kernels/resize/resize_few.h"

namespace intaglio {

void resize_rows_s8_avx2(const ResizeRowS8* rows, int32_t count);
void resize_rows_f32_avx2(const ResizeRowF32* rows, int32_t count);
void resize_rows_s8_scalar(const ResizeRowS8* rows, int32_t count);
void resize_rows_f32_scalar(const ResizeRowF32* rows, int32_t count);

namespace {

constexpr int32_t kLanes = 8;

// Calls function(x00, x01, x10, x11, weight, y) for the vectors of each pixel, which has one at least.
template <typename T, typename Weight, typename Function>
inline void for_each_vector(const ResizeRow<T, Weight>& row, Function function) {
  const ResizeRow<T, Weight> r = row;  // what is written to y changes none of it
  const int32_t last = r.channels - kLanes;
  T* y = r.y;
  for (int32_t o = 0; o < r.ow; ++o, y += r.channels) {
    const ResizeTap<Weight> tap = r.taps[o];
    const ptrdiff_t first = static_cast<ptrdiff_t>(tap.first) * r.channels;
    const ptrdiff_t second = static_cast<ptrdiff_t>(tap.second) * r.channels;
    for (ptrdiff_t c = 0;; c = c + kLanes < last ? c + kLanes : last) {
      function(r.top + first + c, r.top + second + c, r.bottom + first + c, r.bottom + second + c, tap.weight,
               y + c);
      if (c == last) break;
    }
  }
}

inline __m128i load_eight(const int8_t* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }

inline void store_codes(__m256i sums, int8_t* y) {
  const __m128i codes = _mm_packs_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm_packs_epi16(codes, codes));
}

inline void store_reals(__m256 x00, __m256 x01, __m256 x10, __m256 x11, __m256 wx, __m256 wy, float* y) {
  const __m256 t = _mm256_fmadd_ps(wx, _mm256_sub_ps(x01, x00), x00),
               b = _mm256_fmadd_ps(wx, _mm256_sub_ps(x11, x10), x10),
               v = _mm256_fmadd_ps(wy, _mm256_sub_ps(b, t), t),
               nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
  const __m256 is_number = _mm256_cmp_ps(v, v, _CMP_ORD_Q);
  _mm256_storeu_ps(y, _mm256_blendv_ps(nan, _mm256_add_ps(v, _mm256_setzero_ps()), is_number));
}

// The taps of eight pixels, which stand one behind the other as three numbers each.
struct EightTaps {
  __m256i first, second, weight;
};
inline EightTaps load_taps(const int32_t* taps) {
  const __m256i *const p = reinterpret_cast<const __m256i*>(taps), a = _mm256_loadu_si256(p),
                       a1 = _mm256_loadu_si256(p + 1), a2 = _mm256_loadu_si256(p + 2);
  // Number n of the 24 stands in lane n % 8; those of a kind are three apart, and each in a lane of its own.
  const auto kind = [](__m256i x, __m256i y, __m256i z, __m256i order) {
    return _mm256_permutevar8x32_epi32(_mm256_blend_epi32(_mm256_blend_epi32(x, y, 0x92), z, 0x24), order);
  };
  return {kind(a, a1, a2, _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5)),
          kind(a2, a, a1, _mm256_setr_epi32(1, 4, 7, 2, 5, 0, 3, 6)),
          kind(a1, a2, a, _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7))};
}

// Which pixel of a vector each lane is of, and which of its channels. Lanes behind the last whole pixel hold anything.
struct Lanes {
  explicit Lanes(int32_t channels) {
    alignas(32) int32_t of_pixel[kLanes], of_channel[kLanes];
    for (int32_t i = 0; i < kLanes; ++i) {
      of_pixel[i] = i / channels;
      of_channel[i] = i % channels;
    }
    pixel = _mm256_load_si256(reinterpret_cast<const __m256i*>(of_pixel));
    channel = _mm256_load_si256(reinterpret_cast<const __m256i*>(of_channel));
  }
  __m256i pixel, channel;
};

constexpr int32_t kWindowS8 = 16;

// Eight lanes: their elements, a first and a second each, in the window at `at`, and their weights.
struct PicksS8 {
  bool fit;
  ptrdiff_t at;
  __m128i pairs;
  __m256i weights;
};

void resize_few_s8(const ResizeRowS8* rows, int32_t count) {
  const int32_t channels = rows[0].channels;
  const ptrdiff_t last = readable(rows[0]) - kWindowS8;
  const Lanes lanes(channels);
  const __m256i half = _mm256_set1_epi32(1 << 21), each = _mm256_set1_epi32(channels),
                one = _mm256_set1_epi32(kResizeOne);
  for_each_of_few<kLanes>(
      rows, count, resize_rows_s8_scalar, load_taps,
      [&](const ResizeTapS8* tap, int32_t pixels, const EightTaps& taps, int32_t place) {
        const ptrdiff_t begin = ptrdiff_t{tap->first} * channels;
        PicksS8 picks;
        picks.at = begin < last ? begin : last;
        picks.fit = (ptrdiff_t{tap[pixels - 1].second} + 1) * channels - picks.at <= kWindowS8;
        const __m256i pixel = _mm256_add_epi32(lanes.pixel, _mm256_set1_epi32(place)),
                      base =
                          _mm256_sub_epi32(lanes.channel, _mm256_set1_epi32(static_cast<int32_t>(picks.at)));
        const auto element = [&](__m256i of_pixels) {
          return _mm256_add_epi32(_mm256_mullo_epi32(_mm256_permutevar8x32_epi32(of_pixels, pixel), each),
                                  base);
        };
        const __m256i both = _mm256_or_si256(element(taps.first), _mm256_slli_epi32(element(taps.second), 8));
        picks.pairs = _mm_packus_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
        const __m256i wx = _mm256_permutevar8x32_epi32(taps.weight, pixel);
        picks.weights = _mm256_or_si256(_mm256_sub_epi32(one, wx), _mm256_slli_epi32(wx, 16));
        return picks;
      },
      [&](const PicksS8& picks, const ResizeRowS8& row, int8_t* y) {
        const auto between = [&](const int8_t* line) {
          const __m128i window = _mm_loadu_si128(reinterpret_cast<const __m128i*>(line + picks.at));
          return _mm256_madd_epi16(_mm256_cvtepi8_epi16(_mm_shuffle_epi8(window, picks.pairs)),
                                   picks.weights);
        };
        const __m256i t = _mm256_mullo_epi32(between(row.top),
                                             _mm256_set1_epi32(kResizeOne - row.row_weight)),
                      b = _mm256_mullo_epi32(between(row.bottom), _mm256_set1_epi32(row.row_weight));
        store_codes(_mm256_srai_epi32(_mm256_add_epi32(_mm256_add_epi32(t, b), half), 22), y);
      });
}

constexpr int32_t kWindowF32 = 8;

// Eight lanes: the first elements in the window at `at_first`, the second ones in that at `at_second`, and weights.
struct PicksF32 {
  bool fit;
  ptrdiff_t at_first, at_second;
  __m256i first, second;
  __m256 wx;
};

void resize_few_f32(const ResizeRowF32* rows, int32_t count) {
  const int32_t channels = rows[0].channels;
  const ptrdiff_t last = readable(rows[0]) - kWindowF32;
  const Lanes lanes(channels);
  const __m256i each = _mm256_set1_epi32(channels);
  for_each_of_few<kLanes>(
      rows, count, resize_rows_f32_scalar, load_taps,
      [&](const ResizeTapF32* tap, int32_t pixels, const EightTaps& taps, int32_t place) {
        const ptrdiff_t first = ptrdiff_t{tap->first} * channels, second = ptrdiff_t{tap->second} * channels;
        PicksF32 picks;
        picks.at_first = first < last ? first : last;
        picks.at_second = second < last ? second : last;
        picks.fit = (ptrdiff_t{tap[pixels - 1].first} + 1) * channels - picks.at_first <= kWindowF32 &&
                    (ptrdiff_t{tap[pixels - 1].second} + 1) * channels - picks.at_second <= kWindowF32;
        const __m256i pixel = _mm256_add_epi32(lanes.pixel, _mm256_set1_epi32(place));
        const auto element = [&](__m256i of_pixels, ptrdiff_t at) {
          const __m256i of_lanes = _mm256_permutevar8x32_epi32(of_pixels, pixel);
          return _mm256_add_epi32(
              _mm256_mullo_epi32(of_lanes, each),
              _mm256_sub_epi32(lanes.channel, _mm256_set1_epi32(static_cast<int32_t>(at))));
        };
        picks.first = element(taps.first, picks.at_first);
        picks.second = element(taps.second, picks.at_second);
        picks.wx = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(taps.weight, pixel));
        return picks;
      },
      [&](const PicksF32& picks, const ResizeRowF32& row, float* y) {
        const auto picked = [](const float* window, __m256i elements) {
          return _mm256_permutevar8x32_ps(_mm256_loadu_ps(window), elements);
        };
        store_reals(
            picked(row.top + picks.at_first, picks.first), picked(row.top + picks.at_second, picks.second),
            picked(row.bottom + picks.at_first, picks.first),
            picked(row.bottom + picks.at_second, picks.second), picks.wx, _mm256_set1_ps(row.row_weight), y);
      });
}

void resize_many_s8(const ResizeRowS8& row) {
  const __m256i wy = _mm256_set1_epi32(row.row_weight), vy = _mm256_set1_epi32(kResizeOne - row.row_weight),
                half = _mm256_set1_epi32(1 << 21);
  for_each_vector(row, [&](const int8_t* x00, const int8_t* x01, const int8_t* x10, const int8_t* x11,
                           int32_t wx, int8_t* y) {
    const __m256i weights = _mm256_set1_epi32((kResizeOne - wx) | wx << 16);
    const auto between = [&](const int8_t* first, const int8_t* second) {
      const __m128i pairs = _mm_unpacklo_epi8(load_eight(first), load_eight(second));
      return _mm256_madd_epi16(_mm256_cvtepi8_epi16(pairs), weights);
    };
    const __m256i t = _mm256_mullo_epi32(between(x00, x01), vy),
                  b = _mm256_mullo_epi32(between(x10, x11), wy);
    store_codes(_mm256_srai_epi32(_mm256_add_epi32(_mm256_add_epi32(t, b), half), 22), y);
  });
}

void resize_many_f32(const ResizeRowF32& row) {
  const __m256 wy = _mm256_set1_ps(row.row_weight);
  for_each_vector(row, [&](const float* x00, const float* x01, const float* x10, const float* x11,
                           float weight, float* y) {
    store_reals(_mm256_loadu_ps(x00), _mm256_loadu_ps(x01), _mm256_loadu_ps(x10), _mm256_loadu_ps(x11),
                _mm256_set1_ps(weight), wy, y);
  });
}

}  // namespace

void resize_rows_s8_avx2(const ResizeRowS8* rows, int32_t count) {
  if (takes_windows(*rows, kLanes, kWindowS8)) return resize_few_s8(rows, count);
  if (rows->channels < kLanes) return resize_rows_s8_scalar(rows, count);
  for (; count > 0; --count, ++rows) resize_many_s8(*rows);
}

void resize_rows_f32_avx2(const ResizeRowF32* rows, int32_t count) {
  if (takes_windows(*rows, kLanes, kWindowF32)) return resize_few_f32(rows, count);
  if (rows->channels < kLanes) return resize_rows_f32_scalar(rows, count);
  for (; count > 0; --count, ++rows) resize_many_f32(*rows);
}

}  // namespace intaglio

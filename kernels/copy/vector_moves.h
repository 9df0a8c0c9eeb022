// Moves of sixteen bytes at a time, for machines whose every processor has such vectors: x86-64 and AArch64. Others move
// element by element, and hold nothing of this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace intaglio {

#if defined(__x86_64__) || defined(__aarch64__)
inline constexpr bool kVectorMoves = true;

#if defined(__x86_64__)
using Moved = __m128i;

// The lower halves' elements in turn, and the upper halves'.
template <typename T>
static inline Moved zip_low(Moved a, Moved b) {
  return sizeof(T) == 1   ? _mm_unpacklo_epi8(a, b)
         : sizeof(T) == 2 ? _mm_unpacklo_epi16(a, b)
                          : _mm_unpacklo_epi32(a, b);
}
template <typename T>
static inline Moved zip_high(Moved a, Moved b) {
  return sizeof(T) == 1   ? _mm_unpackhi_epi8(a, b)
         : sizeof(T) == 2 ? _mm_unpackhi_epi16(a, b)
                          : _mm_unpackhi_epi32(a, b);
}
// Every second element of both, from the first or from the second on.
template <typename T>
static inline Moved even_elements(Moved a, Moved b) {
  if (sizeof(T) == 1) {
    const Moved low = _mm_set1_epi16(255);
    return _mm_packus_epi16(_mm_and_si128(a, low), _mm_and_si128(b, low));
  }
  if (sizeof(T) == 2)
    return _mm_packs_epi32(_mm_srai_epi32(_mm_slli_epi32(a, 16), 16),
                           _mm_srai_epi32(_mm_slli_epi32(b, 16), 16));
  return _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b), 0x88));
}
template <typename T>
static inline Moved odd_elements(Moved a, Moved b) {
  if (sizeof(T) == 1) return _mm_packus_epi16(_mm_srli_epi16(a, 8), _mm_srli_epi16(b, 8));
  if (sizeof(T) == 2) return _mm_packs_epi32(_mm_srai_epi32(a, 16), _mm_srai_epi32(b, 16));
  return _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b), 0xdd));
}
#else
using Moved = uint8x16_t;

template <typename T>
static inline Moved zip_low(Moved a, Moved b) {
  if (sizeof(T) == 1) return vzip1q_u8(a, b);
  if (sizeof(T) == 2)
    return vreinterpretq_u8_u16(vzip1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
  return vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}
template <typename T>
static inline Moved zip_high(Moved a, Moved b) {
  if (sizeof(T) == 1) return vzip2q_u8(a, b);
  if (sizeof(T) == 2)
    return vreinterpretq_u8_u16(vzip2q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
  return vreinterpretq_u8_u32(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}
template <typename T>
static inline Moved even_elements(Moved a, Moved b) {
  if (sizeof(T) == 1) return vuzp1q_u8(a, b);
  if (sizeof(T) == 2)
    return vreinterpretq_u8_u16(vuzp1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
  return vreinterpretq_u8_u32(vuzp1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}
template <typename T>
static inline Moved odd_elements(Moved a, Moved b) {
  if (sizeof(T) == 1) return vuzp2q_u8(a, b);
  if (sizeof(T) == 2)
    return vreinterpretq_u8_u16(vuzp2q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
  return vreinterpretq_u8_u32(vuzp2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}
#endif

template <typename Word>
static inline Word load_moved(const void* p) {
  Word word;
  memcpy(&word, p, sizeof word);
  return word;
}
template <typename Word>
static inline void store_moved(void* p, Word word) {
  memcpy(p, &word, sizeof word);
}

// Rows of a word to two words: the last word ends with the row.
template <typename Word>
static inline void copy_short_rows(const uint8_t* x, uint8_t* y, int32_t rows, ptrdiff_t last,
                                   ptrdiff_t x_pitch, ptrdiff_t y_pitch) {
  for (int32_t r = 0; r < rows; ++r, x += x_pitch, y += y_pitch) {
    const Word first = load_moved<Word>(x), end = load_moved<Word>(x + last);
    store_moved(y, first);
    store_moved(y + last, end);
  }
}

// Rows of 1 byte and more. A row of more than a few vectors is worth a call of memcpy.
static inline void copy_rows(const uint8_t* x, uint8_t* y, int32_t rows, int32_t bytes, ptrdiff_t x_pitch,
                             ptrdiff_t y_pitch) {
  constexpr int32_t kVector = 16, kLong = 16 * kVector;
  if (bytes > kLong) {
    for (int32_t r = 0; r < rows; ++r, x += x_pitch, y += y_pitch) memcpy(y, x, static_cast<size_t>(bytes));
  } else if (bytes > 2 * kVector) {
    for (int32_t r = 0; r < rows; ++r, x += x_pitch, y += y_pitch) {
      const Moved end = load_moved<Moved>(x + bytes - kVector);
      for (int32_t i = 0; i < bytes - kVector; i += kVector) store_moved(y + i, load_moved<Moved>(x + i));
      store_moved(y + bytes - kVector, end);
    }
  } else if (bytes >= kVector) {
    copy_short_rows<Moved>(x, y, rows, bytes - kVector, x_pitch, y_pitch);
  } else if (bytes >= 8) {
    copy_short_rows<uint64_t>(x, y, rows, bytes - 8, x_pitch, y_pitch);
  } else if (bytes >= 4) {
    copy_short_rows<uint32_t>(x, y, rows, bytes - 4, x_pitch, y_pitch);
  } else if (bytes >= 2) {
    copy_short_rows<uint16_t>(x, y, rows, bytes - 2, x_pitch, y_pitch);
  } else {
    for (int32_t r = 0; r < rows; ++r, x += x_pitch, y += y_pitch) *y = *x;
  }
}

template <typename T>
inline constexpr int32_t kMovedLanes = 16 / static_cast<int32_t>(sizeof(T));

static constexpr int32_t log2_of(int32_t power) { return power <= 1 ? 0 : 1 + log2_of(power / 2); }

// The elements of kCount vectors as one list: its halves in turn, kRounds times. So kCount rows become columns by
// log2(kCount) rounds, and kCount columns become rows by log2(kMovedLanes).
template <typename T, int32_t kCount, int32_t kRounds>
static inline void zip_halves(Moved (&v)[kCount]) {
#pragma GCC unroll 4
  for (int32_t round = 0; round < kRounds; ++round) {
    Moved next[kCount];
#pragma GCC unroll 8
    for (int32_t i = 0; i < kCount / 2; ++i) {
      next[2 * i] = zip_low<T>(v[i], v[i + kCount / 2]);
      next[2 * i + 1] = zip_high<T>(v[i], v[i + kCount / 2]);
    }
#pragma GCC unroll 16
    for (int32_t i = 0; i < kCount; ++i) v[i] = next[i];
  }
}

// Below: y[r * y_step + c] = x[r + c * x_step] for r < rows, c < columns. What is left of a side overlaps the vector before.

// columns <= kCount <= kMovedLanes, rows >= kMovedLanes, and every row of y has room for kCount elements, y_step = kCount.
template <typename T, int32_t kCount>
static inline void transpose_whole_rows(const T* x, T* y, int32_t rows, int32_t columns, ptrdiff_t x_step) {
  constexpr int32_t kStep = kMovedLanes<T>;
  for (int32_t i = 0; i < rows; i += kStep) {
    const int32_t r = i < rows - kStep ? i : rows - kStep;
    Moved v[kCount];
#pragma GCC unroll 16
    for (int32_t c = 0; c < kCount; ++c) v[c] = load_moved<Moved>(x + (c < columns ? c : 0) * x_step + r);
    zip_halves<T, kCount, log2_of(kCount)>(v);
#pragma GCC unroll 16
    for (int32_t c = 0; c < kCount; ++c) store_moved(y + ptrdiff_t{r} * kCount + c * kStep, v[c]);
  }
}

// columns <= kCount <= kMovedLanes, rows >= kMovedLanes
template <typename T, int32_t kCount>
__attribute__((noinline)) static void transpose_few_columns(const T* x, T* y, int32_t rows, int32_t columns,
                                                            ptrdiff_t x_step, ptrdiff_t y_step) {
  if (columns == kCount && y_step == kCount)
    return transpose_whole_rows<T, kCount>(x, y, rows, columns, x_step);
  constexpr int32_t kStep = kMovedLanes<T>, kMost = 16 * kStep;
  constexpr auto kSize = static_cast<ptrdiff_t>(sizeof(T));
  T together[kCount * kMost];
  for (int32_t i = 0; i < rows; i += kMost) {
    const int32_t r = i < rows - kStep ? i : rows - kStep, count = rows - r < kMost ? rows - r : kMost;
    transpose_whole_rows<T, kCount>(x + r, together, count, columns, x_step);
    copy_rows(reinterpret_cast<const uint8_t*>(together), reinterpret_cast<uint8_t*>(y + r * y_step), count,
              columns * static_cast<int32_t>(kSize), kCount * kSize, y_step * kSize);
  }
}

// rows <= kCount <= kMovedLanes, columns >= kMovedLanes, and every column of x holds kCount elements, x_step = kCount.
template <typename T, int32_t kCount>
static inline void transpose_whole_columns(const T* x, T* y, int32_t rows, int32_t columns,
                                           ptrdiff_t y_step) {
  constexpr int32_t kStep = kMovedLanes<T>;
  for (int32_t i = 0; i < columns; i += kStep) {
    const int32_t c = i < columns - kStep ? i : columns - kStep;
    Moved v[kCount];
#pragma GCC unroll 16
    for (int32_t r = 0; r < kCount; ++r) v[r] = load_moved<Moved>(x + ptrdiff_t{c} * kCount + r * kStep);
    zip_halves<T, kCount, log2_of(kStep)>(v);
#pragma GCC unroll 16
    for (int32_t r = 0; r < kCount; ++r)
      if (r < rows) store_moved(y + r * y_step + c, v[r]);
  }
}

// rows <= kCount <= kMovedLanes, columns >= kMovedLanes. Columns are put together first, many at once: a vector must not be read while
// its parts are on their way to the cache.
template <typename T, int32_t kCount>
__attribute__((noinline)) static void transpose_few_rows(const T* x, T* y, int32_t rows, int32_t columns,
                                                         ptrdiff_t x_step, ptrdiff_t y_step) {
  if (rows == kCount && x_step == kCount)
    return transpose_whole_columns<T, kCount>(x, y, rows, columns, y_step);
  constexpr int32_t kStep = kMovedLanes<T>, kMost = 16 * kStep;
  constexpr auto kSize = static_cast<ptrdiff_t>(sizeof(T));
  T together[kCount * kMost] = {};
  for (int32_t i = 0; i < columns; i += kMost) {
    const int32_t c = i < columns - kStep ? i : columns - kStep,
                  count = columns - c < kMost ? columns - c : kMost;
    copy_rows(reinterpret_cast<const uint8_t*>(x + c * x_step), reinterpret_cast<uint8_t*>(together), count,
              rows * static_cast<int32_t>(kSize), x_step * kSize, kCount * kSize);
    transpose_whole_columns<T, kCount>(together, y + c, rows, count, y_step);
  }
}

// rows and columns >= kMovedLanes. Lines of x are read whole.
template <typename T>
static inline void transpose_tiles(const T* x, T* y, int32_t rows, int32_t columns, ptrdiff_t x_step,
                                   ptrdiff_t y_step) {
  constexpr int32_t kStep = kMovedLanes<T>, kLine = 4 * kStep;
  for (int32_t first = 0; first < rows; first += kLine) {
    const int32_t end = rows - first < kLine ? rows : first + kLine;
    for (int32_t j = 0; j < columns; j += kStep) {
      const int32_t c = j < columns - kStep ? j : columns - kStep;
      for (int32_t i = first; i < end; i += kStep) {
        const int32_t r = i < rows - kStep ? i : rows - kStep;
        Moved v[kStep];
#pragma GCC unroll 16
        for (int32_t k = 0; k < kStep; ++k) v[k] = load_moved<Moved>(x + (c + k) * x_step + r);
        zip_halves<T, kStep, log2_of(kStep)>(v);
#pragma GCC unroll 16
        for (int32_t k = 0; k < kStep; ++k) store_moved(y + (r + k) * y_step + c, v[k]);
      }
    }
  }
}

template <typename T>
static inline void transpose_matrix(const T* x, T* y, int32_t rows, int32_t columns, ptrdiff_t x_step,
                                    ptrdiff_t y_step) {
  constexpr int32_t kStep = kMovedLanes<T>;
  if (rows >= kStep && columns >= kStep) {
    transpose_tiles(x, y, rows, columns, x_step, y_step);
  } else if (rows >= kStep && columns > 1) {
    if (columns == 2)
      transpose_few_columns<T, 2>(x, y, rows, columns, x_step, y_step);
    else if (columns <= 4 || kStep == 4)
      transpose_few_columns<T, 4>(x, y, rows, columns, x_step, y_step);
    else if (columns <= 8 || kStep == 8)
      transpose_few_columns < T, kStep<8 ? kStep : 8>(x, y, rows, columns, x_step, y_step);
    else
      transpose_few_columns<T, kStep>(x, y, rows, columns, x_step, y_step);
  } else if (columns >= kStep && rows > 1) {
    if (rows == 2)
      transpose_few_rows<T, 2>(x, y, rows, columns, x_step, y_step);
    else if (rows <= 4 || kStep == 4)
      transpose_few_rows<T, 4>(x, y, rows, columns, x_step, y_step);
    else if (rows <= 8 || kStep == 8)
      transpose_few_rows < T, kStep<8 ? kStep : 8>(x, y, rows, columns, x_step, y_step);
    else
      transpose_few_rows<T, kStep>(x, y, rows, columns, x_step, y_step);
  } else {
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t c = 0; c < columns; ++c) y[r * y_step + c] = x[r + c * x_step];
  }
}

// y[i] = x[i * kStride] for i < n, kStride 2 or 4. The last vector ends with the last element, behind which nothing is read.
template <typename T, int32_t kStride>
static inline void copy_every(const T* x, T* y, int32_t n) {
  constexpr int32_t kStep = kMovedLanes<T>;
  const auto load = [](const T* from, Moved(&v)[4]) {
#pragma GCC unroll 4
    for (int32_t k = 0; k < kStride; ++k) v[k] = load_moved<Moved>(from + k * kStep);
  };
  Moved v[4];
  int32_t i = 0;
  for (; i + kStep < n; i += kStep) {
    load(x + ptrdiff_t{i} * kStride, v);
    store_moved(y + i, kStride == 2
                           ? even_elements<T>(v[0], v[1])
                           : even_elements<T>(even_elements<T>(v[0], v[1]), even_elements<T>(v[2], v[3])));
  }
  if (i == 0) {
    for (; i < n; ++i) y[i] = x[ptrdiff_t{i} * kStride];
    return;
  }
  i = n - kStep;
  load(x + ptrdiff_t{i} * kStride - (kStride - 1), v);
  store_moved(y + i, kStride == 2
                         ? odd_elements<T>(v[0], v[1])
                         : odd_elements<T>(odd_elements<T>(v[0], v[1]), odd_elements<T>(v[2], v[3])));
}

// y[r * y_row + c * y_step] = x[r * x_row + c * x_step]
template <typename T>
static inline void copy_plane(const T* x, T* y, int32_t rows, int32_t columns, ptrdiff_t x_row,
                              ptrdiff_t x_step, ptrdiff_t y_row, ptrdiff_t y_step) {
  constexpr auto kSize = static_cast<ptrdiff_t>(sizeof(T));
  if (x_step == 1 && y_step == 1)
    return copy_rows(reinterpret_cast<const uint8_t*>(x), reinterpret_cast<uint8_t*>(y), rows,
                     columns * static_cast<int32_t>(kSize), x_row * kSize, y_row * kSize);
  if (x_row == 1 && y_step == 1) return transpose_matrix(x, y, rows, columns, x_step, y_row);
  if (x_step == 1 && y_row == 1) return transpose_matrix(x, y, columns, rows, x_row, y_step);
  for (int32_t r = 0; r < rows; ++r, x += x_row, y += y_row) {
    if (x_step == 2 && y_step == 1)
      copy_every<T, 2>(x, y, columns);
    else if (x_step == 4 && y_step == 1)
      copy_every<T, 4>(x, y, columns);
    else
      for (int32_t c = 0; c < columns; ++c) y[c * y_step] = x[c * x_step];
  }
}

#else
inline constexpr bool kVectorMoves = false;
#endif

}  // namespace intaglio

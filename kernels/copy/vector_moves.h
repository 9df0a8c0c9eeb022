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
#define ITG_VECTOR_MOVES 1

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
  for (; rows > 0; --rows, x += x_pitch, y += y_pitch) {
    const Word first = load_moved<Word>(x), end = load_moved<Word>(x + last);
    store_moved(y, first);
    store_moved(y + last, end);
  }
}

static constexpr int32_t log2_of(int32_t power) { return power <= 1 ? 0 : 1 + log2_of(power / 2); }

// The columns as one list: its halves in turn. Each of the rounds doubles how many elements of a row stand together.
template <typename T, int32_t kCount, int32_t kRounds>
static inline void zip_halves(Moved (&v)[kCount]) {
#pragma GCC unroll 4
  for (int32_t round = 0; round < kRounds; ++round) {
    Moved zipped[kCount];
#pragma GCC unroll 8
    for (int32_t c = 0; c < kCount / 2; ++c) {
      zipped[2 * c] = zip_low<T>(v[c], v[c + kCount / 2]);
      zipped[2 * c + 1] = zip_high<T>(v[c], v[c + kCount / 2]);
    }
#pragma GCC unroll 16
    for (int32_t c = 0; c < kCount; ++c) v[c] = zipped[c];
  }
}

// From here on pitches and steps are in bytes, and an element has `size` of them: 1, 2 or 4.

// y[r, c] = x[r + c * x_step] in vectors of rows, at least one; the last overlaps the one before. kCount columns: as many as
// a vector has elements, with rows y_row apart, or fewer, and rows that follow each other. Columns from `columns` on hold
// anything. Planes follow at x_plane and y_plane.
template <typename T, int32_t kCount>
__attribute__((noinline)) static void columns_to_rows(const uint8_t* x, uint8_t* y, int32_t rows,
                                                      int32_t columns, ptrdiff_t x_step, ptrdiff_t y_row,
                                                      int32_t planes, ptrdiff_t x_plane, ptrdiff_t y_plane) {
  constexpr int32_t kSize = sizeof(T), kLanes = 16 / kSize;
  const ptrdiff_t next = kCount == kLanes ? y_row : 16;
  for (; planes > 0; --planes, x += x_plane, y += y_plane)
    for (int32_t i = 0; i < rows; i += kLanes) {
      const int32_t r = i < rows - kLanes ? i : rows - kLanes;
      Moved v[kCount];
#pragma GCC unroll 16
      for (int32_t c = 0; c < kCount; ++c)
        v[c] = load_moved<Moved>(x + ptrdiff_t{r} * kSize + (c < columns ? c * x_step : 0));
      zip_halves<T, kCount, log2_of(kCount)>(v);
      uint8_t* const to = y + ptrdiff_t{r} * y_row;
#pragma GCC unroll 16
      for (int32_t c = 0; c < kCount; ++c) store_moved(to + c * next, v[c]);
    }
}

// The fewest columns that there is a form for. Few forms are few bytes of code.
static inline int32_t form_of(int32_t columns, int32_t size) {
  return columns == 2 ? 2 : columns <= 4 && size != 2 ? 4 : 16 / size;
}

__attribute__((noinline)) static void columns_to_rows(const uint8_t* x, uint8_t* y, int32_t rows,
                                                      int32_t columns, ptrdiff_t x_step, ptrdiff_t y_row,
                                                      int32_t size, int32_t form, int32_t planes = 1,
                                                      ptrdiff_t x_plane = 0, ptrdiff_t y_plane = 0) {
  const bool is_pair = form == 2;
  const auto move = size == 4   ? is_pair ? columns_to_rows<uint32_t, 2> : columns_to_rows<uint32_t, 4>
                      : size == 2 ? is_pair ? columns_to_rows<uint16_t, 2> : columns_to_rows<uint16_t, 8>
                      : is_pair ? columns_to_rows<uint8_t, 2>
                    : form == 4 ? columns_to_rows<uint8_t, 4>
                                : columns_to_rows<uint8_t, 16>;
  move(x, y, rows, columns, x_step, y_row, planes, x_plane, y_plane);
}

// y[i] = x[2 * i] for i < n. The last vector ends with the last element, behind which nothing is read.
template <typename T>
static inline void copy_every_second(const uint8_t* from, uint8_t* to, int32_t n) {
  constexpr int32_t kStep = 16 / static_cast<int32_t>(sizeof(T));
  const T* const x = reinterpret_cast<const T*>(from);
  T* const y = reinterpret_cast<T*>(to);
  int32_t i = 0;
  for (; i + kStep < n; i += kStep)
    store_moved(y + i, even_elements<T>(load_moved<Moved>(x + 2 * ptrdiff_t{i}),
                                        load_moved<Moved>(x + 2 * ptrdiff_t{i} + kStep)));
  if (i > 0) {
    const T* const end = x + 2 * ptrdiff_t{n} - 1;
    store_moved(y + n - kStep,
                odd_elements<T>(load_moved<Moved>(end - 2 * kStep), load_moved<Moved>(end - kStep)));
  } else {
    for (; i < n; ++i) y[i] = x[2 * ptrdiff_t{i}];
  }
}

template <typename T>
static inline void copy_elements(const uint8_t* x, uint8_t* y, int32_t n, ptrdiff_t x_step,
                                 ptrdiff_t y_step) {
  if (x_step == 2 * ptrdiff_t{sizeof(T)} && y_step == ptrdiff_t{sizeof(T)})
    return copy_every_second<T>(x, y, n);
  for (int32_t i = 0; i < n; ++i, x += x_step, y += y_step) store_moved(y, load_moved<T>(x));
}

// Planes: y[r * y_row + c * y_step] = x[r * x_row + c * x_step] for r < rows, c < columns, and so on behind pitches of their own.
struct MovedPlanes {
  const uint8_t* x;
  uint8_t* y;
  int32_t rows, columns;
  ptrdiff_t x_row, x_step, y_row, y_step;
  int32_t planes;
  ptrdiff_t x_plane, y_plane;
};

static inline void copy_plane_by_elements(const MovedPlanes& p, int32_t size) {
  const uint8_t* x = p.x;
  uint8_t* y = p.y;
  for (int32_t r = 0; r < p.rows; ++r, x += p.x_row, y += p.y_row) {
    if (size == 1)
      copy_elements<uint8_t>(x, y, p.columns, p.x_step, p.y_step);
    else if (size == 2)
      copy_elements<uint16_t>(x, y, p.columns, p.x_step, p.y_step);
    else
      copy_elements<uint32_t>(x, y, p.columns, p.x_step, p.y_step);
  }
}

// Where x_row and y_step are one element: a matrix that is turned.
static inline void transpose_plane(const MovedPlanes& p, int32_t size) {
  const int32_t lanes = 16 / size;
  if (p.rows < lanes || p.columns == 1) return copy_plane_by_elements(p, size);
  if (p.columns < lanes) {
    // Through a buffer, many rows at once.
    const int32_t form = form_of(p.columns, size);
    const ptrdiff_t pitch = ptrdiff_t{form} * size;
    uint8_t together[16 * 16 * 16];
    const int32_t most = 16 * lanes;
    for (int32_t i = 0; i < p.rows; i += most) {
      const int32_t r = i < p.rows - lanes ? i : p.rows - lanes, some = p.rows - r < most ? p.rows - r : most;
      columns_to_rows(p.x + ptrdiff_t{r} * size, together, some, p.columns, p.x_step, pitch, size, form);
      copy_rows(together, p.y + r * p.y_row, some, p.columns * size, pitch, p.y_row);
    }
    return;
  }
  // Lines of x are read whole, and the rows of y stay in the first cache.
  const int32_t line = 4 * lanes;
  for (int32_t i = 0; i < p.rows; i += line) {
    const int32_t r = i < p.rows - lanes ? i : p.rows - lanes, some = p.rows - r < line ? p.rows - r : line;
    const uint8_t* const x = p.x + ptrdiff_t{r} * size;
    uint8_t* const y = p.y + r * p.y_row;
    columns_to_rows(x, y, some, lanes, p.x_step, p.y_row, size, lanes, p.columns / lanes, lanes * p.x_step,
                    16);
    const ptrdiff_t last = p.columns - lanes;
    if (p.columns % lanes != 0)
      columns_to_rows(x + last * p.x_step, y + last * size, some, lanes, p.x_step, p.y_row, size, lanes);
  }
}

// Where x_step and y_row are one element, rows and columns change places.
static inline MovedPlanes turned(const MovedPlanes& p) {
  return {p.x, p.y, p.columns, p.rows, p.x_step, p.x_row, p.y_step, p.y_row, p.planes, p.x_plane, p.y_plane};
}

static inline void copy_planes(MovedPlanes p, int32_t size) {
  const bool is_copied = p.x_step == size && p.y_step == size;
  if (!is_copied && p.x_step == size && p.y_row == size) p = turned(p);
  const bool is_turned = !is_copied && p.x_row == size && p.y_step == size;
  // Few columns whose rows follow each other: no step in between.
  if (is_turned && p.rows >= 16 / size && p.columns > 1 && p.columns < 16 / size &&
      form_of(p.columns, size) == p.columns && p.y_row == ptrdiff_t{p.columns} * size)
    return columns_to_rows(p.x, p.y, p.rows, p.columns, p.x_step, p.y_row, size, p.columns, p.planes,
                           p.x_plane, p.y_plane);
  for (; p.planes > 0; --p.planes, p.x += p.x_plane, p.y += p.y_plane) {
    if (is_copied)
      copy_rows(p.x, p.y, p.rows, p.columns * size, p.x_row, p.y_row);
    else if (is_turned)
      transpose_plane(p, size);
    else
      copy_plane_by_elements(p, size);
  }
}

#else
#define ITG_VECTOR_MOVES 0
#endif

}  // namespace intaglio

#include "kernels/copy/strided_copy.h"

#include "kernels/copy/vector_moves.h"

namespace intaglio {
namespace {

#if ITG_VECTOR_MOVES
// The last axis is a plane's columns; its rows are the axis that has stride 1 in x, so that lines are read whole, or the
// axis beside it. The last of the others is that of planes, and the rest are counted through.
void copy_all_planes(const StridedCopy& c, const uint8_t* x, uint8_t* y, int32_t first, int32_t last,
                     int32_t size) {
  const int32_t columns = c.rank - 1;
  int32_t rows = columns > 0 ? columns - 1 : 0;
  for (int32_t i = 0; i < columns; ++i)
    if (c.x_strides[i] == 1) rows = i;
  const int32_t beside = columns - (rows == columns - 1 ? 2 : 1), planes = beside > 0 ? beside : 0;
  const bool has_planes = beside >= 0;
  int32_t begin[6] = {first}, end[6], at[6];
  for (int32_t i = 0; i < c.rank; ++i) end[i] = c.dims[i];
  end[0] = last;
  memcpy(at, begin, sizeof at);
  for (;;) {
    ptrdiff_t x_offset = 0, y_offset = 0;
    for (int32_t i = 0; i < c.rank; ++i) {
      x_offset += static_cast<ptrdiff_t>(at[i]) * c.x_strides[i];
      y_offset += static_cast<ptrdiff_t>(at[i]) * c.y_strides[i];
    }
    copy_planes({x + x_offset * size, y + y_offset * size, columns > 0 ? end[rows] - begin[rows] : 1,
                 end[columns] - begin[columns], ptrdiff_t{c.x_strides[rows]} * size,
                 ptrdiff_t{c.x_strides[columns]} * size, ptrdiff_t{c.y_strides[rows]} * size,
                 ptrdiff_t{c.y_strides[columns]} * size, has_planes ? end[planes] - begin[planes] : 1,
                 ptrdiff_t{c.x_strides[planes]} * size, ptrdiff_t{c.y_strides[planes]} * size},
                size);
    int32_t i = columns - 1;
    for (; i >= 0; --i) {
      if (i == rows || (has_planes && i == planes)) continue;
      if (++at[i] < end[i]) break;
      at[i] = begin[i];
    }
    if (i < 0) return;
  }
}

template <typename T>
void copy_slices(const StridedCopy& c, const T* x, T* y, int32_t first, int32_t last) {
  if (first < last)
    copy_all_planes(c, reinterpret_cast<const uint8_t*>(x), reinterpret_cast<uint8_t*>(y), first, last,
                    sizeof(T));
}
#else
template <typename T>
void copy_row(const T* x, T* y, int32_t n, ptrdiff_t x_step, ptrdiff_t y_step) {
  if (x_step == 1 && y_step == 1) {
    memcpy(y, x, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int32_t i = 0; i < n; ++i) y[i * y_step] = x[i * x_step];
}

template <typename T>
void copy_slices(const StridedCopy& c, const T* x, T* y, int32_t first, int32_t last) {
  if (first >= last) return;
  if (c.rank == 1) {
    const ptrdiff_t x_step = c.x_strides[0], y_step = c.y_strides[0];
    return copy_row(x + first * x_step, y + first * y_step, last - first, x_step, y_step);
  }
  const int32_t inner = c.rank - 1;
  int32_t at[6] = {first, 0, 0, 0, 0, 0};
  for (;;) {
    ptrdiff_t x_offset = 0, y_offset = 0;
    for (int32_t i = 0; i < inner; ++i) {
      x_offset += static_cast<ptrdiff_t>(at[i]) * c.x_strides[i];
      y_offset += static_cast<ptrdiff_t>(at[i]) * c.y_strides[i];
    }
    copy_row(x + x_offset, y + y_offset, c.dims[inner], c.x_strides[inner], c.y_strides[inner]);
    int32_t i = inner - 1;
    for (; i > 0; --i) {
      if (++at[i] < c.dims[i]) break;
      at[i] = 0;
    }
    if (i == 0 && ++at[0] >= last) return;
  }
}

#endif

}  // namespace

StridedCopy make_strided_copy(const int32_t* dims, const int32_t* x_strides, const int32_t* y_strides,
                              int32_t rank) {
  StridedCopy c = {};
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] == 1) continue;
    const int32_t last = c.rank - 1;
    if (c.rank > 0 && c.x_strides[last] == int64_t{dims[i]} * x_strides[i] &&
        c.y_strides[last] == int64_t{dims[i]} * y_strides[i]) {
      c.dims[last] *= dims[i];
      c.x_strides[last] = x_strides[i];
      c.y_strides[last] = y_strides[i];
    } else {
      c.dims[c.rank] = dims[i];
      c.x_strides[c.rank] = x_strides[i];
      c.y_strides[c.rank] = y_strides[i];
      ++c.rank;
    }
  }
  if (c.rank == 0) c = {1, {1}, {1}, {1}};
  return c;
}

void copy_rows(const uint8_t* x, uint8_t* y, int32_t rows, int32_t bytes, ptrdiff_t x_pitch,
               ptrdiff_t y_pitch) {
#if ITG_VECTOR_MOVES
  constexpr int32_t kVector = 16, kLong = 16 * kVector;  // a longer row is worth a call
  if (bytes > kLong) {
    for (; rows > 0; --rows, x += x_pitch, y += y_pitch) memcpy(y, x, static_cast<size_t>(bytes));
  } else if (bytes >= kVector) {
    const ptrdiff_t last = bytes - kVector;
    for (; rows > 0; --rows, x += x_pitch, y += y_pitch) {
      for (ptrdiff_t i = 0; i < last; i += kVector) store_moved(y + i, load_moved<Moved>(x + i));
      store_moved(y + last, load_moved<Moved>(x + last));
    }
  } else if (bytes >= 8) {
    copy_short_rows<uint64_t>(x, y, rows, bytes - 8, x_pitch, y_pitch);
  } else if (bytes >= 4) {
    copy_short_rows<uint32_t>(x, y, rows, bytes - 4, x_pitch, y_pitch);
  } else if (bytes >= 2) {
    copy_short_rows<uint16_t>(x, y, rows, bytes - 2, x_pitch, y_pitch);
  } else {
    for (; rows > 0; --rows, x += x_pitch, y += y_pitch) *y = *x;
  }
#else
  for (; rows > 0; --rows, x += x_pitch, y += y_pitch) memcpy(y, x, static_cast<size_t>(bytes));
#endif
}

void strided_copy_8(const StridedCopy& copy, const uint8_t* x, uint8_t* y, int32_t first, int32_t last) {
  copy_slices(copy, x, y, first, last);
}

void strided_copy_16(const StridedCopy& copy, const uint16_t* x, uint16_t* y, int32_t first, int32_t last) {
  copy_slices(copy, x, y, first, last);
}

void strided_copy_32(const StridedCopy& copy, const uint32_t* x, uint32_t* y, int32_t first, int32_t last) {
  copy_slices(copy, x, y, first, last);
}

}  // namespace intaglio

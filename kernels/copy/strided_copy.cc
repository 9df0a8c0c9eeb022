#include "kernels/copy/strided_copy.h"

#include "kernels/copy/vector_moves.h"

namespace intaglio {
namespace {

template <typename T>
void copy_row(const T* x, T* y, int32_t n, ptrdiff_t x_step, ptrdiff_t y_step) {
  if (x_step == 1 && y_step == 1) {
    memcpy(y, x, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int32_t i = 0; i < n; ++i) y[i * y_step] = x[i * x_step];
}

// The last axis is a plane's columns; its rows are the axis that has stride 1 in x, so that lines are read whole, or the
// axis beside it. The others are counted through.
template <typename T>
void copy_planes(const StridedCopy& c, const T* x, T* y, int32_t first, int32_t last) {
  const int32_t columns = c.rank - 1;
  int32_t rows = columns - 1;
  for (int32_t i = 0; i < columns; ++i)
    if (c.x_strides[i] == 1) rows = i;
  int32_t begin[6] = {first}, end[6], at[6];
  for (int32_t i = 0; i < c.rank; ++i) end[i] = c.dims[i];
  end[0] = last;
  end[rows] -= begin[rows];
  const ptrdiff_t x_row = c.x_strides[rows], y_row = c.y_strides[rows];
  x += begin[rows] * x_row;
  y += begin[rows] * y_row;
  memcpy(at, begin, sizeof at);
  for (;;) {
    ptrdiff_t x_offset = 0, y_offset = 0;
    for (int32_t i = 0; i < columns; ++i) {
      if (i == rows) continue;
      x_offset += static_cast<ptrdiff_t>(at[i]) * c.x_strides[i];
      y_offset += static_cast<ptrdiff_t>(at[i]) * c.y_strides[i];
    }
    copy_plane(x + x_offset, y + y_offset, end[rows], c.dims[columns], x_row, c.x_strides[columns], y_row,
               c.y_strides[columns]);
    int32_t i = columns - 1;
    for (; i >= 0; --i) {
      if (i == rows) continue;
      if (++at[i] < end[i]) break;
      at[i] = begin[i];
    }
    if (i < 0) return;
  }
}

template <typename T>
void copy_slices(const StridedCopy& c, const T* x, T* y, int32_t first, int32_t last) {
  if (first >= last) return;
  if (c.rank == 1) {
    const ptrdiff_t x_step = c.x_strides[0], y_step = c.y_strides[0];
    if constexpr (kVectorMoves)
      return copy_plane(x + first * x_step, y + first * y_step, 1, last - first, 0, x_step, 0, y_step);
    return copy_row(x + first * x_step, y + first * y_step, last - first, x_step, y_step);
  }
  if constexpr (kVectorMoves) return copy_planes(c, x, y, first, last);
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

#include "kernels/copy/strided_copy.h"

#include <cstring>

#include "kernels/copy/vector_moves.h"

namespace intaglio {
namespace {

#if ITG_VECTOR_MOVES
__attribute__((noinline)) StridedCopy copy_of(const Permutation& t) {
  StridedCopy c = {};
  c.rank = t.rank;
  int32_t step = 1;
  for (int32_t i = t.rank - 1; i >= 0; --i) {
    c.dims[i] = t.dims[i];
    c.x_strides[i] = t.strides[i];
    c.y_strides[i] = step;
    step *= t.dims[i];
  }
  return c;
}

// The other mover has the vectors.
void permute(const Permutation& t, const uint8_t* x, uint8_t* y, int32_t first, int32_t last) {
  strided_copy_8(copy_of(t), x, y, first, last);
}
void permute(const Permutation& t, const uint16_t* x, uint16_t* y, int32_t first, int32_t last) {
  strided_copy_16(copy_of(t), x, y, first, last);
}
void permute(const Permutation& t, const uint32_t* x, uint32_t* y, int32_t first, int32_t last) {
  strided_copy_32(copy_of(t), x, y, first, last);
}
#else
// Rows and columns of one tile: what it reads and what it writes stay in the first-level cache.
constexpr int32_t kTile = 32;

// y[r, c] = x[r * row_stride + c * column_stride]; one of the strides is 1 where this is a matrix transpose.
template <typename T>
void copy_matrix(const T* x, T* y, int32_t rows, int32_t columns, ptrdiff_t row_stride,
                 ptrdiff_t column_stride, ptrdiff_t y_row_step) {
  if (column_stride == 1) {
    for (int32_t r = 0; r < rows; ++r)
      memcpy(y + r * y_row_step, x + r * row_stride, static_cast<size_t>(columns) * sizeof(T));
    return;
  }
  for (int32_t r0 = 0; r0 < rows; r0 += kTile) {
    const int32_t r1 = rows - r0 < kTile ? rows : r0 + kTile;
    for (int32_t c0 = 0; c0 < columns; c0 += kTile) {
      const int32_t c1 = columns - c0 < kTile ? columns : c0 + kTile;
      for (int32_t r = r0; r < r1; ++r)
        for (int32_t c = c0; c < c1; ++c) y[r * y_row_step + c] = x[r * row_stride + c * column_stride];
    }
  }
}

template <typename T>
void permute(const Permutation& t, const T* x, T* y, int32_t first, int32_t last) {
  if (first >= last) return;
  // The last axis is a matrix's columns; its rows are the axis that has stride 1 in the input, so that
  // tiles read whole lines. The remaining axes are counted through.
  const int32_t columns_axis = t.rank - 1;
  int32_t rows_axis = -1;
  for (int32_t i = 0; i < columns_axis; ++i)
    if (t.strides[i] == 1) rows_axis = i;
  ptrdiff_t y_strides[6];
  ptrdiff_t step = 1;
  for (int32_t i = t.rank - 1; i >= 0; --i) {
    y_strides[i] = step;
    step *= t.dims[i];
  }
  int32_t begin[6] = {}, end[6];
  for (int32_t i = 0; i < t.rank; ++i) end[i] = t.dims[i];
  begin[0] = first;
  end[0] = last;

  const auto extent = [&](int32_t axis) { return axis < 0 ? 1 : end[axis] - begin[axis]; };
  const auto matrix_begin = [&](int32_t axis, const ptrdiff_t* strides) {
    return axis < 0 ? ptrdiff_t{0} : begin[axis] * strides[axis];
  };
  ptrdiff_t x_strides[6] = {};
  for (int32_t i = 0; i < t.rank; ++i) x_strides[i] = t.strides[i];
  const ptrdiff_t x_start = matrix_begin(rows_axis, x_strides) + matrix_begin(columns_axis, x_strides);
  const ptrdiff_t y_start = matrix_begin(rows_axis, y_strides) + matrix_begin(columns_axis, y_strides);
  const ptrdiff_t row_stride = rows_axis < 0 ? 0 : x_strides[rows_axis];
  const ptrdiff_t y_row_step = rows_axis < 0 ? 0 : y_strides[rows_axis];

  int32_t at[6];
  for (int32_t i = 0; i < t.rank; ++i) at[i] = begin[i];
  for (;;) {
    ptrdiff_t x_offset = x_start, y_offset = y_start;
    for (int32_t i = 0; i < columns_axis; ++i) {
      if (i == rows_axis) continue;
      x_offset += at[i] * x_strides[i];
      y_offset += at[i] * y_strides[i];
    }
    copy_matrix(x + x_offset, y + y_offset, extent(rows_axis), extent(columns_axis), row_stride,
                x_strides[columns_axis], y_row_step);
    int32_t i = columns_axis - 1;
    for (; i >= 0; --i) {
      if (i == rows_axis) continue;
      if (++at[i] < end[i]) break;
      at[i] = begin[i];
    }
    if (i < 0) return;
  }
}
#endif

}  // namespace

Permutation make_permutation(const int32_t* input_dims, const int32_t* permutation, int32_t rank) {
  int32_t input_steps[6];
  int32_t step = 1;
  for (int32_t i = rank - 1; i >= 0; --i) {
    input_steps[i] = step;
    step *= input_dims[i];
  }
  Permutation t = {};
  for (int32_t i = 0; i < rank; ++i) {
    const int32_t dim = input_dims[permutation[i]], dim_stride = input_steps[permutation[i]];
    if (dim == 1) continue;
    if (t.rank > 0 && t.strides[t.rank - 1] == dim * dim_stride) {
      t.dims[t.rank - 1] *= dim;
      t.strides[t.rank - 1] = dim_stride;
    } else {
      t.dims[t.rank] = dim;
      t.strides[t.rank] = dim_stride;
      ++t.rank;
    }
  }
  if (t.rank == 0) {
    t.rank = 1;
    t.dims[0] = 1;
    t.strides[0] = 1;
  }
  return t;
}

void permute_8(const Permutation& t, const uint8_t* x, uint8_t* y, int32_t first, int32_t last) {
  permute(t, x, y, first, last);
}

void permute_16(const Permutation& t, const uint16_t* x, uint16_t* y, int32_t first, int32_t last) {
  permute(t, x, y, first, last);
}

void permute_32(const Permutation& t, const uint32_t* x, uint32_t* y, int32_t first, int32_t last) {
  permute(t, x, y, first, last);
}

}  // namespace intaglio

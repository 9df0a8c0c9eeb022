// Rows for kernels that take many of them a call: one address a pixel. Lines that need padding are copied first, padding
// included, into memory of the range's own. So each tap is at the same distance from the first tap in every pixel. That costs
// some bytes a pixel, and saves an address a tap and the cases of the borders.
#pragma once

#include "kernels/compiled_isa.h"
#include "runtime/ops/conv_geometry.h"

namespace intaglio {

// The memory of a range, in elements: [mr][im2col_step] where windows are copied, then [capacity][line_step] where lines
// are. For a few rows a call, as on boards, other ways cost less memory.
struct LineLayout {
  bool used = false;  // else fill_rows() and im2col_rows()
  bool copies_lines = false;
  bool slides = false;       // there is no memory for all lines at once
  int64_t im2col_step = 0;   // from one copied window to the next; a copy may write past one
  int64_t line_width = 0;    // of a copied line, as far as windows reach
  int64_t line_step = 0;     // from one copied line to the next; a copy may write past one
  int64_t window_lines = 0;  // that a window covers
  int64_t new_lines = 0;     // that one call may need at most
  int64_t capacity = 0;      // lines

  // `few_channels`: up to how many the kernel takes the distances of taps, see fill_line_rows(). Deeper taps are worth their
  // addresses.
  LineLayout(const ConvGeometry& g, int32_t mr, int32_t few_channels) {
    constexpr int32_t kManyRows = 16;
    if (kPacksWeights && mr >= kManyRows && g.groups == 1 && g.taps() > 1 &&
        (g.merged() || g.ic <= few_channels))
      lay_out(g, mr);
  }
  int64_t elements(int32_t mr) const { return mr * im2col_step + capacity * line_step; }

 private:
  void lay_out(const ConvGeometry& g, int32_t mr);
};

// The progress of a range of pixels, whose calls follow one another.
struct LineWalk {
  int32_t image = -1, out_y = 0, out_x = 0;  // of the next pixel; image -1: not begun
  int32_t next_line = 0, next_slot = 0;      // the first line of the image that is not copied, and its place
};

// The source of rows, and their place: see fill_rows(), with pixel_step 1.
template <typename T>
struct LineTile {
  const T *x, *padding;
  int32_t first, count, mr;
  T* lines;
  const T** rows;
};

// Sets rows[p], the address of tap 0, for the tile's pixels. Returns the distance of each tap in bytes,
// [gemm_taps()], stored behind rows[mr]; nullptr where there is one tap. With `table` it sets rows[t * mr + p]
// instead, and returns nullptr. `padding` has at least sixteen bytes, `lines` is as
// LineLayout says, and `rows` has [gemm_taps()][mr] entries. T: int8_t, float.
template <typename T>
const ptrdiff_t* fill_line_rows(const ConvGeometry& g, const LineLayout& layout, const LineTile<T>& tile,
                                bool table, LineWalk* walk);

}  // namespace intaglio

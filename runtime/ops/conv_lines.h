// Rows for kernels that take many of them a call: an address a pixel. Every further tap of every pixel stands
// at the same distance from its first, since lines with padding around them are copied into a range's own
// memory first, padding included: some bytes a pixel instead of an address a tap and a case for each border.
#pragma once

#include "kernels/compiled_isa.h"
#include "runtime/ops/conv_geometry.h"

namespace intaglio {

// How a range's memory is laid out, in elements: [mr][row] where windows are gathered, then [room][line]
// where lines are copied. Of a few rows a call, as on boards, other ways cost less memory.
struct LineLayout {
  bool used = false;            // else fill_rows() and gather_rows()
  bool copied = false;          // lines
  bool slides = false;          // there is room for some of them only
  int64_t row = 0;              // from one gathered window to the next; a copy may write past one
  int64_t width = 0, line = 0;  // of a copied line, as far as windows reach; from one to the next, likewise
  int64_t window = 0, touched = 0;  // lines of a window; new ones that a call may want
  int64_t room = 0;

  // `steps`: of a kernel that takes them, see fill_line_rows().
  LineLayout(const ConvGeometry& g, int32_t mr, bool steps) {
    constexpr int32_t kManyRows = 16, kFewChannels = 32;  // deeper taps are worth their addresses
    if (kPacksWeights && mr >= kManyRows && g.groups == 1 && g.taps() > 1 &&
        (g.merged() || (steps && g.ic <= kFewChannels)))
      lay_out(g, mr);
  }
  int64_t elements(int32_t mr) const { return mr * row + room * line; }

 private:
  void lay_out(const ConvGeometry& g, int32_t mr);
};

// How far a range of pixels has come: its calls come in their order.
struct LineWalk {
  int32_t image = -1, out_y = 0, out_x = 0;  // of the next pixel; no image: not begun
  int32_t past = 0, place = 0;  // the first line of the image that is not copied; where it will be
};

// Sets rows[p] for output pixels [first, first + count): where tap 0 of pixel p stands. Returns how many
// bytes further each tap stands, [gemm_taps()], which are put behind rows[mr]; nullptr where there is one
// tap, and where `table`, which sets rows[t * mr + p] instead. `padding` has sixteen bytes and more, `rows`
// [gemm_taps()][mr] entries, `lines` as LineLayout says. T: int8_t, float.
template <typename T>
const ptrdiff_t* fill_line_rows(const ConvGeometry& g, const LineLayout& layout, const T* x, const T* padding,
                                int32_t first, int32_t count, int32_t mr, bool table, T* lines,
                                LineWalk* walk, const T** rows);

}  // namespace intaglio

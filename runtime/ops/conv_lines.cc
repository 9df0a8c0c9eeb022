#include "runtime/ops/conv_lines.h"

namespace intaglio {
namespace {

typedef uintptr_t TwoRows __attribute__((vector_size(2 * sizeof(uintptr_t))));

// Two at a time: one after the other, an address takes a cycle.
template <typename T>
inline void fill_addresses(const T** rows, int32_t count, const T* first, ptrdiff_t moved) {
  const auto by = static_cast<uintptr_t>(moved) * sizeof(T), from = reinterpret_cast<uintptr_t>(first);
  TwoRows two = {from, from + by};
  for (; count >= 2; count -= 2, rows += 2, two += 2 * by) memcpy(rows, &two, sizeof two);
  if (count > 0) memcpy(rows, &two, sizeof *rows);
}

template <typename T>
inline void move_addresses(const T** rows, const T* const* from, int32_t count, ptrdiff_t bytes) {
  for (; count > 0; count -= 2, rows += 2, from += 2) {  // there is room for one more: mr is even
    TwoRows two;
    memcpy(&two, from, sizeof two);
    two += static_cast<uintptr_t>(bytes);
    memcpy(rows, &two, sizeof two);
  }
}

// What a copy of sixteen writes past an end is written over, or nobody's.
template <typename T>
inline void fill_line(T* to, const T* padding, ptrdiff_t count) {
  constexpr ptrdiff_t kEach = 16 / sizeof(T);
  for (; count > 0; count -= kEach, to += kEach) memcpy(to, padding, 16);
}

template <typename T>
void copy_line(const ConvGeometry& g, const LineLayout& layout, const T* x, const T* padding, int32_t image,
               int32_t y, T* to) {
  const auto width = static_cast<ptrdiff_t>(layout.width);
  if (y < 0 || y >= g.h) return fill_line(to, padding, width);
  const ptrdiff_t left = static_cast<ptrdiff_t>(g.window.pad_left) * g.ic,
                  line = static_cast<ptrdiff_t>(g.w) * g.ic;
  const ptrdiff_t inside = width - left < line ? width - left : line;
  fill_line(to, padding, left < width ? left : width);
  if (inside > 0)
    memcpy(to + left, x + (static_cast<ptrdiff_t>(image) * g.h + y) * line,
           static_cast<size_t>(inside) * sizeof(T));
  fill_line(to + left + line, padding, width - left - line);
}

// Sixteen bytes of each pixel's.
template <typename T>
inline void copy_sixteens(T* to, ptrdiff_t to_step, const T* from, ptrdiff_t moved, int32_t count) {
  for (; count > 0; --count, to += to_step, from += moved) memcpy(to, from, 16);
}

}  // namespace

__attribute__((cold)) void LineLayout::lay_out(const ConvGeometry& g, int32_t mr) {
  const Window2d& w = g.window;
  copied = g.gathered() || g.padded();
  used = !copied;
  if (used) return;
  const int64_t across = (g.ow - 1) * int64_t{w.stride_w} + (w.kernel_w - 1) * int64_t{w.dilation_w} + 1;
  width = across * g.ic;
  line = ((width + 15) & ~int64_t{15}) + 16;
  const int64_t taken = int64_t{w.kernel_w} * g.ic;
  row = g.gathered() ? ((w.kernel_h - 1) * taken + ((taken + 15) & ~int64_t{15}) + 15) & ~int64_t{15} : 0;
  window = (w.kernel_h - 1) * int64_t{w.dilation_h} + 1;
  const int64_t outputs = int64_t{g.images} * g.oh, most = (mr - 2 + g.ow) / g.ow + 1;
  const int64_t next = g.images == 1 && w.stride_h < window ? w.stride_h : window;
  const int64_t all = window + (outputs - 1) * next;
  touched = window + ((most < outputs ? most : outputs) - 1) * next;
  // Sliding moves a window's lines: seldom enough.
  constexpr int32_t kCallsHeld = 4;
  room = window + kCallsHeld * touched;
  slides = room < all;
  if (!slides) room = all;
  constexpr int64_t kMostElements = int64_t{1} << 19;  // half of a second-level cache
  used = line <= kMostElements && room <= kMostElements && room * line <= kMostElements;
}

template <typename T>
const ptrdiff_t* fill_line_rows(const ConvGeometry& g, const LineLayout& layout, const T* x, const T* padding,
                                int32_t first, int32_t count, int32_t mr, bool table, T* lines,
                                LineWalk* walk, const T** rows) {
  const Window2d& window = g.window;
  const bool gathered = g.gathered();
  const auto step = static_cast<ptrdiff_t>(layout.copied ? layout.line : int64_t{g.w} * g.ic);
  const auto row = static_cast<ptrdiff_t>(layout.row);
  const ptrdiff_t moved = static_cast<ptrdiff_t>(window.stride_w) * g.ic,
                  taken = static_cast<ptrdiff_t>(window.kernel_w) * g.ic;
  T* const copies = lines + mr * row;
  auto* const steps = reinterpret_cast<ptrdiff_t*>(rows + mr);
  const int32_t across = g.merged() ? 1 : window.kernel_w;
  LineWalk at = *walk;
  if (at.image < 0) {
    at.out_x = first % g.ow;
    at.out_y = first / g.ow % g.oh;
    at.image = first / g.ow / g.oh;
    at.past = at.out_y * window.stride_h - window.pad_top;
    if (gathered) {  // there they stay for all calls
      fill_addresses<T>(rows, mr, lines, row);
    } else if (!table && g.gemm_taps() > 1) {
      ptrdiff_t* tap = steps;
      for (int32_t ky = 0; ky < window.kernel_h; ++ky)
        for (int32_t kx = 0; kx < across; ++kx)
          *tap++ = (ky * window.dilation_h * step + kx * static_cast<ptrdiff_t>(window.dilation_w) * g.ic) *
                   static_cast<ptrdiff_t>(sizeof(T));
    }
  }
  if (layout.slides && at.place + layout.touched > layout.room) {
    const int32_t kept = at.past - (at.out_y * window.stride_h - window.pad_top);
    if (kept > 0)
      memmove(copies, copies + (at.place - kept) * step, static_cast<size_t>(kept * step) * sizeof(T));
    at.place = kept > 0 ? kept : 0;
  }
  for (int32_t done = 0, run; done < count; done += run) {
    run = g.ow - at.out_x < count - done ? g.ow - at.out_x : count - done;
    const int32_t y = at.out_y * window.stride_h - window.pad_top;
    const T* from = x + (static_cast<ptrdiff_t>(at.image) * g.h + y) * step;
    if (layout.copied) {
      if (at.past < y) at.past = y;
      for (; at.past < y + layout.window; ++at.past, ++at.place)
        copy_line(g, layout, x, padding, at.image, at.past, copies + at.place * step);
      from = copies + (at.place - layout.window) * step;
    }
    from += at.out_x * moved;
    if (!gathered) {
      fill_addresses(rows + done, run, from, moved);
    } else {
      T* to = lines + done * row;
      for (int32_t ky = 0; ky < window.kernel_h; ++ky, to += taken, from += window.dilation_h * step)
        for (ptrdiff_t c = 0; c < taken; c += 16 / static_cast<ptrdiff_t>(sizeof(T)))
          copy_sixteens(to + c, row, from + c, moved, run);
    }
    at.out_x += run;
    if (at.out_x == g.ow) {
      at.out_x = 0;
      if (++at.out_y == g.oh) {
        at.out_y = 0;
        ++at.image;
        at.past = -window.pad_top;
      }
    }
  }
  *walk = at;
  if (g.gemm_taps() == 1) return nullptr;
  if (!table) return steps;
  const T** tap = rows;
  for (int32_t ky = 0; ky < window.kernel_h; ++ky)
    for (int32_t kx = 0; kx < across; ++kx, tap += mr) {
      if (tap == rows) continue;
      move_addresses(tap, rows, count,
                     (ky * window.dilation_h * step + kx * static_cast<ptrdiff_t>(window.dilation_w) * g.ic) *
                         static_cast<ptrdiff_t>(sizeof(T)));
    }
  return nullptr;
}

template const ptrdiff_t* fill_line_rows(const ConvGeometry&, const LineLayout&, const int8_t*, const int8_t*,
                                         int32_t, int32_t, int32_t, bool, int8_t*, LineWalk*, const int8_t**);
template const ptrdiff_t* fill_line_rows(const ConvGeometry&, const LineLayout&, const float*, const float*,
                                         int32_t, int32_t, int32_t, bool, float*, LineWalk*, const float**);

}  // namespace intaglio

#include "runtime/ops/conv_lines.h"

namespace intaglio {
namespace {

typedef uintptr_t TwoRows __attribute__((vector_size(2 * sizeof(uintptr_t))));

// Two at a time: one after the other, an address takes a cycle.
template <typename T>
inline void fill_addresses(const T** rows, int32_t count, const T* first, ptrdiff_t stride) {
  const auto by = static_cast<uintptr_t>(stride) * sizeof(T), from = reinterpret_cast<uintptr_t>(first);
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

// Sixteen bytes at once. What that writes past the line is overwritten later, or unused.
template <typename T>
inline void fill_line(T* to, const T* padding, ptrdiff_t count) {
  constexpr ptrdiff_t kEach = 16 / sizeof(T);
  for (; count > 0; count -= kEach, to += kEach) memcpy(to, padding, 16);
}

template <typename T>
void copy_line(const ConvGeometry& g, const LineLayout& layout, const T* x, const T* padding, int32_t image,
               int32_t y, T* to) {
  const auto width = static_cast<ptrdiff_t>(layout.line_width);
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

// Sixteen bytes for each pixel.
template <typename T>
inline void copy_sixteens(T* to, ptrdiff_t to_step, const T* from, ptrdiff_t from_step, int32_t count) {
#if !defined(__x86_64__)  // there it is not worth its text
  using Sixteen = uint8_t __attribute__((vector_size(16)));
  constexpr int32_t kAtOnce = 4;  // their loads and stores share two addresses
  const ptrdiff_t from_steps[] = {0, from_step, 2 * from_step, 3 * from_step};
  const ptrdiff_t to_steps[] = {0, to_step, 2 * to_step, 3 * to_step};
  for (; count >= kAtOnce; count -= kAtOnce, to += kAtOnce * to_step, from += kAtOnce * from_step) {
    Sixteen v[kAtOnce];
#pragma GCC unroll 4
    for (int32_t i = 0; i < kAtOnce; ++i) memcpy(&v[i], from + from_steps[i], sizeof v[i]);
#pragma GCC unroll 4
    for (int32_t i = 0; i < kAtOnce; ++i) memcpy(to + to_steps[i], &v[i], sizeof v[i]);
  }
#endif
  for (; count > 0; --count, to += to_step, from += from_step) memcpy(to, from, 16);
}

}  // namespace

__attribute__((cold)) void LineLayout::lay_out(const ConvGeometry& g, int32_t mr) {
  const Window2d& w = g.window;
  copies_lines = g.im2col() || g.padded();
  used = !copies_lines;
  if (used) return;
  const int64_t columns = (g.ow - 1) * int64_t{w.stride_w} + (w.kernel_w - 1) * int64_t{w.dilation_w} + 1;
  line_width = columns * g.ic;
  line_step = ((line_width + 15) & ~int64_t{15}) + 16;
  const int64_t window_width = int64_t{w.kernel_w} * g.ic;
  im2col_step = g.im2col() ? ((w.kernel_h - 1) * window_width + ((window_width + 15) & ~int64_t{15}) + 15) &
                                 ~int64_t{15}
                           : 0;
  window_lines = (w.kernel_h - 1) * int64_t{w.dilation_h} + 1;
  const int64_t outputs = int64_t{g.images} * g.oh, most = (mr - 2 + g.ow) / g.ow + 1;
  const int64_t next = g.images == 1 && w.stride_h < window_lines ? w.stride_h : window_lines;
  const int64_t all = window_lines + (outputs - 1) * next;
  new_lines = window_lines + ((most < outputs ? most : outputs) - 1) * next;
  // Sliding moves the lines of a window: once in four calls.
  constexpr int32_t kCallsHeld = 4;
  capacity = window_lines + kCallsHeld * new_lines;
  slides = capacity < all;
  if (!slides) capacity = all;
  constexpr int64_t kMostElements = int64_t{1} << 19;  // half of a second-level cache
  used = line_step <= kMostElements && capacity <= kMostElements && capacity * line_step <= kMostElements;
}

template <typename T>
const ptrdiff_t* fill_line_rows(const ConvGeometry& g, const LineLayout& layout, const LineTile<T>& tile,
                                bool table, LineWalk* walk) {
  const auto [x, padding, first, count, mr, windows, rows] = tile;
  const Window2d& window = g.window;
  const bool im2col = g.im2col();
  const auto step = static_cast<ptrdiff_t>(layout.copies_lines ? layout.line_step : int64_t{g.w} * g.ic);
  const auto im2col_step = static_cast<ptrdiff_t>(layout.im2col_step);
  const ptrdiff_t stride = static_cast<ptrdiff_t>(window.stride_w) * g.ic,
                  window_width = static_cast<ptrdiff_t>(window.kernel_w) * g.ic;
  T* const copies = windows + mr * im2col_step;
  auto* const tap_offsets = reinterpret_cast<ptrdiff_t*>(rows + mr);
  const int32_t taps_x = g.merged() ? 1 : window.kernel_w;
  LineWalk at = *walk;
  if (at.image < 0) {
    at.out_x = first % g.ow;
    at.out_y = first / g.ow % g.oh;
    at.image = first / g.ow / g.oh;
    at.next_line = at.out_y * window.stride_h - window.pad_top;
    if (im2col) {  // the same ones in all calls
      fill_addresses<T>(rows, mr, windows, im2col_step);
    } else if (!table && g.gemm_taps() > 1) {
      ptrdiff_t* tap = tap_offsets;
      for (int32_t ky = 0; ky < window.kernel_h; ++ky)
        for (int32_t kx = 0; kx < taps_x; ++kx)
          *tap++ = (ky * window.dilation_h * step + kx * static_cast<ptrdiff_t>(window.dilation_w) * g.ic) *
                   static_cast<ptrdiff_t>(sizeof(T));
    }
  }
  if (layout.slides && at.next_slot + layout.new_lines > layout.capacity) {
    const int32_t reused = at.next_line - (at.out_y * window.stride_h - window.pad_top);
    if (reused > 0)
      memmove(copies, copies + (at.next_slot - reused) * step,
              static_cast<size_t>(reused * step) * sizeof(T));
    at.next_slot = reused > 0 ? reused : 0;
  }
  for (int32_t done = 0, run; done < count; done += run) {
    run = g.ow - at.out_x < count - done ? g.ow - at.out_x : count - done;
    const int32_t y = at.out_y * window.stride_h - window.pad_top;
    const T* from = x + (static_cast<ptrdiff_t>(at.image) * g.h + y) * step;
    if (layout.copies_lines) {
      if (at.next_line < y) at.next_line = y;
      for (; at.next_line < y + layout.window_lines; ++at.next_line, ++at.next_slot)
        copy_line(g, layout, x, padding, at.image, at.next_line, copies + at.next_slot * step);
      from = copies + (at.next_slot - layout.window_lines) * step;
    }
    from += at.out_x * stride;
    if (!im2col) {
      fill_addresses<T>(rows + done, run, from, stride);
    } else {
      T* to = windows + done * im2col_step;
      for (int32_t ky = 0; ky < window.kernel_h; ++ky, to += window_width, from += window.dilation_h * step)
        for (ptrdiff_t c = 0; c < window_width; c += 16 / static_cast<ptrdiff_t>(sizeof(T)))
          copy_sixteens(to + c, im2col_step, from + c, stride, run);
    }
    at.out_x += run;
    if (at.out_x == g.ow) {
      at.out_x = 0;
      if (++at.out_y == g.oh) {
        at.out_y = 0;
        ++at.image;
        at.next_line = -window.pad_top;
      }
    }
  }
  *walk = at;
  if (g.gemm_taps() == 1) return nullptr;
  if (!table) return tap_offsets;
  const T** tap = rows;
  for (int32_t ky = 0; ky < window.kernel_h; ++ky)
    for (int32_t kx = 0; kx < taps_x; ++kx, tap += mr) {
      if (tap == rows) continue;
      move_addresses<T>(
          tap, rows, count,
          (ky * window.dilation_h * step + kx * static_cast<ptrdiff_t>(window.dilation_w) * g.ic) *
              static_cast<ptrdiff_t>(sizeof(T)));
    }
  return nullptr;
}

template const ptrdiff_t* fill_line_rows(const ConvGeometry&, const LineLayout&, const LineTile<int8_t>&,
                                         bool, LineWalk*);
template const ptrdiff_t* fill_line_rows(const ConvGeometry&, const LineLayout&, const LineTile<float>&, bool,
                                         LineWalk*);

}  // namespace intaglio

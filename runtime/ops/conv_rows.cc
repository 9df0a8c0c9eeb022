#include "runtime/ops/conv_geometry.h"

namespace intaglio {
namespace {

// memcpy of a few bytes, without a call: two pieces of a fixed size that meet or overlap.
template <typename Piece>
inline void copy_ends(uint8_t* to, const uint8_t* from, size_t bytes) {
  Piece first, last;
  memcpy(&first, from, sizeof first);
  memcpy(&last, from + bytes - sizeof last, sizeof last);
  memcpy(to, &first, sizeof first);
  memcpy(to + bytes - sizeof last, &last, sizeof last);
}

}  // namespace

template <typename T>
void fill_rows(const ConvGeometry& g, const T* x, const T* padding, int32_t first, int32_t count,
               int32_t pixel_step, int32_t tap_step, const T** rows) {
  if (g.pointwise()) {
    const T* row = x + static_cast<ptrdiff_t>(first) * g.ic;
    for (int32_t p = 0; p < count; ++p, row += g.ic) rows[static_cast<ptrdiff_t>(p) * pixel_step] = row;
    return;
  }
  const Window2d& window = g.window;
  const int32_t taps = g.taps();
  const ptrdiff_t moved = static_cast<ptrdiff_t>(window.stride_w) * g.ic;   // from pixel to pixel,
  const ptrdiff_t step = static_cast<ptrdiff_t>(window.dilation_w) * g.ic;  // from tap to tap,
  const ptrdiff_t line_step =
      static_cast<ptrdiff_t>(window.dilation_h) * g.w * g.ic;  // from line to line of taps
  // Divisions cost more than a pixel's products do: one set a call.
  int32_t out_x = first % g.ow, out_y = first / g.ow % g.oh, image = first / g.ow / g.oh;
  bool repeats = false;  // the pixel before stands in the same line, all columns of its window inside
  for (int32_t p = 0; p < count; ++p, ++out_x) {
    if (out_x == g.ow) {
      out_x = 0;
      repeats = false;
      if (++out_y == g.oh) {
        out_y = 0;
        ++image;
      }
    }
    const T** row = rows + static_cast<ptrdiff_t>(p) * pixel_step;
    const int32_t start = input_x(window, out_x, 0);
    const int32_t past = input_x(window, out_x, window.kernel_w);
    const bool inside = start >= 0 && past - window.dilation_w < g.w;
    if (repeats && inside) {
      for (int32_t t = 0; t < taps; ++t, row += tap_step) {
        const T* const before = row[-pixel_step];
        *row = before == padding ? padding : before + moved;
      }
      continue;
    }
    repeats = inside;
    int32_t y = input_y(window, out_y, 0);
    ptrdiff_t line = ((static_cast<ptrdiff_t>(image) * g.h + y) * g.w + start) * g.ic;
    for (int32_t ky = 0; ky < window.kernel_h; ++ky, y += window.dilation_h, line += line_step) {
      const bool y_inside = y >= 0 && y < g.h;
      ptrdiff_t at = line;
      for (int32_t column = start; column < past; column += window.dilation_w, at += step, row += tap_step)
        *row = y_inside && column >= 0 && column < g.w ? x + at : padding;
    }
  }
}

namespace {

// Lines of `bytes` each, of `count` pixels.
template <typename T>
void copy_lines(T* to, ptrdiff_t to_step, const T* from, ptrdiff_t from_step, size_t bytes, int32_t count) {
  const auto lines = [&](auto copy) {
    for (int32_t i = 0; i < count; ++i, to += to_step, from += from_step)
      copy(reinterpret_cast<uint8_t*>(to), reinterpret_cast<const uint8_t*>(from), bytes);
  };
  if (bytes > 16) {
    lines([](uint8_t* y, const uint8_t* x, size_t n) { memcpy(y, x, n); });
  } else if (bytes >= 8) {
    lines(copy_ends<uint64_t>);
  } else if (bytes >= 4) {
    lines(copy_ends<uint32_t>);
  } else {
    lines([](uint8_t* y, const uint8_t* x, size_t n) {
      for (size_t i = 0; i < n; ++i) y[i] = x[i];
    });
  }
}

// Where a window's line lies inside the input: output columns [first, last).
struct InsideColumns {
  int32_t first, last;
};

InsideColumns inside_columns(const ConvGeometry& g) {
  const Window2d& w = g.window;
  const int32_t room = g.w + w.pad_left - w.kernel_w;
  return {(w.pad_left + w.stride_w - 1) / w.stride_w, room < 0 ? 0 : room / w.stride_w + 1};
}

// One line of a window that is partly outside, at input column `start` of the input line `from`.
template <typename T>
void patch_line(const ConvGeometry& g, const T* from, const T* padding, int32_t start, T* to) {
  for (int32_t column = start; column < start + g.window.kernel_w; ++column, to += g.ic) {
    const bool inside = column >= 0 && column < g.w;
    memcpy(to, inside ? from + static_cast<ptrdiff_t>(column) * g.ic : padding,
           static_cast<size_t>(g.ic) * sizeof(T));
  }
}

}  // namespace

template <typename T>
void gather_rows(const ConvGeometry& g, const T* x, const T* padding, int32_t first, int32_t count,
                 T* patches, const T** rows) {
  const ptrdiff_t line = static_cast<ptrdiff_t>(g.window.kernel_w) * g.ic,
                  input_line = static_cast<ptrdiff_t>(g.w) * g.ic, step = g.gathered_step(),
                  from_step = static_cast<ptrdiff_t>(g.window.stride_w) * g.ic;
  const size_t bytes = static_cast<size_t>(line) * sizeof(T);
  const InsideColumns inside = inside_columns(g);
  for (int32_t p = 0; p < count; ++p) rows[p] = patches + p * step;
  // Runs of pixels of one output line.
  int32_t out_x = first % g.ow, out_y = first / g.ow % g.oh, image = first / g.ow / g.oh;
  while (count > 0) {
    const int32_t run = g.ow - out_x < count ? g.ow - out_x : count, end = out_x + run;
    int32_t lo = inside.first < out_x ? out_x : inside.first, hi = inside.last < end ? inside.last : end;
    lo = lo < end ? lo : end;
    hi = hi > lo ? hi : lo;
    for (int32_t ky = 0; ky < g.window.kernel_h; ++ky) {
      const int32_t y = input_y(g.window, out_y, ky);
      T* const to = patches + ky * line;
      if (y < 0 || y >= g.h) {
        copy_lines<T>(to, step, padding, 0, bytes, run);
        continue;
      }
      const T* const from = x + (static_cast<ptrdiff_t>(image) * g.h + y) * input_line;
      const auto patch = [&](int32_t column) {
        patch_line(g, from, padding, input_x(g.window, column, 0), to + (column - out_x) * step);
      };
      for (int32_t column = out_x; column < lo; ++column) patch(column);
      for (int32_t column = hi; column < end; ++column) patch(column);
      if (lo < hi)
        copy_lines<T>(to + (lo - out_x) * step, step,
                      from + static_cast<ptrdiff_t>(input_x(g.window, lo, 0)) * g.ic, from_step, bytes,
                      hi - lo);
    }
    patches += run * step;
    count -= run;
    out_x = 0;
    if (++out_y == g.oh) {
      out_y = 0;
      ++image;
    }
  }
}

template <typename T>
void fill_merged_rows(const ConvGeometry& g, const T* x, const T* padding, int32_t first, int32_t count,
                      int32_t tap_step, T* patches, const T** rows) {
  const int32_t kernel_h = g.window.kernel_h, kernel_w = g.window.kernel_w;
  const ptrdiff_t line = static_cast<ptrdiff_t>(kernel_w) * g.ic,
                  input_line = static_cast<ptrdiff_t>(g.w) * g.ic;
  int32_t out_x = first % g.ow, out_y = first / g.ow % g.oh, image = first / g.ow / g.oh;
  bool repeats = false;  // as in fill_rows
  for (int32_t p = 0; p < count; ++p, ++out_x) {
    if (out_x == g.ow) {
      out_x = 0;
      repeats = false;
      if (++out_y == g.oh) {
        out_y = 0;
        ++image;
      }
    }
    const int32_t start = input_x(g.window, out_x, 0);
    const bool inside = start >= 0 && start + kernel_w <= g.w;
    if (repeats && inside) {
      const T** row = rows + p;
      const ptrdiff_t moved = static_cast<ptrdiff_t>(g.window.stride_w) * g.ic;
      for (int32_t ky = 0; ky < kernel_h; ++ky, row += tap_step)
        *row = row[-1] == padding ? padding : row[-1] + moved;
      continue;
    }
    repeats = inside;
    for (int32_t ky = 0; ky < kernel_h; ++ky) {
      const int32_t y = input_y(g.window, out_y, ky);
      const T*& row = rows[static_cast<ptrdiff_t>(ky) * tap_step + p];
      row = padding;
      if (y < 0 || y >= g.h) continue;
      const T* const from = x + (static_cast<ptrdiff_t>(image) * g.h + y) * input_line;
      if (inside) {
        row = from + static_cast<ptrdiff_t>(start) * g.ic;
        continue;
      }
      T* const patch = patches + (static_cast<ptrdiff_t>(p) * kernel_h + ky) * line;
      patch_line(g, from, padding, start, patch);
      row = patch;
    }
  }
}

template void fill_rows(const ConvGeometry&, const int8_t*, const int8_t*, int32_t, int32_t, int32_t, int32_t,
                        const int8_t**);
template void fill_rows(const ConvGeometry&, const float*, const float*, int32_t, int32_t, int32_t, int32_t,
                        const float**);
template void gather_rows(const ConvGeometry&, const int8_t*, const int8_t*, int32_t, int32_t, int8_t*,
                          const int8_t**);
template void fill_merged_rows(const ConvGeometry&, const int8_t*, const int8_t*, int32_t, int32_t, int32_t,
                               int8_t*, const int8_t**);
template void fill_merged_rows(const ConvGeometry&, const float*, const float*, int32_t, int32_t, int32_t,
                               float*, const float**);

}  // namespace intaglio

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

struct Sixteen {
  uint8_t bytes[16];
};

// Calls body(copy) with what copies this many bytes best.
template <typename Body>
inline void with_copy(size_t bytes, Body body) {
  if (bytes > 32) {
    body([](uint8_t* to, const uint8_t* from, size_t n) { memcpy(to, from, n); });
  } else if (bytes >= 16) {
    body(copy_ends<Sixteen>);
  } else if (bytes >= 8) {
    body(copy_ends<uint64_t>);
  } else if (bytes >= 4) {
    body(copy_ends<uint32_t>);
  } else {
    body([](uint8_t* to, const uint8_t* from, size_t n) {
      for (size_t i = 0; i < n; ++i) to[i] = from[i];
    });
  }
}

// Lines of `bytes` each, of `count` pixels.
template <typename T>
void copy_lines(T* to, ptrdiff_t to_step, const T* from, ptrdiff_t from_step, size_t bytes, int32_t count) {
  with_copy(bytes, [&](auto copy) {
    for (int32_t i = 0; i < count; ++i, to += to_step, from += from_step)
      copy(reinterpret_cast<uint8_t*>(to), reinterpret_cast<const uint8_t*>(from), bytes);
  });
}

// One line of a window that is partly outside, at input column `start` of the input line `from`.
template <typename T>
void patch_line(const ConvGeometry& g, const T* from, const T* padding, int32_t start, T* to) {
  const int32_t before = -start < 0 ? 0 : -start < g.window.kernel_w ? -start : g.window.kernel_w;
  const int32_t room = g.w - start, end = room < before              ? before
                                          : room < g.window.kernel_w ? room
                                                                     : g.window.kernel_w;
  const auto piece = [&](int32_t first, int32_t past, const T* source) {
    copy_lines(to + static_cast<ptrdiff_t>(first) * g.ic, 0, source, 0,
               static_cast<size_t>(past - first) * static_cast<size_t>(g.ic) * sizeof(T), 1);
  };
  piece(0, before, padding);
  piece(before, end, from + static_cast<ptrdiff_t>(start + before) * g.ic);
  piece(end, g.window.kernel_w, padding);
}

// Calls body(p, run, y, start) for each run of output pixels in one line: how many came before and how many
// they are, the input line and column, perhaps outside, where the first one's window starts, and the image.
template <typename Body>
inline void for_each_run(const ConvGeometry& g, int32_t first, int32_t count, Body body) {
  // Divisions cost more than a pixel's products do: one set a call.
  int32_t out_x = first % g.ow, out_y = first / g.ow % g.oh, image = first / g.ow / g.oh;
  for (int32_t p = 0, run; p < count; p += run) {
    run = g.ow - out_x < count - p ? g.ow - out_x : count - p;
    body(p, run, input_y(g.window, out_y, 0), input_x(g.window, out_x, 0), image);
    out_x = 0;
    if (++out_y == g.oh) {
      out_y = 0;
      ++image;
    }
  }
}

// Which p of [0, run) have column + p * stride in [0, room].
struct InsideRun {
  int32_t first, past;
};

inline InsideRun inside_run(int32_t column, int32_t stride, int32_t room, int32_t run) {
  const auto steps = [&](int32_t distance) { return stride == 1 ? distance : distance / stride; };
  const int32_t first = column < 0 ? steps(stride - 1 - column) : 0;
  const int32_t past = column > room ? 0 : steps(room - column) + 1;
  if (first >= run || past <= first) return {run, run};
  return {first, past < run ? past : run};
}

// By value, since rows might alias what a closure refers to.
template <typename T>
inline void fill_pointers(const T** rows, int32_t step, int32_t first, int32_t past, const T* from,
                          ptrdiff_t moved) {
  rows += static_cast<ptrdiff_t>(first) * step;
  for (int32_t p = first; p < past; ++p, rows += step, from += moved) *rows = from;
}

}  // namespace

template <typename T>
void fill_rows(const ConvGeometry& g, const T* x, const T* padding, int32_t first, int32_t count,
               int32_t pixel_step, int32_t tap_step, const T** rows) {
  if (g.pointwise()) {
    const T* const from = x + static_cast<ptrdiff_t>(first) * g.ic;
    return fill_pointers(rows, pixel_step, 0, count, from, g.ic);
  }
  const Window2d& window = g.window;
  const ptrdiff_t moved = static_cast<ptrdiff_t>(window.stride_w) * g.ic;
  for_each_run(g, first, count, [&](int32_t before, int32_t run, int32_t y, int32_t start, int32_t image) {
    const T** row = rows + static_cast<ptrdiff_t>(before) * pixel_step;
    for (int32_t ky = 0; ky < window.kernel_h; ++ky, y += window.dilation_h) {
      const int32_t room = y >= 0 && y < g.h ? g.w - 1 : -1;
      const T* const line = x + (static_cast<ptrdiff_t>(image) * g.h + y) * g.w * g.ic;
      int32_t column = start;
      for (int32_t kx = 0; kx < window.kernel_w; ++kx, column += window.dilation_w, row += tap_step) {
        const InsideRun in = inside_run(column, window.stride_w, room, run);
        const ptrdiff_t at = static_cast<ptrdiff_t>(column + in.first * window.stride_w) * g.ic;
        fill_pointers<T>(row, pixel_step, 0, in.first, padding, 0);
        fill_pointers<T>(row, pixel_step, in.first, in.past, line + at, moved);
        fill_pointers<T>(row, pixel_step, in.past, run, padding, 0);
      }
    }
  });
}

template <typename T>
void gather_rows(const ConvGeometry& g, const T* x, const T* padding, int32_t first, int32_t count,
                 T* patches, const T** rows) {
  const ptrdiff_t line = static_cast<ptrdiff_t>(g.window.kernel_w) * g.ic, step = g.gathered_step(),
                  moved = static_cast<ptrdiff_t>(g.window.stride_w) * g.ic;
  const size_t bytes = static_cast<size_t>(line) * sizeof(T);
  fill_pointers<T>(rows, 1, 0, count, patches, step);
  for_each_run(g, first, count, [&](int32_t before, int32_t run, int32_t y, int32_t start, int32_t image) {
    T* to = patches + before * step;
    const InsideRun in = inside_run(start, g.window.stride_w, g.w - g.window.kernel_w, run);
    for (int32_t ky = 0; ky < g.window.kernel_h; ++ky, y += g.window.dilation_h, to += line) {
      if (y < 0 || y >= g.h) {
        copy_lines<T>(to, step, padding, 0, bytes, run);
        continue;
      }
      const T* const from = x + (static_cast<ptrdiff_t>(image) * g.h + y) * g.w * g.ic;
      const auto patch = [&](int32_t p) {
        patch_line(g, from, padding, start + p * g.window.stride_w, to + p * step);
      };
      for (int32_t p = 0; p < in.first; ++p) patch(p);
      copy_lines<T>(to + in.first * step, step,
                    from + static_cast<ptrdiff_t>(start) * g.ic + in.first * moved, moved, bytes,
                    in.past - in.first);
      for (int32_t p = in.past; p < run; ++p) patch(p);
    }
  });
}

template <typename T>
void fill_merged_rows(const ConvGeometry& g, const T* x, const T* padding, int32_t first, int32_t count,
                      int32_t tap_step, T* patches, const T** rows) {
  const int32_t kernel_h = g.window.kernel_h;
  const ptrdiff_t line = static_cast<ptrdiff_t>(g.window.kernel_w) * g.ic,
                  moved = static_cast<ptrdiff_t>(g.window.stride_w) * g.ic;
  for_each_run(g, first, count, [&](int32_t before, int32_t run, int32_t y, int32_t start, int32_t image) {
    const InsideRun in = inside_run(start, g.window.stride_w, g.w - g.window.kernel_w, run);
    for (int32_t ky = 0; ky < kernel_h; ++ky, y += g.window.dilation_h) {
      const T** const row = rows + static_cast<ptrdiff_t>(ky) * tap_step + before;
      if (y < 0 || y >= g.h) {
        fill_pointers<T>(row, 1, 0, run, padding, 0);
        continue;
      }
      const T* const from = x + (static_cast<ptrdiff_t>(image) * g.h + y) * g.w * g.ic;
      const auto patch = [&](int32_t p) {
        T* const to = patches + (static_cast<ptrdiff_t>(before + p) * kernel_h + ky) * line;
        patch_line(g, from, padding, start + p * g.window.stride_w, to);
        row[p] = to;
      };
      for (int32_t p = 0; p < in.first; ++p) patch(p);
      fill_pointers<T>(row, 1, in.first, in.past,
                       from + static_cast<ptrdiff_t>(start) * g.ic + in.first * moved, moved);
      for (int32_t p = in.past; p < run; ++p) patch(p);
    }
  });
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

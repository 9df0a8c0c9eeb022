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

// Calls body(copy) with what copies this many bytes best.
template <typename Body>
inline void with_copy(size_t bytes, Body body) {
  // One loop instead of five. Without vectors a Cortex-M's memcpy goes byte by byte: words, one overlapping, are
  // less. On x86 the scalar kernel alone comes here: the others take many rows a call (conv_lines.h).
#if defined(__OPTIMIZE_SIZE__) && defined(__ARM_FEATURE_UNALIGNED) && !defined(__ARM_FEATURE_MVE)
  return body([](uint8_t* to, const uint8_t* from, size_t n) {
    const uint8_t* const last = from + n - 4;
    for (; n >= 4 && from < last; to += 4, from += 4) memcpy(to, from, 4);
    if (n >= 4) return static_cast<void>(memcpy(to + (last - from), last, 4));
    for (; n > 0; --n) *to++ = *from++;
  });
#elif defined(__OPTIMIZE_SIZE__) || defined(__x86_64__)
  return body([](uint8_t* to, const uint8_t* from, size_t n) { memcpy(to, from, n); });
#endif
  if (bytes > 64) {
    body([](uint8_t* to, const uint8_t* from, size_t n) { memcpy(to, from, n); });
  } else if (bytes >= 16) {
    body([](uint8_t* to, const uint8_t* from, size_t n) {
      for (size_t i = 0; i + 16 < n; i += 16) memcpy(to + i, from + i, 16);
      memcpy(to + n - 16, from + n - 16, 16);
    });
  } else if (bytes >= 8) {
    body(copy_ends<uint64_t>);
  } else if (bytes >= 4) {
    body(copy_ends<uint32_t>);
  } else if (bytes >= 2) {
    body(copy_ends<uint16_t>);
  } else {
    body([](uint8_t* to, const uint8_t* from, size_t) { *to = *from; });
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
  const size_t pixel = static_cast<size_t>(g.ic) * sizeof(T);
  const int32_t width = g.window.kernel_w, first = start < 0 ? -start : 0;
  const int32_t past = g.w - start < width ? g.w - start : width;
  copy_lines(to, 0, padding, 0, static_cast<size_t>(width) * pixel, 1);
  if (first < past)
    copy_lines(to + static_cast<ptrdiff_t>(first) * g.ic, 0,
               from + static_cast<ptrdiff_t>(start + first) * g.ic, 0,
               static_cast<size_t>(past - first) * pixel, 1);
}

// The runs of output pixels in one line: how many pixels came before and how many these are, the image, and
// the input line and column, perhaps outside, where the first one's window starts. Divisions cost more than a
// pixel's products do: one set a walk.
struct Runs {
  Runs(const ConvGeometry& geometry, int32_t first, int32_t count)
      : g(geometry),
        left(count),
        out_x(first % g.ow),
        out_y(first / g.ow % g.oh),
        image(first / g.ow / g.oh) {}

  bool next() {
    if (run > 0) {
      before += run;
      left -= run;
      out_x = 0;
      if (++out_y == g.oh) {
        out_y = 0;
        ++image;
      }
    }
    run = g.ow - out_x < left ? g.ow - out_x : left;
    y = input_y(g.window, out_y, 0);
    start = input_x(g.window, out_x, 0);
    return run > 0;
  }

  const ConvGeometry& g;
  int32_t left, out_x, out_y, image, before = 0, run = 0, y = 0, start = 0;
};

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
inline void fill_pointers(const T** rows, int32_t step, int32_t count, uintptr_t from, ptrdiff_t moved) {
  for (; count > 0; --count, rows += step, from += static_cast<uintptr_t>(moved))
    *rows = reinterpret_cast<const T*>(from);
}

template <typename T>
inline void copy_pointers(const T** rows, const T* const* from, int32_t step, int32_t count,
                          ptrdiff_t distance) {
  const auto moved = [distance](const T* row) {
    return reinterpret_cast<const T*>(reinterpret_cast<uintptr_t>(row) + static_cast<uintptr_t>(distance));
  };
  if (step == 1) {  // two at a time: one after the other, a pointer took two cycles
    typedef uintptr_t Two __attribute__((vector_size(2 * sizeof(uintptr_t))));
    for (; count >= 2; count -= 2, rows += 2, from += 2) {
      Two two;
      memcpy(&two, from, sizeof two);
      two += static_cast<uintptr_t>(distance);
      memcpy(rows, &two, sizeof two);
    }
  }
  for (; count > 0; --count, rows += step, from += step) *rows = moved(*from);
}

}  // namespace

template <typename T>
void fill_rows(const ConvGeometry& g, const T* x, const T* padding, int32_t first, int32_t count,
               int32_t pixel_step, int32_t tap_step, T* patches, const T** rows) {
  const ptrdiff_t pixel_bytes = g.ic * static_cast<ptrdiff_t>(sizeof(T)), line_bytes = pixel_bytes * g.w;
  const auto input = reinterpret_cast<uintptr_t>(x), outside = reinterpret_cast<uintptr_t>(padding);
  if (g.pointwise())
    return fill_pointers(rows, pixel_step, count, input + static_cast<uintptr_t>(first * pixel_bytes),
                         pixel_bytes);
  const Window2d& window = g.window;
  const int32_t across = patches != nullptr ? 1 : window.kernel_w;

  // As if nothing were outside: addresses first, which may point anywhere, of the first tap, then of all.
  for (Runs r(g, first, count); r.next();) {
    const ptrdiff_t from = (static_cast<ptrdiff_t>(r.image) * g.h + r.y) * line_bytes + r.start * pixel_bytes;
    fill_pointers(rows + static_cast<ptrdiff_t>(r.before) * pixel_step, pixel_step, r.run,
                  input + static_cast<uintptr_t>(from), window.stride_w * pixel_bytes);
  }
  const T** tap = rows;
  for (int32_t ky = 0; ky < window.kernel_h; ++ky)
    for (int32_t kx = 0; kx < across; ++kx, tap += tap_step) {
      if (tap == rows) continue;
      copy_pointers(tap, rows, pixel_step, count,
                    ky * window.dilation_h * line_bytes + kx * window.dilation_w * pixel_bytes);
    }
  if (!g.padded()) return;

  // Then what is.
  const ptrdiff_t line = static_cast<ptrdiff_t>(window.kernel_w) * g.ic;
  for (Runs r(g, first, count); r.next();) {
    const InsideRun in =
        inside_run(r.start, window.stride_w, g.w - 1 - (window.kernel_w - 1) * window.dilation_w, r.run);
    tap = rows + static_cast<ptrdiff_t>(r.before) * pixel_step;
    int32_t y = r.y;
    for (int32_t ky = 0; ky < window.kernel_h;
         ++ky, y += window.dilation_h, tap += static_cast<ptrdiff_t>(across) * tap_step) {
      if (y < 0 || y >= g.h) {
        for (int32_t kx = 0; kx < across; ++kx)
          fill_pointers(tap + static_cast<ptrdiff_t>(kx) * tap_step, pixel_step, r.run, outside, 0);
        continue;
      }
      const T* const from = x + (static_cast<ptrdiff_t>(r.image) * g.h + y) * g.w * g.ic;
      for (int32_t p = in.first == 0 ? in.past : 0; p < r.run; p = p + 1 == in.first ? in.past : p + 1) {
        const T** row = tap + static_cast<ptrdiff_t>(p) * pixel_step;
        int32_t column = r.start + p * window.stride_w;
        if (patches != nullptr) {
          T* const to = patches + (static_cast<ptrdiff_t>(r.before + p) * window.kernel_h + ky) * line;
          patch_line(g, from, padding, column, to);
          *row = to;
          continue;
        }
        for (int32_t kx = 0; kx < across; ++kx, column += window.dilation_w, row += tap_step)
          if (column < 0 || column >= g.w) *row = padding;
      }
    }
  }
}

template <typename T>
void im2col_rows(const ConvGeometry& g, const T* x, const T* padding, int32_t first, int32_t count,
                 T* patches, const T** rows) {
  const ptrdiff_t line = static_cast<ptrdiff_t>(g.window.kernel_w) * g.ic, step = g.im2col_step(),
                  moved = static_cast<ptrdiff_t>(g.window.stride_w) * g.ic;
  const size_t bytes = static_cast<size_t>(line) * sizeof(T);
  fill_pointers<T>(rows, 1, count, reinterpret_cast<uintptr_t>(patches),
                   step * static_cast<ptrdiff_t>(sizeof(T)));
  for (Runs r(g, first, count); r.next();) {
    T* to = patches + r.before * step;
    const InsideRun in = inside_run(r.start, g.window.stride_w, g.w - g.window.kernel_w, r.run);
    int32_t y = r.y;
    for (int32_t ky = 0; ky < g.window.kernel_h; ++ky, y += g.window.dilation_h, to += line) {
      if (y < 0 || y >= g.h) {
        copy_lines<T>(to, step, padding, 0, bytes, r.run);
        continue;
      }
      const T* const from = x + (static_cast<ptrdiff_t>(r.image) * g.h + y) * g.w * g.ic;
      const auto patch = [&](int32_t p) {
        patch_line(g, from, padding, r.start + p * g.window.stride_w, to + p * step);
      };
      for (int32_t p = 0; p < in.first; ++p) patch(p);
      copy_lines<T>(to + in.first * step, step,
                    from + static_cast<ptrdiff_t>(r.start) * g.ic + in.first * moved, moved, bytes,
                    in.past - in.first);
      for (int32_t p = in.past; p < r.run; ++p) patch(p);
    }
  }
}

template void fill_rows(const ConvGeometry&, const int8_t*, const int8_t*, int32_t, int32_t, int32_t, int32_t,
                        int8_t*, const int8_t**);
template void fill_rows(const ConvGeometry&, const float*, const float*, int32_t, int32_t, int32_t, int32_t,
                        float*, const float**);
template void im2col_rows(const ConvGeometry&, const int8_t*, const int8_t*, int32_t, int32_t, int8_t*,
                          const int8_t**);

}  // namespace intaglio

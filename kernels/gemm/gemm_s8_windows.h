// Rows of a matrix product that are windows of a picture, for kernels that use their weights in place.
//
//   rows[r][ky][kx][i] = input[image][out_y * stride_h - pad_top + ky * dilation_h]
//                             [out_x * stride_w - pad_left + kx * dilation_w][i],   i < k
//
// where r = (image * oh + out_y) * ow + out_x, and zero_point outside [0, h) and [0, w). A family of its own: a program of
// fully connected layers links none of it.
//
// input [images][h][w][channels] is args.first_row, from the group's first channel on.
#pragma once

#include "kernels/gemm/gemm_s8.h"

namespace intaglio {

struct GemmS8Windows {
  int32_t h, w, channels;  // channels: all groups', and at least the k of a row
  int32_t oh, ow;
  int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  int32_t zero_point;
};

// The windows kernel beside the gemm kernel of this instruction set, which does not pack; nullptr where this build has not compiled
// it. It may change its args.
using GemmS8WindowsFunction = void(GemmS8Args& args);
GemmS8WindowsFunction* gemm_s8_windows(IsaMask isa);

namespace {  // a copy for each instruction set

// One window.
struct WindowAt {
  int32_t y, x;    // where it starts, perhaps outside
  ptrdiff_t from;  // the same from the input's first code on
  bool inside;     // all of it
};

// Window after window, from number `pixel` on. Divisions: once a walk.
class WindowWalk {
 public:
  WindowWalk(const GemmS8Windows& of, int32_t pixel)
      : of_(of),
        last_y_(of.h - 1 - (of.kernel_h - 1) * of.dilation_h),
        last_x_(of.w - 1 - (of.kernel_w - 1) * of.dilation_w) {
    const int32_t line = pixel / of.ow;
    out_x_ = pixel - line * of.ow;
    image_ = line / of.oh;
    out_y_ = line - image_ * of.oh;
    start_line();
  }

  // From a window to the next of its line.
  ptrdiff_t step() const { return static_cast<ptrdiff_t>(unsigned_step()); }

  WindowAt next() {
    const WindowAt at = {y_, x_, static_cast<ptrdiff_t>(from_), line_inside_ && x_ >= 0 && x_ <= last_x_};
    move(1);
    return at;
  }

  // Whether so many stand in one line, inside.
  bool are_inside(int32_t windows) const {
    return line_inside_ && x_ >= 0 && x_ + (windows - 1) * of_.stride_w <= last_x_ &&
           out_x_ + windows <= of_.ow;
  }

  // The first of so many that stand in one line.
  WindowAt next_in_line(int32_t windows, bool inside) {
    const WindowAt at = {y_, x_, static_cast<ptrdiff_t>(from_), inside};
    move(windows);
    return at;
  }

  // Four windows. True: they stand in one line, inside.
  bool next_four(WindowAt* at) {
    const bool even = are_inside(4);
    if (even) {
      for (int32_t r = 0; r < 4; ++r)
        at[r] = {y_, x_ + r * of_.stride_w, static_cast<ptrdiff_t>(from_) + r * step(), true};
      move(4);
    } else {
      for (int32_t r = 0; r < 4; ++r) at[r] = next();
    }
    return even;
  }

 private:
  size_t unsigned_step() const {
    return static_cast<size_t>(of_.stride_w) * static_cast<size_t>(of_.channels);
  }

  void move(int32_t windows) {
    x_ += windows * of_.stride_w;
    from_ += static_cast<size_t>(windows) * unsigned_step();
    out_x_ += windows;
    if (out_x_ != of_.ow) return;
    out_x_ = 0;
    if (++out_y_ == of_.oh) {
      out_y_ = 0;
      ++image_;
    }
    start_line();
  }

  void start_line() {
    y_ = out_y_ * of_.stride_h - of_.pad_top;
    x_ = out_x_ * of_.stride_w - of_.pad_left;
    const size_t line = static_cast<size_t>(image_) * static_cast<size_t>(of_.h) + static_cast<size_t>(y_);
    from_ = (line * static_cast<size_t>(of_.w) + static_cast<size_t>(x_)) * static_cast<size_t>(of_.channels);
    line_inside_ = y_ >= 0 && y_ <= last_y_;
  }

  const GemmS8Windows& of_;
  int32_t last_y_, last_x_;  // where a window may start that is inside
  int32_t out_x_, out_y_, image_, y_, x_;
  size_t from_;  // WindowAt::from; unsigned, since outside the picture it may wrap, and is not used there
  bool line_inside_;
};

// How a window's codes lie: as `lines` times `runs` runs of `taps` taps, side by side in the input.
struct WindowRuns {
  WindowRuns(const GemmS8Windows& of, int32_t k) {
    const bool whole_lines = of.dilation_w == 1 && k == of.channels;
    taps = whole_lines ? of.kernel_w : 1;
    runs = whole_lines ? 1 : of.kernel_w;
    bytes = taps * k;
    one = of.kernel_h == 1 && runs == 1;
  }
  int32_t taps, runs, bytes;
  bool one;  // a window is one run
};

// Calls copy(from, bytes) and fill(bytes) for the pieces of a window, in order.
template <typename Copy, typename Fill>
inline void for_window(const GemmS8Windows& of, const int8_t* input, const WindowRuns& runs, int32_t k,
                       const WindowAt& at, Copy copy, Fill fill) {
  const ptrdiff_t line = static_cast<ptrdiff_t>(of.w) * of.channels;
  for (int32_t ky = 0, y = at.y; ky < of.kernel_h; ++ky, y += of.dilation_h) {
    if (y < 0 || y >= of.h) {
      fill(runs.bytes * runs.runs);
      continue;
    }
    const ptrdiff_t from = at.from + ky * of.dilation_h * line;
    for (int32_t run = 0, x = at.x; run < runs.runs; ++run, x += of.dilation_w) {
      const int32_t first = x < 0 ? -x : 0, past = of.w - x < runs.taps ? of.w - x : runs.taps;
      if (first >= past) {
        fill(runs.bytes);
        continue;
      }
      if (first > 0) fill(first * k);
      copy(input + from + (static_cast<ptrdiff_t>(run) * of.dilation_w + first) * of.channels,
           (past - first) * k);
      if (past < runs.taps) fill((runs.taps - past) * k);
    }
  }
}

}  // namespace
}  // namespace intaglio

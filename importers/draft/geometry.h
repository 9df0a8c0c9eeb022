// Windows over height and width, as foreign files describe them; axes; and the shapes of results.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

inline constexpr int32_t kMaxWindow = 4096;  // the runtime's

// One axis of a window.
struct WindowAxis {
  int32_t kernel = 1, stride = 1, dilation = 1;
  int32_t before = 0, after = 0;
};

// Throws where a value is outside what operators take.
void check_window_axis(const WindowAxis& axis);
// (in + pads - extent) / stride + 1; throws where the window does not fit.
int32_t window_output(const WindowAxis& axis, int32_t in);
// Pads so that the output is in / stride, rounded up; the odd one behind, or in front with `lower`.
void pad_same(WindowAxis& axis, int32_t in, bool lower);
// More padding behind, so that a window that starts inside counts: output sizes rounded up.
void pad_ceil(WindowAxis& axis, int32_t in);
// [n, h, w, channels] of a picture's windows.
Shape window_shape(const Shape& picture, const WindowAxis& h, const WindowAxis& w, int32_t channels);
Window2d window_of(const WindowAxis& h, const WindowAxis& w, bool count_include_pad = false);
// A 64-bit value from a file as the 32 bits that it needs.
int32_t narrow(int64_t value, const char* what);
// Axes from a file, which may count from the end: each in [0, rank), ascending, each once.
std::vector<int32_t> normal_axes(const std::vector<int64_t>& axes, size_t rank);
int32_t normal_axis(int64_t axis, size_t rank);
// Throws unless an input has the rank.
void check_rank(const Shape& shape, size_t rank);
// Throws unless `permutation` has each axis of `rank` once.
void check_permutation(const Permutation& permutation, size_t rank);

// Shapes of results: the one rule of each operator, which the handlers of every format and the arithmetic of constants ask.

Shape with_rank(Shape shape, size_t rank);              // with axes of 1 in front
Shape broadcast_shape(const Shape& a, const Shape& b);  // each repeated where it is smaller
Shape reduced_shape(const Shape& from, const std::vector<int32_t>& axes, bool keep);  // `axes` ascending
Shape gathered_shape(const Shape& from, int32_t axis, const Shape& indices);
Shape joined_shape(const std::vector<Shape>& parts, int32_t axis);
Shape padded_shape(Shape shape, const std::vector<int32_t>& before, const std::vector<int32_t>& after);

}  // namespace intaglio::importers

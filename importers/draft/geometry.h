// Windows over height and width, as foreign files describe them.
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
// A 64-bit value from a file as the 32 bits that it needs.
int32_t narrow(int64_t value, const char* what);
// Axes from a file, which may count from the end: each in [0, rank), ascending, each once.
std::vector<int32_t> normal_axes(const std::vector<int64_t>& axes, size_t rank);
int32_t normal_axis(int64_t axis, size_t rank);
// Throws unless `permutation` has each axis of `rank` once.
void check_permutation(const Permutation& permutation, size_t rank);

}  // namespace intaglio::importers

// Windows over three dimensions, as windows over height and width: the slices that a window covers stand side by side as
// channels.
#pragma once

#include "importers/draft/draft.h"
#include "importers/draft/geometry.h"

namespace intaglio::importers {

// Which slice of the depth each place of each window reads, [out * kernel]; -1: one of zeros. Throws where the
// list is larger than what the draft's constants leave room for.
std::vector<int32_t> window_slices(const Draft& draft, const WindowAxis& depth, int32_t in, int32_t out);
// The same of a transposed convolution, by the equation in transposed_conv.h.
std::vector<int32_t> transposed_window_slices(const Draft& draft, const WindowAxis& depth, int32_t in,
                                              int32_t out);

// x [n, d, h, w, c] as [n * out, h, w, c * kernel], FP32: each group's channels of the slices `slices[o * kernel + k]` in turn.
int32_t add_stacked_slices(Draft& draft, const std::string& name, const std::string& source, int32_t x,
                           int32_t groups, int32_t kernel, std::vector<int32_t> slices);

}  // namespace intaglio::importers

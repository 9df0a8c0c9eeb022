// A draft as text, to be read by people: one line an input, a node and an output.
//
//   input %0 'image' f32 [1, 32, 32, 3]
//   %4 'relu' f32 [1, 16, 16, 8] = Conv2D(%0, %1 f32 [8, 3, 3, 3] constant, ...) window 3x3 stride 2x2  # 'conv' (Conv)
//   output %4 'relu'
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

std::string draft_text(const Draft& draft);

}  // namespace intaglio::importers

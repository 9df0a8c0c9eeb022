// A node's fused activation as kernels take it.
#pragma once

#include "kernels/arithmetic/canonical_f32.h"
#include "runtime/op.h"

namespace intaglio {

inline ClampF32 fused_clamp(const NodeView& node) {
  const Clamp& clamp = node.options<Clamp>();
  return {clamp.min, clamp.max};
}

}  // namespace intaglio

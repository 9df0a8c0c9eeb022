// How much a fuzzer lets a model compute. More is right, but slow.
#pragma once

#include "intaglio/model.h"

namespace intaglio::fuzz {

// Whether a run takes fewer multiply-accumulates than `most`, with each node counted as if it were a convolution.
inline bool is_small(const Model& model, int64_t most) {
  int64_t work = 0;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const auto window = node.options.value<Window2d>();
    const int64_t taps = int64_t{window.kernel_h} * window.kernel_w;
    const int64_t outputs = model.tensor(node.outputs[0]).shape.elements();
    const int64_t inputs = node.inputs[0] < 0 ? 1 : model.tensor(node.inputs[0]).shape.back(0);
    if (taps < 0 || taps > 4096 || outputs > (1 << 20) || inputs > (1 << 20)) return false;
    work += (taps * outputs / 16 + 1) * inputs;
  }
  return work < most;
}

}  // namespace intaglio::fuzz

// Channels of an int8 graph that hold one code whatever the inputs are.
#pragma once

#include "calibrator/bake/graph.h"

namespace intaglio {

struct RemovedChannels {
  int64_t channels = 0;      // of layers' outputs
  int64_t of_channels = 0;   // that these layers had
  int64_t weight_bytes = 0;  // that went with them
};

// Removes them from the layers that make them, from what carries them on, and from the layers that read them, whose biases take in
// what the codes were worth. Outputs keep their bytes for every input. That a channel is constant is proved by intervals of codes,
// from the inputs on, with the graph's own integers. A channel stays where a graph's input, output or state has it, where a layer
// that pads reads it at another code than its zero point, and where an operator reads it that does not keep channels apart. A layer keeps
// a multiple of four, so that kernels stay fast. `graph` is one before fuse_residual(), and `kept_channels` of a tensor
// says which channels are left.
RemovedChannels remove_constant_channels(Graph& graph, Arena& arena);

}  // namespace intaglio

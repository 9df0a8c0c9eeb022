// Layers whose weights are whole numbers beyond int8, as codes of 8 bits less a zero point are. They stay exact: such a weight is
// the sum of int8 ones, each of which reads its input channel once more.
//
//   x[c] * 135  =  x[c] * 127 + x[c] * 8          behind Concat(x, Gather(x, channels c))
//
// Few channels have such weights in most layers, since only the ends of a range are beyond int8. Channels of a depthwise layer have
// weights of their own: a convolution in groups computes those beside it.
#pragma once

#include <string>
#include <vector>

#include "calibrator/bake/graph.h"

namespace intaglio {

// The end of the names of nodes that are made for such a layer.
inline constexpr char kWideSuffix[] = "/wide";

struct WideLayer {
  int32_t node = -1;
  std::vector<int32_t> codes;  // of its weights, as they lie
  std::vector<float> scales;   // of FP32 weights: one, or one an output channel
};

// Layers of codes whose weights are int16, which only a graph has that is being imported.
std::vector<WideLayer> wide_layers(const Graph& graph);

// A tensor that holds what another one held: of these output channels; none: of all. The other one may be gone.
struct SplitTensor {
  std::string name, of;
  std::vector<int32_t> channels;
};

struct SplitWeights {
  std::string note;  // empty: there were no such layers
  std::vector<SplitTensor> tensors;
};

// Nodes of the graph, each once. FP32 layers compute what they computed, but for roundings, and with these scales their
// weights become the codes.
SplitWeights split_wide_weights(Graph& graph, Arena& arena, const std::vector<WideLayer>& layers);

}  // namespace intaglio

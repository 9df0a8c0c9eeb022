// An FP32 model and the parameters of its slots to the graph of an int8 model.
#pragma once

#include "calibrator/bake/graph.h"
#include "calibrator/quantization/scales.h"
#include "calibrator/quantization/slot_map.h"
#include "calibrator/workspace/float_model.h"
#include "intaglio/calibrator.h"

namespace intaglio {

// A layer's mean outputs over some samples without its bias, once somebody has computed them: of the FP32 layer, and of
// the codes of its weights in int8, both with the mean inputs of the FP32 model.
struct MeanOutputs {
  Span<double> of_reals, of_codes;  // [channels]
  bool knows_reals = false, knows_codes = false;
};

struct BakedLayer {
  QuantizedWeights weights;
  MeanOutputs means[2];  // of each half of the samples
};

// The parts of each FP32 node that the ranges of activations hardly change; empty for one without weights in int8.
struct BakedWeights {
  Span<BakedLayer> layers;
  Arena behind;  // what is left of the arena
};

struct BakeInput {
  const Model* model = nullptr;  // FP32
  SlotMap* slots = nullptr;      // with parameters set; weights and biases get theirs, and are baked
  const CalibratorOptions* options = nullptr;
  // Never nullptr. Where it has layers, an earlier bake() of this model and these options has left them there, and nobody has
  // changed them; else they are put there.
  BakedWeights* weights = nullptr;
  Span<const FunctionFactors> functions;  // as FloatModel::functions
  // Where the codes of weights go, those of the last layer first; nullptr: among all else.
  Arena* codes = nullptr;
};

// Nodes that have an int8 version become int8, the others stay in FP32 with Quantize and Dequantize at their
// borders. Those that give an answer (int8_nodes.h) read int8 and write FP32. Inputs of the model are int8 where the first node that reads them is. An int8 tensor keeps the
// FP32 tensor's name, and so does each node. Where a node reads with other parameters than the tensor was
// written with, a Lookup stands between them. Refused: a config that is unfinished or that int8 cannot hold
// (see deploy.h). `arena` is that of the weights, where these have layers.
Result<Graph> bake(const BakeInput& input, Arena& arena);

// The graph that bake() makes of a model, at most, and what it takes of the arena for it, finish_model()'s multipliers and folded
// biases with it. A slot whose parameters its reader may want otherwise counts a Lookup, a node at a border of FP32 what converts there.
struct BakeCount {
  GraphCount graph;
  uint64_t bytes = 0;
  uint64_t code_bytes = 0;            // of weights, among both
  uint64_t requantization_bytes = 0;  // of multipliers and folded biases, likewise
};
BakeCount count_bake(const Model& model, const CalibratorOptions& options);

// Convolution followed by an Add: the convolution takes the Add's other operand as its residual input.

// Results keep their bits: the convolution's own quantization becomes the intermediate one.
void fuse_residual(Graph& graph, Arena& arena);

}  // namespace intaglio

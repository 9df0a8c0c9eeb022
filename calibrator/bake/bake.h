// An FP32 model and the parameters of its slots to the graph of an int8 model.
#pragma once

#include "calibrator/bake/graph.h"
#include "calibrator/quantization/slot_map.h"
#include "intaglio/calibrator.h"

namespace intaglio {

struct BakeInput {
  const Model* model = nullptr;  // FP32
  SlotMap* slots = nullptr;      // with parameters set; weights and biases get theirs, and are baked
  const CalibratorOptions* options = nullptr;
};

// Nodes that have an int8 version become int8, the others stay in FP32 with Quantize and Dequantize at their
// borders. Those that give an answer (answers.h) read int8 and write FP32. Inputs of the model are int8 where the first node that reads them is. An int8 tensor keeps the
// FP32 tensor's name, and so does each node. Where a node reads with other parameters than the tensor was
// written with, a Lookup stands between them. Refused: a config that is unfinished or that int8 cannot hold
// (see deploy.h).
Result<Graph> bake(const BakeInput& input, Arena& arena);

}  // namespace intaglio

// Where the weights of a model's layer stand in the layer's node of the ONNX file.
#pragma once

#include <string>
#include <vector>

#include "exporters/onnx/onnx_graph.h"
#include "intaglio/model.h"

namespace intaglio::exporters {

struct LayerLayout {
  std::vector<int64_t> dims;  // in the file
  int32_t axis = 0;           // of the output channels there
  std::vector<size_t> order;  // element i of the file is element order[i] of the model
  // The import has taken moves of pixels in front of the Conv into its window: the model's is written.
  bool has_own_window = false;
};

// `layer` is a node of the model with weights, Conv2D, DepthwiseConv2D or FullyConnected, and `node` is its Conv, Gemm,
// MatMul or BatchNormalization. `network` is what the file is imported as, in FP32. Throws ImportError where they do not
// fit each other.
//
//   Conv                [oc, ic, kh, kw] of the model's [oc, kh, kw, ic] or [kh, kw, oc]; with a window of its own the
//                       model's sizes
//   Gemm, MatMul        [k, n], or [n, k] with transB, of [n, k]; columns that the import brought from the order of
//                       NCHW into that of NHWC go back
//   BatchNormalization  [c, 1, 1, 1] of [1, 1, c]: a depthwise convolution is written
LayerLayout layer_layout(const OnnxGraph& graph, const OnnxNode& node, const Model& model,
                         const NodeInfo& layer, const Model& network);

}  // namespace intaglio::exporters

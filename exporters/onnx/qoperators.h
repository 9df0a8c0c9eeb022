// Operators between quantizers as operators of codes.
#pragma once

#include "exporters/onnx/onnx_graph.h"

namespace intaglio::exporters {

inline constexpr char kCodeOperatorsDomain[] = "com.microsoft";  // of those that ONNX itself does not have

// Rewrites a graph of opset 13 with QuantizeLinear and DequantizeLinear: what reads dequantized values alone and is read by one
// QuantizeLinear becomes QLinearConv, QGemm, QLinearMatMul, QLinearAdd and the like, or moves codes as it moved numbers. A bound between the
// two goes where the codes saturate at it. Everything else stays as it is, and so does a MatMul with an Add behind it.
void to_qoperators(OnnxGraph& graph);

}  // namespace intaglio::exporters

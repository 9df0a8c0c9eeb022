// Bounds of codes between QuantizeLinear and DequantizeLinear, as a reduced range has them.
#pragma once

#include "importers/onnx/onnx_op.h"

namespace intaglio::importers {

// Whether input i is an activation of codes: of int8 here, or of FP32 that stands for codes of 16 bits.
bool holds_codes(const OnnxOp& op, int i);
// The output becomes the codes of input i from `low` to `high`, both counted as the file counts; infinite: no bound.
void set_bounded_codes(OnnxOp& op, int i, double low, double high);

}  // namespace intaglio::importers

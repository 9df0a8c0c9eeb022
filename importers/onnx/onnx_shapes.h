// Shapes that Squeeze, Unsqueeze and Flatten make, of activations and of constants.
#pragma once

#include "importers/onnx/onnx_op.h"

namespace intaglio::importers {

Shape squeezed_shape(OnnxOp& op, const Shape& from);
Shape unsqueezed_shape(OnnxOp& op, const Shape& from);
Shape flattened_shape(OnnxOp& op, const Shape& from);

}  // namespace intaglio::importers

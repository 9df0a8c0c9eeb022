// Inputs and results of operators on constants alone.
#pragma once

#include "importers/draft/constant_values.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {

Values folded_input(OnnxOp& op, int input);
// Integers have the type that the operator gives, where it is one of codes or of bools.
void set_folded(OnnxOp& op, const Values& values, int output = 0);

}  // namespace intaglio::importers

// Inputs of an ONNX file that are constants, because the user says so.
#pragma once

#include "importers/draft/input_constant.h"
#include "importers/onnx/onnx_op.h"

namespace intaglio::importers {

// They become constants of the file. Throws where one is no input, or where its values do not fit it.
void take_onnx_constants(const onnx_file::GraphProto& graph, const std::vector<InputConstant>& given,
                         OnnxFile& file);

// What is said of an If whose condition `name` a run computes: of which inputs, and that --constant takes them out of it.
std::string words_of_condition(const onnx_file::GraphProto& graph, const std::string& name);

}  // namespace intaglio::importers

// The attributes of a Scan about its inputs and outputs.
#pragma once

#include "importers/onnx/onnx_decomposer.h"

namespace intaglio::importers {

struct OnnxScan {
  struct Slices {
    int64_t axis;
    bool is_backwards;
  };
  int states = 0;  // before the inputs, and before the outputs, in slices
  std::vector<Slices> inputs, outputs;
  int32_t runs = 0;
};
OnnxScan read_onnx_scan(const OnnxOp& op, const OnnxDecomposer& node, const onnx_file::GraphProto& body);

}  // namespace intaglio::importers

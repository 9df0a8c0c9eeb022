// What a node's view says and makes of integers.
#include <algorithm>

#include "importers/onnx/onnx_op.h"

namespace intaglio::importers {

int32_t OnnxOp::index_activation(int i) {
  const int32_t tensor = any_activation(i);
  if (!is_integer(i)) fail("input ", i, " (", quoted(node_.input(i)), ") must hold integers");
  return as_index(tensor);
}

int32_t OnnxOp::as_real(int32_t tensor) { return file_.casts.as_real(draft(), source(), tensor); }
int32_t OnnxOp::as_index(int32_t tensor) { return file_.casts.as_index(draft(), source(), tensor); }

bool OnnxOp::take_plain_codes(int i, float scale, int32_t zero_point) {
  const int32_t tensor = any_activation(i);
  if (!is_integer(i) || !is_model_input(draft(), tensor)) return false;
  for (const DraftNode& node : draft().nodes)
    if (std::find(node.inputs.begin(), node.inputs.end(), tensor) != node.inputs.end()) return false;
  draft().tensor(tensor).scales = {scale};
  draft().tensor(tensor).zero_point = zero_point;
  file_.values[node_.input(i)].is_integer = false;
  return true;
}

// Of integers, bools and constants alone: then so is the result. Constants of reals make it real.
bool OnnxOp::computes_integers() const {
  bool any = false;
  for (const std::string& name : node_.input()) {
    const auto found = file_.values.find(name);
    if (name.empty() || found == file_.values.end()) continue;
    const OnnxValue& input = found->second;
    if (input.constant != nullptr ? OnnxOp::is_real(*input.constant) : !input.is_integer) return false;
    any = any || input.constant == nullptr || file_.evaluation != nullptr;
  }
  return any;
}

}  // namespace intaglio::importers

// What a node's view says and makes of integers.
#include <algorithm>
#include <cmath>

#include "importers/onnx/onnx_op.h"

namespace intaglio::importers {

using onnx_file::TensorProto;

int32_t OnnxOp::index_activation(int i) {
  const int32_t tensor = any_activation(i);
  if (!is_integer(i)) fail("input ", i, " (", quoted(node_.input[i]), ") must hold integers");
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
  file_.values[node_.input[i]].is_integer = false;
  return true;
}

OnnxCodes onnx_codes_read(const OnnxFile& file, const onnx_file::NodeProto& node) {
  OnnxCodes codes;
  for (const std::string& name : node.input) {
    const auto found = file.values.find(name);
    if (found == file.values.end()) continue;
    const OnnxValue& value = found->second;
    const OnnxCodes own =
        value.constant == nullptr ? value.codes : OnnxCodes{value.constant->data_type, 0.0f, 0};
    if (!is_onnx_code(own.type)) continue;
    if (codes.type == 0)
      codes = own;
    else if (own.scale != codes.scale || own.zero_point != codes.zero_point)
      codes.scale = NAN;
  }
  return codes;
}

int64_t OnnxOp::type_of_codes(int i) const {
  if (!is_constant(i)) return value(i).codes.type;
  return is_onnx_code(type_of_constant(i)) ? type_of_constant(i) : 0;
}

void OnnxOp::set_codes_output(int32_t tensor, const OnnxCodes& codes) {
  set_value({tensor, nullptr, false, false, false, codes});
}

// Of integers, bools and constants alone: then so is the result. Constants of reals make it real.
bool OnnxOp::computes_integers() const {
  bool any = false;
  for (const std::string& name : node_.input) {
    const auto found = file_.values.find(name);
    if (name.empty() || found == file_.values.end()) continue;
    const OnnxValue& input = found->second;
    if (input.constant != nullptr ? OnnxOp::is_real(*input.constant) : !input.is_integer) return false;
    any = any || input.constant == nullptr || file_.evaluation != nullptr;
  }
  return any;
}

bool OnnxOp::is_truth(int i) const {
  const OnnxValue& input = value(i);
  return input.constant == nullptr ? input.is_truth : input.constant->data_type == TensorProto::BOOL;
}

// Of operators that give no bools of their own, the result has the type of the first input, or of the first that is chosen from.
bool OnnxOp::hands_on_truth() const {
  const int input = source() == "Where" ? 1 : 0;
  const bool is_known = has_input(input) && file_.values.count(input_name(input)) != 0;
  return is_known && is_truth(input);
}

void OnnxOp::set_truth_output(int32_t tensor) {
  set_output(tensor);
  note_truth();
}

void OnnxOp::note_truth(int i) {
  const auto found = file_.values.find(output_name(i));
  if (found != file_.values.end()) found->second.is_truth = true;
}

bool OnnxOp::is_whole(int i) const { return value(i).is_whole; }

void OnnxOp::note_whole() {
  const auto found = file_.values.find(output_name(0));
  if (found != file_.values.end()) found->second.is_whole = true;
}

}  // namespace intaglio::importers

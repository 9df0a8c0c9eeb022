// Operators of constants: through their own handlers, and then run.
#include <algorithm>
#include <cmath>

#include "importers/onnx/onnx_op.h"

namespace intaglio::importers {
bool OnnxOp::is_integer(int i) const {
  const OnnxValue& input = value(i);
  return input.constant == nullptr ? input.is_integer : !is_real(*input.constant);
}

// A constant as an input of what is run.
int32_t OnnxOp::evaluated_input(int i) {
  const auto known = file_.evaluated.find(node_.input[i]);
  if (known != file_.evaluated.end()) return known->second;
  DraftTensor constant;
  constant.name = node_.input[i];
  if (is_constant_of_reals(i)) {
    const OnnxConstant<float> reals = floats(i);
    constant.shape = reals.shape;
    set_values(constant, reals.values);
  } else {
    const OnnxConstant<int64_t> given = integers(i);
    constant.shape = given.shape;
    constant.dtype = DType::kS32;
    std::vector<int32_t> narrowed;
    for (const int64_t number : given.values) narrowed.push_back(narrow(number, "number"));
    set_values(constant, narrowed);
  }
  return file_.evaluated[node_.input[i]] = file_.evaluation->input(std::move(constant));
}

void OnnxOp::set_evaluated(const DraftTensor& result, const OnnxValue& made, int i) {
  bool of_numbers =
      elements(result.shape) == 1;  // of single numbers a single number, which the draft has as [1]
  for (int input = 0; input < input_count(); ++input)
    if (has_input(input)) of_numbers = of_numbers && value(input).constant->dims.count() == 0;
  const Shape shape = of_numbers ? Shape() : result.shape;
  if (result.dtype == DType::kF32 && !made.is_integer && !made.is_truth)
    return set_floats({shape, values_of<float>(result)}, i);
  OnnxConstant<int64_t> integers{shape, {}};
  if (result.dtype == DType::kF32)
    for (const float number : values_of<float>(result)) integers.values.push_back(std::llrint(number));
  else if (result.dtype == DType::kS32)
    for (const int32_t number : values_of<int32_t>(result)) integers.values.push_back(number);
  else
    fail("it gives codes of constants, which is not supported");
  if (made.is_truth) return set_codes(integers, onnx_file::TensorProto::BOOL, i);
  set_integers(integers, i);
}

void OnnxOp::evaluate(void (*import)(OnnxOp& op)) {
  std::vector<DraftTensor> results;
  std::vector<std::pair<int, OnnxValue>> outputs;
  {
    const EvaluationScope scope(file_);
    import(*this);
    check_all_read();
    std::vector<int32_t> tensors;
    for (int i = 0; i < output_count(); ++i) {
      const auto found = file_.values.find(output_name(i));
      if (output_name(i).empty() || found == file_.values.end() ||
          !file_.evaluation->has_made(found->second.tensor))
        continue;
      tensors.push_back(found->second.tensor);
      outputs.emplace_back(i, found->second);
      file_.values.erase(found);
    }
    if (!tensors.empty()) results = file_.evaluation->finish(tensors);
  }
  for (size_t i = 0; i < results.size(); ++i) set_evaluated(results[i], outputs[i].second, outputs[i].first);
}

}  // namespace intaglio::importers

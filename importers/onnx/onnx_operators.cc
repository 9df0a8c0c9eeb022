#include "importers/onnx/onnx_operators.h"

#include <algorithm>

namespace intaglio::importers {
namespace {

using Family = Span<const OnnxOperator> (*)();

constexpr Family kFamilies[] = {
    onnx_attention_operators,   onnx_binary_operators,        onnx_classical_operators, onnx_conv_operators,
    onnx_elementwise_operators, onnx_fake_quantize_operators, onnx_integer_operators,   onnx_linear_operators,
    onnx_logic_operators,       onnx_norm_operators,          onnx_pieces_operators,    onnx_pool_operators,
    onnx_quantized_operators,   onnx_recurrent_operators,     onnx_reduce_operators,    onnx_repeat_operators,
    onnx_resize_operators,      onnx_scatter_operators,       onnx_shape_operators,
};

// An activation becomes int8 by Quantize and Dequantize around it, so each of its operators must have such a form.
bool has_int8_form(const OnnxOperator& row) {
  return std::all_of(std::begin(row.becomes), std::end(row.becomes), [](Op op) {
    return op == Op::kNone || op == Op::kQuantize || op == Op::kDequantize || op == Op::kLookup ||
           traits(op).int8 != Int8Form::kNone;
  });
}

}  // namespace

const OnnxOperator* find_onnx_operator(const std::string& domain, const std::string& op_type) {
  const std::string known = is_standard_onnx(domain) ? "" : domain;
  for (const Family family : kFamilies)
    for (const OnnxOperator& row : family())
      if (known == row.domain && op_type == row.op_type) return &row;
  return nullptr;
}

std::vector<ImportedOperator> onnx_operators() {
  std::vector<ImportedOperator> list = decomposed_onnx_operators();
  for (const Family family : kFamilies)
    for (const OnnxOperator& row : family())
      list.push_back(imported_operator(row.domain, row.op_type, row.becomes, row.limits, has_int8_form(row)));
  constexpr Op kBranch[] = {Op::kNone};  // the reader itself takes it
  list.push_back(imported_operator(
      "", "If", kBranch,
      "Where constants and shapes decide its condition, the branch that it takes stands there. Else a run computes both, which "
      "give the same shapes.",
      true));
  list.push_back(imported_operator(
      "", "Loop", kBranch,
      "Constants and shapes decide how often it runs: so many copies of its body stand there.", true));
  list.push_back(imported_operator(
      "", "Scan", kBranch,
      "As many copies of its body stand there as its inputs have slices. Before opset 9: sequence_lens are constants.",
      true));
  for (const std::string& name : folded_onnx_operators()) add_folded(list, name);
  std::sort(list.begin(), list.end(), by_name);
  return list;
}

}  // namespace intaglio::importers

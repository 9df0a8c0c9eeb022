#include "importers/onnx/onnx_code_bounds.h"

#include <algorithm>
#include <cmath>

namespace intaglio::importers {
namespace {

// The reals that were quantized to these codes, where a node computed them: bounds go into that node then.
int32_t quantized_reals(Draft& draft, int32_t codes) {
  for (auto node = draft.nodes.rbegin(); node != draft.nodes.rend(); ++node) {
    draft.budget->spend_work(1, "what writes codes");
    if (node->outputs[0] != codes) continue;
    return node->op == Op::kQuantize && !is_model_input(draft, node->input()) ? node->input() : -1;
  }
  return -1;
}

int32_t add_bounded(OnnxOp& op, int32_t x, float low, float high) {
  const int32_t y = op.new_tensor(op.draft().tensor(x).shape);
  auto& bounds = op.add(Op::kClamp, {x}, y).options.as<Clamp>();
  bounds.min = low;
  bounds.max = high;
  return y;
}

// The real value of a code of input i in the tensor's own scale.
float real_of_bound(const OnnxOp& op, int i, double code) {
  if (std::isinf(code)) return static_cast<float>(code);
  const OnnxCodes& codes = op.codes_of(i);
  if (op.is_int8_codes(i)) {
    const DraftTensor& tensor = op.tensor_of(i);
    const double own = std::clamp(code - op.middle_code(i), -128.0, 127.0);
    return tensor.scales[0] * static_cast<float>(own - tensor.zero_point);
  }
  if (std::isnan(codes.scale)) fail("its codes come from several scales, which is not supported of these");
  return codes.scale * static_cast<float>(code - static_cast<double>(codes.zero_point));
}

}  // namespace

bool holds_codes(const OnnxOp& op, int i) {
  return op.has_input(i) && !op.is_constant(i) && (op.is_int8_codes(i) || op.codes_of(i).scale != 0.0f);
}

// Rounding keeps the order of numbers, and a bound is a code's own number: so it may stand on either side of the rounding.
void set_bounded_codes(OnnxOp& op, int i, double low, double high) {
  if (!(low <= high)) fail("it clips to ", low, " and ", high, "; the first must not be above the second");
  Draft& draft = op.draft();
  const float least = real_of_bound(op, i, low), most = real_of_bound(op, i, high);
  const int32_t x = op.activation_or_codes(i);
  if (!op.is_int8_codes(i)) return op.set_codes_output(add_bounded(op, x, least, most), op.codes_of(i));
  const OnnxCodes codes{op.type_of_codes(i), 0.0f, 0};
  int32_t reals = quantized_reals(draft, x);
  if (reals < 0) op.add(Op::kDequantize, {x}, reals = op.new_tensor(draft.tensor(x).shape));
  const int32_t bounded = add_bounded(op, reals, least, most);
  const int32_t y = op.new_tensor_like(x, draft.tensor(x).shape);
  op.add(Op::kQuantize, {bounded}, y);
  op.set_codes_output(y, codes);
}

}  // namespace intaglio::importers

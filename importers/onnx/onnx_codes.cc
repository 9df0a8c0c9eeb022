#include "importers/onnx/onnx_operators.h"

#include <algorithm>
#include <cmath>

namespace intaglio::importers {

void check_scale(float scale, int least) {
  if (!(scale >= std::ldexp(1.0f, least) && scale <= std::ldexp(1.0f, kMostScale)))
    fail("the scale ", scale, " is not within 2^", least, " to 2^", kMostScale);
}

int32_t add_codes(OnnxOp& op, const std::string& name, const Shape& shape, float scale, int64_t zero_point) {
  if (zero_point < -128 || zero_point > 127) fail("its zero point lies outside the codes");
  const int32_t y = add_activation(op.draft(), name, DType::kS8, shape);
  op.draft().tensor(y).scales = {scale};
  op.draft().tensor(y).zero_point = static_cast<int32_t>(zero_point);
  return y;
}

ChannelGrids::ChannelGrids(std::vector<float> scales, const std::vector<int64_t>& zero_points, int32_t axis)
    : scales_(std::move(scales)),
      axis_(axis),
      scale_(*std::max_element(scales_.begin(), scales_.end())),
      zero_point_(zero_points[static_cast<size_t>(std::find(scales_.begin(), scales_.end(), scale_) -
                                                  scales_.begin())]) {
  // A channel that is nearly dead, whose 256 codes together are less than half a step of the widest channel, has any zero point:
  // quantizers give such one of their own.
  constexpr float kDead = 1.0f / 512;
  for (size_t c = 0; c < scales_.size(); ++c) {
    const bool is_dead = scales_[c] < kDead * scale_;
    moves_.push_back(is_dead ? 0.0f : scale_ * static_cast<float>(zero_points[c] - zero_point_));
  }
}

int32_t ChannelGrids::to_common(OnnxOp& op, int32_t x) const {
  std::vector<float> factors;
  for (const float scale : scales_) factors.push_back(scale > 0 ? scale_ / scale : 1.0f);
  const int32_t product = with_constant(op, Op::kMul, x, "/common_scale", factors);
  return has_moves() ? with_constant(op, Op::kAdd, product, "/common_zero", moves_) : product;
}

int32_t ChannelGrids::to_own(OnnxOp& op, int32_t y) const {
  std::vector<float> factors, moves;
  for (size_t c = 0; c < scales_.size(); ++c) {
    factors.push_back(scales_[c] / scale_);
    moves.push_back(-moves_[c]);
  }
  const int32_t moved = has_moves() ? with_constant(op, Op::kAdd, y, "/own_zero", moves) : y;
  return with_constant(op, Op::kMul, moved, "/own_scale", factors);
}

bool ChannelGrids::has_moves() const {
  return std::any_of(moves_.begin(), moves_.end(), [](float move) { return move != 0.0f; });
}

int32_t ChannelGrids::with_constant(OnnxOp& op, Op kind, int32_t x, const std::string& end,
                                    const std::vector<float>& values) const {
  Draft& draft = op.draft();
  const Shape shape = draft.tensor(x).shape;
  Shape channels(shape.size(), 1);
  channels[static_cast<size_t>(axis_)] = static_cast<int32_t>(values.size());
  const std::string name = op.output_name() + end;
  const int32_t constant = add_constant(draft, name + "s", DType::kF32, channels, values);
  const int32_t y = add_activation(draft, name, DType::kF32, shape);
  op.add(kind, {x, constant}, y);
  return y;
}

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
  if (reals < 0) reals = add_unary(op, Op::kDequantize, x);
  const int32_t bounded = add_bounded(op, reals, least, most);
  const int32_t y = op.new_tensor_like(x, draft.tensor(x).shape);
  op.add(Op::kQuantize, {bounded}, y);
  op.set_codes_output(y, codes);
}

}  // namespace intaglio::importers

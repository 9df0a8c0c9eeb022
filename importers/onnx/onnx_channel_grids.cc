#include "importers/onnx/onnx_channel_grids.h"

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

}  // namespace intaglio::importers

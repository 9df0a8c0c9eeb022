// ONNX operators of quantized models. Activations become Quantize and Dequantize nodes, which a pass then
// takes into the nodes between them; constants become FP32 that remembers its grid.
#include <algorithm>
#include <cmath>

#include "importers/draft/quantized_tables.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

using Type = onnx_file::TensorProto;

// `least` exponent: weights of dead channels may have a scale far below that of any tensor.
constexpr int kLeastScale = -40, kLeastWeightScale = -120;

void check_scale(float scale, int least = kLeastScale) {
  if (scale > 0.0f && scale < std::ldexp(1.0f, kLeastScale) && scale >= std::ldexp(1.0f, least)) return;
  if (!(scale >= std::ldexp(1.0f, -40) && scale <= std::ldexp(1.0f, 40)))
    fail("the scale ", scale, " is not within 2^-40 to 2^40");
}

// Scales and zero points of inputs 1 and 2; zero points as the file has them.
struct Parameters {
  std::vector<float> scales;
  std::vector<int64_t> zero_points;  // as many
  Type::DataType type = Type::INT8;  // of the codes
  bool is_unsigned = false;
  bool has_16_bits = false;
  int32_t axis = -1;  // -1: one for all

  int64_t least() const { return is_unsigned ? 0 : has_16_bits ? -32768 : -128; }
  int64_t most() const { return least() + (has_16_bits ? 65535 : 255); }
};

// The element type of the codes that a QuantizeLinear gives: its zero point's, else the one that it names.
int64_t type_given(OnnxOp& op) {
  const int64_t of_zero_point = op.has_input(2) ? op.type_of_codes(2) : 0,
                named = op.integer("output_dtype", 0);
  if (named != 0 && of_zero_point != 0 && named != of_zero_point)
    fail("its output type is ", onnx_type_name(named), " and its zero point is ",
         onnx_type_name(of_zero_point));
  if (named != 0) return named;
  if (of_zero_point != 0) return of_zero_point;
  return op.has_input(2) ? Type::INT8 : Type::UINT8;
}

// Of those that a DequantizeLinear takes: their own. Of constants that were computed it may not be known; then it is the
// zero point's.
int64_t type_taken(OnnxOp& op) {
  const int64_t own = op.type_of_codes(0), of_zero_point = op.has_input(2) ? op.type_of_codes(2) : 0;
  if (own != 0 && of_zero_point != 0 && own != of_zero_point)
    fail("its codes are ", onnx_type_name(own), " and its zero point is ", onnx_type_name(of_zero_point));
  const int64_t given = op.integer("output_dtype", 0);
  if (given != 0 && !is_onnx_real(given))
    fail("its output type is ", onnx_type_name(given), "; float, float16, double and bfloat16 are supported");
  return own != 0 ? own : of_zero_point != 0 ? of_zero_point : int64_t{Type::INT8};
}

Parameters read_parameters(OnnxOp& op, const Shape& shape, int64_t type, int least_scale = kLeastScale) {
  op.check_inputs(2, 3);
  Parameters p;
  p.scales = op.floats(1).values;
  if (p.scales.empty()) fail("it has no scale");
  for (const float scale : p.scales) check_scale(scale, least_scale);
  if (op.integer("block_size", 0) != 0) fail("blocked quantization is not supported");
  const int64_t given_axis = op.integer("axis", 1);
  op.ignore("saturate");
  if (p.scales.size() > 1) {
    p.axis = normal_axis(given_axis, shape.size());
    if (shape[static_cast<size_t>(p.axis)] != static_cast<int32_t>(p.scales.size()))
      fail(p.scales.size(), " scales do not fit axis ", p.axis, " of ", shape_text(shape));
  }
  if (!is_onnx_code(type))
    fail("codes of type ", onnx_type_name(type), " are not supported; those of 8 and 16 bits are");
  p.type = static_cast<Type::DataType>(type);
  p.is_unsigned = type == Type::UINT8 || type == Type::UINT16;
  p.has_16_bits = type == Type::UINT16 || type == Type::INT16;
  p.zero_points.assign(p.scales.size(), 0);
  if (!op.has_input(2)) return p;
  const auto zero_points = op.integers(2).values;
  if (zero_points.size() != p.scales.size())
    fail("it has ", zero_points.size(), " zero points for ", p.scales.size(), " scales");
  for (const int64_t zero_point : zero_points)
    if (zero_point < p.least() || zero_point > p.most())
      fail("the zero point ", zero_point, " is not allowed");
  p.zero_points = zero_points;
  return p;
}

// An int8 tensor in place of x, quantized so.
int32_t quantized(OnnxOp& op, const std::string& name, const Shape& shape, float scale, int64_t zero_point) {
  if (zero_point < -128 || zero_point > 127) fail("its zero point lies outside the codes");
  const int32_t y = add_activation(op.draft(), name, DType::kS8, shape);
  op.draft().tensor(y).scales = {scale};
  op.draft().tensor(y).zero_point = static_cast<int32_t>(zero_point);
  return y;
}

// Activations with a scale for each channel. The codes are of one tensor with one scale and zero point; the channels'
// own come before Quantize and behind Dequantize, as factors and addends:
//
//   code = round(x / s[c]) + z[c] = round((x * s / s[c] + (z[c] - z) * s) / s) + z
class ChannelGrids {
 public:
  // A scale of 0: a channel whose value is 0, whatever the code.
  ChannelGrids(std::vector<float> scales, const std::vector<int64_t>& zero_points, int32_t axis)
      : scales_(std::move(scales)),
        axis_(axis),
        scale_(*std::max_element(scales_.begin(), scales_.end())),
        zero_point_(zero_points[0]) {
    for (const int64_t zero_point : zero_points)
      moves_.push_back(scale_ * static_cast<float>(zero_point - zero_point_));
  }
  float scale() const { return scale_; }
  int64_t zero_point() const { return zero_point_; }
  bool is_per_channel() const { return axis_ >= 0; }

  // What is quantized in place of x.
  int32_t to_common(OnnxOp& op, int32_t x) const {
    std::vector<float> factors;
    for (const float scale : scales_) factors.push_back(scale > 0 ? scale_ / scale : 1.0f);
    const int32_t product = with_constant(op, Op::kMul, x, "/common_scale", factors);
    return has_moves() ? with_constant(op, Op::kAdd, product, "/common_zero", moves_) : product;
  }
  // What the codes stand for, of y, their real numbers in the common scale.
  int32_t to_own(OnnxOp& op, int32_t y) const {
    std::vector<float> factors, moves;
    for (size_t c = 0; c < scales_.size(); ++c) {
      factors.push_back(scales_[c] / scale_);
      moves.push_back(-moves_[c]);
    }
    const int32_t moved = has_moves() ? with_constant(op, Op::kAdd, y, "/own_zero", moves) : y;
    return with_constant(op, Op::kMul, moved, "/own_scale", factors);
  }

 private:
  bool has_moves() const {
    return std::any_of(moves_.begin(), moves_.end(), [](float move) { return move != 0.0f; });
  }
  int32_t with_constant(OnnxOp& op, Op kind, int32_t x, const std::string& end,
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

  std::vector<float> scales_, moves_;
  int32_t axis_;
  float scale_;
  int64_t zero_point_;
};

// A constant FakeQuantize's range, with one value or one for each index of an axis.
struct Range {
  std::vector<float> values;
  int32_t axis = -1;
};

Range read_range(OnnxOp& op, int input, const Shape& shape) {
  const OnnxConstant<float> constant = op.floats(input);
  Range range{constant.values, -1};
  if (range.values.size() == 1) return range;
  if (constant.shape.size() > shape.size()) fail("its ranges do not fit ", shape_text(shape));
  const size_t missing = shape.size() - constant.shape.size();
  for (size_t d = 0; d < constant.shape.size(); ++d) {
    if (constant.shape[d] == 1) continue;
    if (range.axis >= 0 || constant.shape[d] != shape[missing + d])
      fail("its ranges do not fit ", shape_text(shape));
    range.axis = static_cast<int32_t>(missing + d);
  }
  if (range.axis < 0) fail("its ranges are empty");
  return range;
}

void fake_quantize_constant(OnnxOp& op, int64_t levels) {
  OnnxConstant<float> x = op.floats(0);
  const Range ranges[4] = {read_range(op, 1, x.shape), read_range(op, 2, x.shape), read_range(op, 3, x.shape),
                           read_range(op, 4, x.shape)};
  OnnxGrid grid;
  grid.axis = ranges[3].axis;
  const auto of = [&](int i, size_t element) {
    const Range& range = ranges[i];
    const size_t channel = element / elements_behind(x.shape, range.axis) % range.values.size();
    return range.values[channel];
  };
  const auto steps = static_cast<float>(levels - 1);
  const bool is_per_channel = grid.axis >= 0;
  for (size_t i = 0; i < x.values.size(); ++i) {
    const float low = of(0, i), high = of(1, i), to_low = of(2, i), to_high = of(3, i);
    if (is_per_channel && low == 0 && high == 0 && to_low == 0 &&
        to_high == 0) {  // a dead channel among others
      x.values[i] = 0;
      continue;
    }
    if (!(high > low)) fail("its range ", low, " to ", high, " is empty");
    const float step = std::nearbyint((std::clamp(x.values[i], low, high) - low) / (high - low) * steps);
    x.values[i] = step / steps * (to_high - to_low) + to_low;
  }
  // Whether 0 is one of its values.
  bool on_grid = ranges[2].axis == ranges[3].axis;
  for (size_t c = 0; on_grid && c < ranges[3].values.size(); ++c) {
    const float low = ranges[2].values[c], high = ranges[3].values[c];
    const bool is_dead = is_per_channel && low == 0 && high == 0;
    const float scale = is_dead ? std::ldexp(1.0f, kLeastScale) : (high - low) / steps;
    check_scale(scale);
    grid.scales.push_back(scale);
    on_grid = on_grid && std::fabs(low / scale - std::nearbyint(low / scale)) < 0.02f;
  }
  op.set_floats(x);
  if (on_grid) op.set_grid(grid);
}

// What stands for codes of 16 bits: FP32, which ends where they do.
int32_t within_codes(OnnxOp& op, int32_t x, const Parameters& p) {
  if (p.axis >= 0) fail("a scale for each channel of 16-bit codes is not supported");
  const int32_t y = op.new_tensor(op.draft().tensor(x).shape);
  auto& bounds = op.add(Op::kClamp, {x}, y).options.as<Clamp>();
  bounds.min = static_cast<float>(p.least() - p.zero_points[0]) * p.scales[0];
  bounds.max = static_cast<float>(p.most() - p.zero_points[0]) * p.scales[0];
  return y;
}

void import_quantize_linear(OnnxOp& op) {
  if (op.is_constant(0)) {
    const OnnxConstant<float> x = op.floats(0);
    const Parameters p = read_parameters(op, x.shape, type_given(op));
    OnnxConstant<int64_t> codes{x.shape, {}};
    for (size_t i = 0; i < x.values.size(); ++i) {
      const size_t c = i / elements_behind(x.shape, p.axis) % p.scales.size();
      if (!std::isfinite(x.values[i])) fail("its constant holds ", x.values[i]);
      const double code =
          std::nearbyint(double{x.values[i]} / p.scales[c]) + static_cast<double>(p.zero_points[c]);
      codes.values.push_back(static_cast<int64_t>(
          std::clamp(code, static_cast<double>(p.least()), static_cast<double>(p.most()))));
    }
    return op.set_codes(codes, p.type);
  }
  const int32_t x = op.activation(0);
  const Shape shape = op.draft().tensor(x).shape;
  const Parameters p = read_parameters(op, shape, type_given(op));
  if (p.has_16_bits) return op.set_codes_output(within_codes(op, x, p), p.type);
  const ChannelGrids grids(p.scales, p.zero_points, p.axis);
  const int32_t y =
      quantized(op, op.output_name(), shape, grids.scale(), grids.zero_point() - (p.is_unsigned ? 128 : 0));
  op.add(Op::kQuantize, {grids.is_per_channel() ? grids.to_common(op, x) : x}, y);
  op.set_codes_output(y, p.type);
}

void import_dequantize_linear(OnnxOp& op) {
  if (!op.is_constant(0)) {
    const int32_t x = op.activation_or_codes(0);
    const Shape shape = op.draft().tensor(x).shape;
    const Parameters p = read_parameters(op, shape, type_taken(op));
    const DraftTensor info = op.draft().tensor(x);
    if (p.has_16_bits && info.dtype == DType::kF32) return op.set_codes_output(x, 0);
    if (info.dtype != DType::kS8) fail("it must take what a QuantizeLinear gives");
    const ChannelGrids grids(p.scales, p.zero_points, p.axis);
    const int64_t zero_point = grids.zero_point() - (p.is_unsigned ? 128 : 0);
    int32_t codes = x;
    if (zero_point < -128 || zero_point > 127) fail("its zero point lies outside the codes");
    const bool as_written = op.take_plain_codes(0, grids.scale(), static_cast<int32_t>(zero_point)) ||
                            (info.scales[0] == grids.scale() && info.zero_point == zero_point);
    if (!as_written) {
      codes = quantized(op, op.output_name() + "/codes", shape, grids.scale(), zero_point);
      add_same_codes(op.draft(), op.name(), op.source(), x, codes);
    }
    const int32_t y = op.new_tensor(shape);
    op.add(Op::kDequantize, {codes}, y);
    return op.set_codes_output(grids.is_per_channel() ? grids.to_own(op, y) : y, 0);
  }
  const OnnxConstant<int64_t> x = op.integers(0);
  const Parameters p = read_parameters(op, x.shape, type_taken(op), kLeastWeightScale);
  OnnxConstant<float> y{x.shape, {}};
  for (size_t i = 0; i < x.values.size(); ++i) {
    const size_t c = i / elements_behind(x.shape, p.axis) % p.scales.size();
    y.values.push_back((static_cast<float>(x.values[i]) - static_cast<float>(p.zero_points[c])) *
                       p.scales[c]);
  }
  op.set_floats(y);
  if (!p.has_16_bits) op.set_grid({p.scales, p.axis});
}

// `distance` of 0 from the range's values, in steps.
void count_range(OnnxRangeCounts& counts, double distance, bool is_odd) {
  constexpr double kRounding = 0.01;
  ++counts.all;
  counts.odd += is_odd;
  counts.moved += distance > kRounding;
  counts.furthest = std::max(counts.furthest, distance);
}

// The int8 grid of an activation's range, or of one range a channel. 0 becomes a code wherever it stood.
ChannelGrids grids_of(OnnxOp& op, const Range& low, const Range& high, int64_t levels) {
  if (low.axis >= 0 && high.axis >= 0 && low.axis != high.axis) fail("its ranges have different axes");
  const int32_t axis = std::max(low.axis, high.axis);
  const size_t channels = std::max(low.values.size(), high.values.size());
  const auto steps = static_cast<float>(levels - 1);
  std::vector<float> scales;
  std::vector<int64_t> zero_points;
  for (size_t c = 0; c < channels; ++c) {
    const float lowest = low.values[low.values.size() == 1 ? 0 : c],
                highest = high.values[high.values.size() == 1 ? 0 : c];
    if (axis >= 0 && lowest == 0.0f && highest == 0.0f) {  // a dead channel among others
      scales.push_back(0.0f);
      zero_points.push_back(INT64_MAX);
      continue;
    }
    scales.push_back((highest - lowest) / steps);
    check_scale(scales.back());
    const double start = -double{lowest} / scales.back(), zero = std::nearbyint(start);
    if (!(zero >= 0 && zero <= static_cast<double>(levels - 1))) fail("its range does not hold 0");
    zero_points.push_back(static_cast<int64_t>(zero) - (levels == 255 ? 127 : 128));
    count_range(op.ranges(), std::fabs(start - zero), std::fmod(zero, 2.0) != 0.0);
  }
  const auto live = std::find_if(scales.begin(), scales.end(), [](float scale) { return scale > 0.0f; });
  if (live == scales.end()) fail("its range 0 to 0 is empty in each channel");
  for (size_t c = 0; c < channels; ++c)
    if (scales[c] == 0.0f) zero_points[c] = zero_points[static_cast<size_t>(live - scales.begin())];
  return {scales, zero_points, axis};
}

void import_fake_quantize(OnnxOp& op) {
  op.check_inputs(5, 5);
  const int64_t levels = op.integer("levels", 0);
  op.ignore("auto_broadcast");
  if (levels < 2 || levels > 256) fail(levels, " levels are not supported; 2 to 256 are");
  if (op.is_constant(0)) return fake_quantize_constant(op, levels);
  const int32_t x = op.activation(0);
  const Shape shape = op.draft().tensor(x).shape;
  const Range low = read_range(op, 1, shape), high = read_range(op, 2, shape);
  const Range out_low = read_range(op, 3, shape), out_high = read_range(op, 4, shape);
  const bool changes = out_low.values != low.values || out_high.values != high.values ||
                       out_low.axis != low.axis || out_high.axis != high.axis;
  if (changes && (low.axis >= 0 || high.axis >= 0 || out_low.axis >= 0 || out_high.axis >= 0))
    fail("its output range is not its input range, of ranges for each channel");
  const ChannelGrids grids = grids_of(op, low, high, levels);
  const float scale = grids.scale();
  const double zero = static_cast<double>(grids.zero_point()) + (levels == 255 ? 127 : 128);
  const int32_t codes = quantized(op, op.output_name() + "/codes", shape, scale, grids.zero_point());
  int32_t bounded = grids.is_per_channel() ? grids.to_common(op, x) : x;
  if (levels < 255) {  // codes saturate at the range's end, which the layer before will do
    const int32_t unbounded = bounded;
    bounded = add_activation(op.draft(), op.output_name() + "/bounded", DType::kF32, shape);
    auto& bounds = op.add(Op::kClamp, {unbounded}, bounded).options.as<Clamp>();
    bounds.min = -scale * static_cast<float>(zero);
    bounds.max = scale * static_cast<float>(static_cast<double>(levels - 1) - zero);
  }
  op.add(Op::kQuantize, {bounded}, codes);
  const int32_t y = op.new_tensor(shape);
  int32_t given = codes;
  if (changes) {  // the same codes stand for other numbers
    const ChannelGrids others = grids_of(op, out_low, out_high, levels);
    given = quantized(op, op.output_name() + "/other_codes", shape, others.scale(), others.zero_point());
    add_same_codes(op.draft(), op.name(), op.source(), codes, given);
  }
  op.add(Op::kDequantize, {given}, y);
  op.set_output(grids.is_per_channel() ? grids.to_own(op, y) : y);
}

constexpr OnnxOperator kOperators[] = {
    {"DequantizeLinear",
     import_dequantize_linear,
     {Op::kDequantize, Op::kLookup, Op::kAdd, Op::kMul},
     "8 bits; those of 16 are FP32 here. One scale, or one a channel."},
    {"DequantizeLinear",
     import_dequantize_linear,
     {Op::kDequantize, Op::kLookup, Op::kAdd, Op::kMul},
     "As ONNX has it.",
     "com.microsoft"},
    {"FakeQuantize",
     import_fake_quantize,
     {Op::kClamp, Op::kQuantize, Op::kLookup, Op::kDequantize},
     "2 to 256 levels in one range, or one a channel, which hold 0. Only one range may become another.",
     "org.openvinotoolkit"},
    {"QuantizeLinear",
     import_quantize_linear,
     {Op::kQuantize, Op::kMul, Op::kAdd},
     "8 bits; those of 16 are FP32 here. One scale, or one a channel."},
    {"QuantizeLinear",
     import_quantize_linear,
     {Op::kQuantize, Op::kMul, Op::kAdd},
     "As ONNX has it.",
     "com.microsoft"},
};

}  // namespace

Span<const OnnxOperator> onnx_quantized_operators() { return kOperators; }

}  // namespace intaglio::importers

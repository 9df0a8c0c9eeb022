// Quant of Brevitas and QONNX: y = (clip(round(x / scale + zero point)) - zero point) * scale, of any number of bits.
#include <algorithm>
#include <cmath>

#include "importers/draft/quantized_tables.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

struct Codes {
  std::vector<float> scales;
  Shape of_scales;
  float zero_point = 0.0f;
  int32_t bits = 8;
  float least = 0.0f, most = 0.0f;
};

float single(OnnxOp& op, int input, const char* what) {
  const std::vector<float> values = op.numbers(input).values;
  if (values.size() != 1) fail("it has ", values.size(), " ", what, "; one is supported");
  return values[0];
}

Codes read_codes(OnnxOp& op) {
  op.check_inputs(4, 4);
  Codes codes;
  OnnxConstant<float> scale = op.floats(1);
  codes.scales = scale.values;
  codes.of_scales = scale.shape;
  codes.zero_point = single(op, 2, "zero points");
  const float bits = single(op, 3, "bit widths");
  if (!(bits >= 2.0f && bits <= 16.0f) || bits != std::floor(bits))
    fail("its bit width is ", bits, "; 2 to 16 are supported");
  codes.bits = static_cast<int32_t>(bits);
  for (const float s : codes.scales)
    if (!(s >= std::ldexp(1.0f, -40) && s <= std::ldexp(1.0f, 40)))
      fail("the scale ", s, " is not within 2^-40 to 2^40");
  if (codes.scales.empty()) fail("it has no scale");
  const bool is_signed = op.integer("signed", 1) != 0, is_narrow = op.integer("narrow", 0) != 0;
  if (const std::string mode = op.string("rounding_mode", "ROUND"); mode != "ROUND")
    fail("rounding_mode ", quoted(mode), " is not supported; ROUND is");
  const float half = std::ldexp(1.0f, codes.bits - 1);
  codes.least = is_signed ? -half + (is_narrow ? 1.0f : 0.0f) : 0.0f;
  codes.most = is_signed ? half - 1.0f : 2.0f * half - (is_narrow ? 2.0f : 1.0f);
  if (codes.zero_point != std::floor(codes.zero_point) || codes.zero_point < codes.least ||
      codes.zero_point > codes.most)
    fail("the zero point ", codes.zero_point, " is not one of its codes");
  return codes;
}

// The axis of the scales, of constants with one scale a channel; -1: one for all.
int32_t axis_of(const Codes& codes, const Shape& shape) {
  if (codes.scales.size() == 1) return -1;
  int32_t axis = -1;
  const size_t missing = shape.size() - std::min(shape.size(), codes.of_scales.size());
  for (size_t d = 0; d < codes.of_scales.size(); ++d) {
    if (codes.of_scales[d] == 1) continue;
    if (axis >= 0 || missing + d >= shape.size() || codes.of_scales[d] != shape[missing + d])
      fail("its scales ", shape_text(codes.of_scales), " do not fit ", shape_text(shape));
    axis = static_cast<int32_t>(missing + d);
  }
  return axis;
}

void quantize_constant(OnnxOp& op, const Codes& codes) {
  OnnxConstant<float> x = op.floats(0);
  const int32_t axis = axis_of(codes, x.shape);
  const size_t behind = elements_behind(x.shape, axis);
  for (size_t i = 0; i < x.values.size(); ++i) {
    const float scale = codes.scales[i / behind % codes.scales.size()];
    if (!std::isfinite(x.values[i])) fail("its constant holds ", x.values[i]);
    const float code = std::nearbyint(x.values[i] / scale + codes.zero_point);
    x.values[i] = (std::clamp(code, codes.least, codes.most) - codes.zero_point) * scale;
  }
  op.set_floats(x);
  if (codes.bits <= 8) op.set_grid({codes.scales, axis});
}

void import_quant(OnnxOp& op) {
  const Codes codes = read_codes(op);
  if (op.is_constant(0)) return quantize_constant(op, codes);
  if (codes.scales.size() != 1) fail("an activation with ", codes.scales.size(), " scales is not supported");
  const int32_t x = op.activation(0);
  const Shape shape = op.draft().tensor(x).shape;
  const float scale = codes.scales[0];
  const int32_t bounded = op.new_tensor(shape);
  auto& bounds = op.add(Op::kClamp, {x}, bounded).options.as<Clamp>();
  bounds.min = (codes.least - codes.zero_point) * scale;
  bounds.max = (codes.most - codes.zero_point) * scale;
  if (codes.bits > 8) {  // codes of 16 bits, which have the zero point 0; FP32 where they reach further
    const bool fits =
        codes.least - codes.zero_point >= -32768.0f && codes.most - codes.zero_point <= 32767.0f;
    return op.set_output(fits ? add_rounding_s16(op.draft(), op.output_name(), op.source(), bounded, scale)
                              : bounded);
  }
  const int32_t y8 = add_activation(op.draft(), op.output_name() + "/codes", DType::kS8, shape);
  op.draft().tensor(y8).scales = {scale};
  op.draft().tensor(y8).zero_point = static_cast<int32_t>(codes.zero_point) - (codes.most > 127.0f ? 128 : 0);
  op.add(Op::kQuantize, {bounded}, y8);
  const int32_t y = op.new_tensor(shape);
  op.add(Op::kDequantize, {y8}, y);
  op.set_output(y);
}

// y = scale where x is 0 or more, and -scale below.
void import_bipolar_quant(OnnxOp& op) {
  op.check_inputs(2, 2);
  const float scale = single(op, 1, "scales");
  if (!(scale >= std::ldexp(1.0f, -40) && scale <= std::ldexp(1.0f, 40)))
    fail("the scale ", scale, " is not within 2^-40 to 2^40");
  if (op.is_constant(0)) {
    OnnxConstant<float> x = op.floats(0);
    for (float& value : x.values) value = value >= 0.0f ? scale : -scale;
    op.set_floats(x);
    return op.set_grid({{scale}, -1});
  }
  const int32_t x = op.activation(0);
  const Shape shape = op.draft().tensor(x).shape, one(shape.size(), 1);
  const auto number = [&](float value) {
    return add_constant(op.draft(), op.name() + "/number", DType::kF32, one, std::vector<float>{value});
  };
  const int32_t is_below = op.new_tensor(shape), y = op.new_tensor(shape);
  op.add(Op::kLess, {x, number(0.0f)}, is_below);
  op.add(Op::kWhere, {is_below, number(-scale), number(scale)}, y);
  op.set_output(y);
}

constexpr char kBipolarLimits[] = "One scale.";

constexpr char kLimits[] =
    "2 to 16 bits; FP32 where more than 8 do not fit int16 without their zero point. Weights may have a scale a channel.";

constexpr OnnxOperator kOnnxQuantOperators[] = {
    {"BipolarQuant", import_bipolar_quant, {Op::kLess, Op::kWhere}, kBipolarLimits, "onnx.brevitas"},
    {"BipolarQuant",
     import_bipolar_quant,
     {Op::kLess, Op::kWhere},
     kBipolarLimits,
     "qonnx.custom_op.general"},
    {"BipolarQuant", import_bipolar_quant, {Op::kLess, Op::kWhere}, kBipolarLimits, "finn.custom_op.general"},
    {"Quant", import_quant, {Op::kClamp, Op::kQuantize, Op::kDequantize}, kLimits, "finn.custom_op.general"},
    {"Quant", import_quant, {Op::kClamp, Op::kQuantize, Op::kDequantize}, kLimits, "onnx.brevitas"},
    {"Quant", import_quant, {Op::kClamp, Op::kQuantize, Op::kDequantize}, kLimits, "qonnx.custom_op.general"},
};

}  // namespace

Span<const OnnxOperator> onnx_quant_operators() { return kOnnxQuantOperators; }

}  // namespace intaglio::importers

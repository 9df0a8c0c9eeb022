// TFLite operators from element to element, and softmax.
#include <cmath>

#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

// Reals in FP32 nodes, codes in int8 ones.
void set_bounds(DraftNode& node, float low, float high, const DraftTensor& output) {
  auto& clamp = node.options.as<Clamp>();
  if (output.dtype == DType::kF32) {
    clamp.min = low;
    clamp.max = high;
  } else {
    clamp.lo = quantize(low, output);
    clamp.hi = quantize(high, output);
  }
}

template <tflite::Activation kActivation>
void import_clamp(TfliteOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const int32_t y = op.output_of_type(x, op.shape(x));
  set_activation(op.add(Op::kClamp, {x}, y), kActivation, op.draft().tensor(y));
}

// One function of each value; in int8 a pass makes a table of it.
DraftNode& add_unary(TfliteOp& op, Op kind) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const int32_t y = op.output_of_type(x, op.shape(x));
  return op.add(kind, {x}, y);
}

template <Op kKind>
void import_unary(TfliteOp& op) {
  add_unary(op, kKind);
}
void import_elu(TfliteOp& op) { add_unary(op, Op::kElu).options.as<UnaryOptions>().alpha = 1.0f; }
void import_gelu(TfliteOp& op) {
  const auto* options = op.options_or_null<tflite::GeluOptions>();
  add_unary(op, options != nullptr && options->approximate() ? Op::kGeluTanh : Op::kGelu);
}

void import_l2_normalization(TfliteOp& op) {
  const auto* options = op.options_or_null<tflite::L2NormOptions>();
  if (options != nullptr && options->activation() != tflite::Activation::None)
    fail("a fused activation is not supported here");
  add_unary(op, Op::kL2Normalize).options.as<L2NormalizeOptions>().min_norm =
      1e-6f;  // TFLite's own least norm
}

void import_relu_0_to_1(TfliteOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const int32_t y = op.output_of_type(x, op.shape(x));
  set_bounds(op.add(Op::kClamp, {x}, y), 0.0f, 1.0f, op.draft().tensor(y));
}

void import_leaky_relu(TfliteOp& op) {
  const float alpha = op.options<tflite::LeakyReluOptions>().alpha();
  add_unary(op, Op::kLeakyRelu).options.as<UnaryOptions>().alpha = alpha;
}

// Slopes of another shape: x where it is above 0, and 0, plus the slope times the rest.
void import_broadcast_prelu(TfliteOp& op) {
  const int32_t x = read_real(op, 0);
  const int32_t scaled =
      add_binary(op, Op::kMul, add_bounded(op, x, -INFINITY, 0.0f, "/part"), read_real(op, 1));
  finish_real(op, add_binary(op, Op::kAdd, add_bounded(op, x, 0.0f, INFINITY, "/part"), scaled));
}

void import_prelu(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  const Shape shape = op.shape(x);
  DraftTensor slopes = dequantized(op.constant(1));
  const auto count = static_cast<int32_t>(slopes.data.size() / sizeof(float));
  if (count != shape.back() || slopes.shape.back() != count) return import_broadcast_prelu(op);
  slopes.shape = {count};
  const int32_t y = op.output_of_type(x, shape);
  op.add(Op::kPRelu, {x, op.draft().put(std::move(slopes))}, y);
}

void import_softmax(TfliteOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const float beta = op.options<tflite::SoftmaxOptions>().beta();
  if (beta != 1.0f) fail("its beta is ", beta, "; only 1 is supported");
  const DraftTensor info = op.draft().tensor(x);
  const int32_t y = op.output_of_type(x, info.shape);
  std::vector<int32_t> inputs{x};
  if (info.dtype == DType::kS8) {
    const auto table = softmax_table(info.scales[0], info.shape.back(), DType::kS8);
    inputs.push_back(add_constant(op.draft(), op.name() + "/table", DType::kS32, {256}, table));
  }
  op.add(Op::kSoftmax, inputs, y);
}

// The scale of a tensor of int32 or int64. Its numbers stand for themselves where it has none, and for every operator but these.
float integer_scale(TfliteOp& op, int32_t index) {
  const DraftTensor in_file = tflite_tensor(op.file(), index);
  if (in_file.dtype != DType::kS32 || in_file.scales.empty()) return 1.0f;
  if (in_file.scales.size() != 1 || in_file.zero_point != 0)
    fail("tensor ", quoted(in_file.name), " of integers needs one scale and the zero point 0");
  return in_file.scales[0];
}

int32_t add_scaled(TfliteOp& op, int32_t x, float scale) {
  return scale == 1.0f ? x : add_binary(op, Op::kMul, x, add_number(op, x, scale));
}

// Input 0, of numbers that have a scale as their reals.
int32_t read_scaled(TfliteOp& op) {
  const int32_t x = op.activation(0);
  return add_scaled(op, x, integer_scale(op, op.input_index(0)));
}

// Codes of int32: the whole numbers that the reals are of their scale, exact up to 2^24 and within 2^-24 of themselves above.
void quantize_to_integers(TfliteOp& op) {
  const int32_t codes = read_scaled(op);
  const int32_t reals = op.draft().tensor(codes).dtype == DType::kS8 ? read_real(op, 0) : codes;
  const int32_t steps = add_scaled(op, reals, 1.0f / integer_scale(op, op.output_index(0)));
  op.add(Op::kRound, {steps}, op.output(op.shape(steps)));
}

void import_quantize(TfliteOp& op) {
  op.check_inputs(1, 1);
  if (op.output_holds_integers()) return quantize_to_integers(op);
  const int32_t x = read_scaled(op);
  const DType from = op.draft().tensor(x).dtype;
  const int32_t y = op.output(op.shape(x));
  const DType to = op.draft().tensor(y).dtype;  // FP32: codes of 16 bits, too, which come behind
  if (from == DType::kS8 && to == DType::kS8 && !op.draft().tensor(x).same_quantization(op.draft().tensor(y)))
    return add_requantize(op.origin(), x, y);
  // Between uint8 and int8, or of 16 bits, the numbers are the same.
  op.add(from == to ? Op::kReshape : from == DType::kS8 ? Op::kDequantize : Op::kQuantize, {x}, y);
}

void import_dequantize(TfliteOp& op) {
  op.check_inputs(1, 1);
  if (op.is_constant(0)) return op.set_constant(dequantized(op.constant(0)));
  const int32_t x = read_scaled(op);
  const int32_t y = op.output(op.shape(x));
  if (op.draft().tensor(y).dtype != DType::kF32) fail("it must give float32");
  op.add(op.draft().tensor(x).dtype == DType::kS8 ? Op::kDequantize : Op::kReshape, {x}, y);
}

// The constant is dense where it was read.
void import_densify(TfliteOp& op) {
  op.check_inputs(1, 1);
  DraftTensor dense = op.constant(0);
  const DraftTensor in_file = tflite_tensor(op.file(), op.output_index(0));
  if (dense.shape != in_file.shape || !dense.same_quantization(in_file))
    fail("its output has another shape, type or scale than its input");
  op.set_constant(std::move(dense));
}

constexpr TfliteOperator kTfliteElementwiseOperators[] = {
    {Builtin::ABS, import_unary<Op::kAbs>, {Op::kAbs}, ""},
    {Builtin::CEIL, import_unary<Op::kCeil>, {Op::kCeil}, ""},
    {Builtin::COS, import_unary<Op::kCos>, {Op::kCos}, ""},
    {Builtin::DENSIFY, import_densify, {Op::kNone}, "Of constants."},
    {Builtin::DEQUANTIZE,
     import_dequantize,
     {Op::kReshape, Op::kDequantize},
     "From 8, 16, 32 and 64 bits, and from float16."},
    {Builtin::ELU, import_elu, {Op::kElu}, ""},
    {Builtin::EXP, import_unary<Op::kExp>, {Op::kExp}, ""},
    {Builtin::FLOOR, import_unary<Op::kFloor>, {Op::kFloor}, ""},
    {Builtin::GELU, import_gelu, {Op::kGelu, Op::kGeluTanh}, ""},
    {Builtin::HARD_SWISH, import_unary<Op::kHardSwish>, {Op::kHardSwish}, ""},
    {Builtin::L2_NORMALIZATION, import_l2_normalization, {Op::kL2Normalize}, "Without a fused activation."},
    {Builtin::LEAKY_RELU, import_leaky_relu, {Op::kLeakyRelu}, ""},
    {Builtin::LOG, import_unary<Op::kLog>, {Op::kLog}, ""},
    {Builtin::LOGISTIC, import_unary<Op::kSigmoid>, {Op::kSigmoid}, ""},
    {Builtin::PRELU,
     import_prelu,
     {Op::kPRelu, Op::kClamp, Op::kMul, Op::kAdd},
     "Slopes are constants; in int8 one a channel."},
    {Builtin::QUANTIZE,
     import_quantize,
     {Op::kQuantize, Op::kDequantize, Op::kLookup, Op::kRound},
     "To 8 and 16 bits; to int32 by way of FP32."},
    {Builtin::RELU, import_clamp<tflite::Activation::Relu>, {Op::kClamp}, ""},
    {Builtin::RELU6, import_clamp<tflite::Activation::Relu6>, {Op::kClamp}, ""},
    {Builtin::RELU_0_TO_1, import_relu_0_to_1, {Op::kClamp}, ""},
    {Builtin::RELU_N1_TO_1, import_clamp<tflite::Activation::ReluN1To1>, {Op::kClamp}, ""},
    {Builtin::ROUND, import_unary<Op::kRound>, {Op::kRound}, ""},
    {Builtin::RSQRT, import_unary<Op::kRsqrt>, {Op::kRsqrt}, ""},
    {Builtin::SIGN, import_unary<Op::kSign>, {Op::kSign}, ""},
    {Builtin::SIN, import_unary<Op::kSin>, {Op::kSin}, ""},
    {Builtin::SOFTMAX, import_softmax, {Op::kSoftmax}, "Beta is 1."},
    {Builtin::SQRT, import_unary<Op::kSqrt>, {Op::kSqrt}, ""},
    {Builtin::TANH, import_unary<Op::kTanh>, {Op::kTanh}, ""},
};

}  // namespace

void set_activation(DraftNode& node, tflite::Activation activation, const DraftTensor& output) {
  switch (activation) {
    case tflite::Activation::None:
      return;
    case tflite::Activation::Relu:
      return set_bounds(node, 0.0f, INFINITY, output);
    case tflite::Activation::ReluN1To1:
      return set_bounds(node, -1.0f, 1.0f, output);
    case tflite::Activation::Relu6:
      return set_bounds(node, 0.0f, 6.0f, output);
    default:
      fail("fused activation ", static_cast<int>(activation), " is not supported");
  }
}

Span<const TfliteOperator> tflite_elementwise_operators() { return kTfliteElementwiseOperators; }

}  // namespace intaglio::importers

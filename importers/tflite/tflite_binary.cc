// TFLite operators of two tensors, each repeated where it is smaller.
#include <algorithm>
#include <cmath>

#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

template <typename Options>
tflite::Activation activation_of(const Options* options) {
  return options == nullptr ? tflite::Activation::None : options->activation();
}

void add_binary(TfliteOp& op, Op kind, int32_t first, int32_t second, tflite::Activation activation) {
  std::vector<int32_t> inputs{first, second};
  const int32_t y = op.output(align_operands(op.origin(), inputs));
  for (const int32_t input : inputs) {
    const DraftTensor& tensor = op.draft().tensor(input);
    if (tensor.dtype != op.draft().tensor(y).dtype)
      fail("its inputs and output have different element types");
    if (tensor.dtype == DType::kS8 && tensor.scales.size() != 1) fail("its int8 input has no single scale");
  }
  if (kind == Op::kMaximum || kind == Op::kMinimum)
    for (int32_t& input : inputs) input = with_scale_of(op, input, y);
  DraftNode& node = op.add(kind, inputs, y);
  if (kind == Op::kAdd || kind == Op::kSub)
    node.options.as<AddOptions>().add_bits = 21;  // XNNPACK's own, with which LiteRT adds
  set_activation(node, activation, op.draft().tensor(y));
}

template <typename Options>
void import_binary(TfliteOp& op, Op kind) {
  op.check_inputs(2, 2);
  add_binary(op, kind, op.activation_or_constant(0), op.activation_or_constant(1),
             activation_of(op.options_or_null<Options>()));
}
void import_plain(TfliteOp& op, Op kind) {
  op.check_inputs(2, 2);
  add_binary(op, kind, op.activation_or_constant(0), op.activation_or_constant(1), tflite::Activation::None);
}

void import_add(TfliteOp& op) { import_binary<tflite::AddOptions>(op, Op::kAdd); }
void import_sub(TfliteOp& op) { import_binary<tflite::SubOptions>(op, Op::kSub); }
void import_mul(TfliteOp& op) { import_binary<tflite::MulOptions>(op, Op::kMul); }
void import_div(TfliteOp& op) {
  if (!op.output_holds_integers()) return import_binary<tflite::DivOptions>(op, Op::kDiv);
  op.check_inputs(2, 2);
  if (activation_of(op.options_or_null<tflite::DivOptions>()) != tflite::Activation::None)
    fail("it divides integers and has a fused activation, which is not supported");
  // Below 2^24 the quotient in FP32 is whole only where the exact one is. It rounds towards 0.
  const int32_t quotient = add_binary(op, Op::kDiv, read_real(op, 0), read_real(op, 1));
  finish_real(op, op.as_real(op.as_index(quotient)));
}
void import_maximum(TfliteOp& op) { import_plain(op, Op::kMaximum); }
void import_minimum(TfliteOp& op) { import_plain(op, Op::kMinimum); }

void import_square(TfliteOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  add_binary(op, Op::kMul, x, x, tflite::Activation::None);
}

void import_neg(TfliteOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  add_binary(op, Op::kMul, x, add_number(op, x, -1.0f), tflite::Activation::None);
}

void import_pow(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  if (!op.is_constant(1)) fail("its exponent must be a constant");
  const std::vector<float> exponent = values_of<float>(dequantized(op.constant(1)));
  if (exponent.size() != 1) fail("it has ", exponent.size(), " exponents; one is supported");
  if (!std::isfinite(exponent[0])) fail("the exponent is ", exponent[0]);
  if (exponent[0] == 2.0f) return add_binary(op, Op::kMul, x, x, tflite::Activation::None);
  const int32_t y = op.output_of_type(x, op.shape(x));
  op.add(Op::kPow, {x}, y).options.as<UnaryOptions>().alpha = exponent[0];
}

constexpr TfliteOperator kTfliteBinaryOperators[] = {
    {Builtin::ADD, import_add, {Op::kAdd}, ""},
    {Builtin::DIV, import_div, {Op::kDiv, Op::kCast}, ""},
    {Builtin::MAXIMUM, import_maximum, {Op::kMaximum}, ""},
    {Builtin::MINIMUM, import_minimum, {Op::kMinimum}, ""},
    {Builtin::MUL, import_mul, {Op::kMul}, ""},
    {Builtin::NEG, import_neg, {Op::kMul}, ""},
    {Builtin::POW, import_pow, {Op::kPow, Op::kMul}, "The exponent is one constant."},
    {Builtin::SQUARE, import_square, {Op::kMul}, ""},
    {Builtin::SUB, import_sub, {Op::kSub}, ""},
};

}  // namespace

int32_t with_scale_of(TfliteOp& op, int32_t input, int32_t y) {
  const DraftTensor info = op.draft().tensor(input);
  if (info.dtype == DType::kF32 || info.same_quantization(op.draft().tensor(y))) return input;
  if (info.constant) fail("its constant input has another scale than its output");
  const int32_t same = add_activation_like(op.draft(), info.name + "/requantized", y, info.shape);
  add_requantize(op.part("/requantize"), input, same);
  return same;
}

int32_t add_number(TfliteOp& op, int32_t like, float value) {
  const Shape shape(op.shape(like).size(), 1);
  const std::string name = op.name() + "/factor";
  if (op.draft().tensor(like).dtype == DType::kF32)
    return add_constant(op.draft(), name, DType::kF32, shape, std::vector<float>{value});
  const int32_t made = add_constant(op.draft(), name, DType::kS8, shape,
                                    std::vector<int8_t>{static_cast<int8_t>(value < 0 ? -1 : 1)});
  op.draft().tensor(made).scales = {std::fabs(value)};
  return made;
}

Span<const TfliteOperator> tflite_binary_operators() { return kTfliteBinaryOperators; }

}  // namespace intaglio::importers

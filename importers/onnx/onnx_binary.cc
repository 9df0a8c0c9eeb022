// ONNX operators of two tensors and more, each repeated where it is smaller.
#include <algorithm>
#include <cmath>

#include "importers/draft/draft.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

struct Operand {
  OnnxConstant<float> constant;
  int32_t tensor = -1;  // -1: the constant
  Shape shape;
  std::string name;
  int input = -1;  // of a constant that stands there as it is
};

Operand tensor_operand(OnnxOp& op, int32_t tensor) {
  return {{}, tensor, op.shape(tensor), op.draft().tensor(tensor).name, -1};
}

Operand read_operand(OnnxOp& op, int input) {
  if (!op.is_constant(input)) return tensor_operand(op, op.activation(input));
  Operand operand;
  operand.constant = op.numbers(input);
  operand.shape = operand.constant.shape;
  operand.name = op.input_name(input);
  operand.input = input;
  return operand;
}

// The operand with as many axes as the result.
int32_t aligned(OnnxOp& op, const Operand& operand, size_t rank) {
  const Shape shape = with_rank(operand.shape, rank);
  if (operand.tensor < 0) {
    const int32_t made = add_constant(op.draft(), operand.name, DType::kF32, shape, operand.constant.values);
    constexpr int32_t kNoAxis = -1;  // a grid of several scales is of no use here
    if (operand.input >= 0) op.take_grid(operand.input, kNoAxis, made, kNoAxis);
    return made;
  }
  return add_reshape(op.named(operand.name), operand.tensor, shape);
}

int32_t add_binary(OnnxOp& op, Op kind, const Operand& a, const Operand& b) {
  const size_t rank = at_least_1d(broadcast_shape(a.shape, b.shape)).size();
  return add_binary(op, kind, aligned(op, a, rank), aligned(op, b, rank));
}

template <Op kKind>
void import_binary(OnnxOp& op) {
  op.check_inputs(2, 2);
  op.set_output(add_binary(op, kKind, read_operand(op, 0), read_operand(op, 1)));
}

// A bound that is one number for all elements makes a Clamp.
int32_t add_bound(OnnxOp& op, int32_t x, const Operand& bound, bool is_max) {
  const float value = bound.constant.values[0];
  if (std::isnan(value)) fail("its bound is not a number");
  return add_bounded(op, x, is_max ? value : -INFINITY, is_max ? INFINITY : value);
}

// The greatest or the least of codes and constants, each of one number: a bound.
bool import_bounds(OnnxOp& op, Op kind) {
  int codes = -1;
  double low = -INFINITY, high = INFINITY;
  for (int i = 0; i < op.input_count(); ++i) {
    if (!op.is_constant(i)) {
      if (codes >= 0 || !holds_codes(op, i)) return false;
      codes = i;
      continue;
    }
    if (op.is_constant_of_reals(i)) return false;
    const OnnxConstant<int64_t> bound = op.integers(i);
    if (bound.values.size() != 1) return false;
    const auto value = static_cast<double>(bound.values[0]);
    kind == Op::kMaximum ? low = std::max(low, value) : high = std::min(high, value);
  }
  if (codes < 0) return false;
  for (int i = 0; i < op.input_count(); ++i)
    if (op.is_constant(i) && op.integers(i).shape.size() > op.tensor_of(codes).shape.size()) return false;
  set_bounded_codes(op, codes, low, high);
  return true;
}

// Takes any number of inputs, two at a time. Activations come first, so that bounds become Clamps.
template <Op kKind>
void import_many(OnnxOp& op) {
  op.check_inputs(1, 64);
  const bool chooses = kKind == Op::kMaximum || kKind == Op::kMinimum;
  if (chooses && import_bounds(op, kKind)) return;
  std::vector<Operand> operands;
  operands.reserve(static_cast<size_t>(op.input_count()));
  for (int i = 0; i < op.input_count(); ++i) operands.push_back(read_operand(op, i));
  std::stable_partition(operands.begin(), operands.end(), [](const Operand& o) { return o.tensor >= 0; });
  if (operands[0].tensor < 0) fail("its inputs are all constants");
  int32_t y = operands[0].tensor;
  for (size_t i = 1; i < operands.size(); ++i) {
    const Operand& next = operands[i];
    const bool is_bound = chooses && next.tensor < 0 && next.constant.values.size() == 1 &&
                          next.shape.size() <= op.shape(y).size();
    y = is_bound ? add_bound(op, y, next, kKind == Op::kMaximum)
                 : add_binary(op, kKind, tensor_operand(op, y), next);
  }
  op.set_output(y);
}

void import_div(OnnxOp& op) {
  op.check_inputs(2, 2);
  Operand divisor = read_operand(op, 1);
  for (const float value : divisor.constant.values)
    if (value == 0.0f) fail("it divides by 0");
  if (op.computes_integers()) {
    // Below 2^24 the quotient in FP32 is whole only where the exact one is. Integers round towards 0, as a cast does.
    const int32_t quotient = add_binary(op, Op::kDiv, read_operand(op, 0), divisor);
    return op.set_output(op.as_real(op.as_index(quotient)));
  }
  if (divisor.tensor >= 0) return import_binary<Op::kDiv>(op);
  divisor.input = -1;
  for (float& value : divisor.constant.values) value = 1.0f / value;
  op.set_output(add_binary(op, Op::kMul, read_operand(op, 0), divisor));
}

void import_neg(OnnxOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  op.set_output(add_scaled(op, x, -1.0f));
}

// e^(exponent * ln(base)), element by element: of bases above 0.
void import_powers(OnnxOp& op) {
  const OnnxPair pair = read_pair(op);
  op.draft().notes.push_back(text("node ", quoted(op.name()), " (", op.source(), "): its exponents are ",
                                  op.is_constant(1) ? "many different numbers" : "computed by a run",
                                  "; bases above 0 alone have a power here"));
  op.set_output(
      add_unary(op, Op::kExp, add_binary(op, Op::kMul, add_unary(op, Op::kLog, pair.first), pair.second)));
}

// x to the power of one number.
int32_t add_power_of(OnnxOp& op, int32_t x, float exponent) {
  if (exponent == 1.0f) return x;
  if (exponent == 2.0f) return add_square(op, x);
  if (exponent == 3.0f) return add_binary(op, Op::kMul, add_square(op, x), x);
  // Half a unit of the sixth digit is what an exporter's own arithmetic loses.
  const auto is = [&](float whole) { return std::fabs(exponent - whole) < 1e-6f; };
  if (is(0.5f)) return add_unary(op, Op::kSqrt, x);
  if (is(-0.5f)) return add_unary(op, Op::kRsqrt, x);
  if (is(-1.0f)) return add_unary(op, Op::kReciprocal, x);
  return add_power(op, x, exponent);
}

// y, repeated where `shape`, which fits it, is larger.
int32_t add_factor(OnnxOp& op, int32_t y, const Shape& shape) {
  const Shape whole = broadcast_shape(op.shape(y), shape), own = with_rank(op.shape(y), whole.size());
  if (own == whole) return add_reshape(op.result(), y, own);
  const std::vector<float> ones(static_cast<size_t>(elements(shape)), 1.0f);
  return add_binary(op, Op::kMul, tensor_operand(op, y), {{shape, ones}, -1, shape, op.name() + "/ones", -1});
}

// For constant exponents: x to the power of each number that is among them, and at each place the one that it asks for.
void import_constant_powers(OnnxOp& op, const OnnxConstant<float>& exponents) {
  constexpr size_t kMostNumbers = 8;
  std::vector<float> numbers;
  for (const float exponent : exponents.values) {
    if (!std::isfinite(exponent)) fail("the exponent is ", exponent);
    if (std::find(numbers.begin(), numbers.end(), exponent) == numbers.end() &&
        numbers.size() <= kMostNumbers)
      numbers.push_back(exponent);
  }
  if (numbers.empty()) fail("it has no exponent");
  if (numbers.size() > kMostNumbers) return import_powers(op);
  const int32_t x = op.activation(0);
  int32_t y = add_power_of(op, x, numbers[0]);
  for (size_t i = 1; i < numbers.size(); ++i) {
    std::vector<float> asks;
    for (const float exponent : exponents.values) asks.push_back(exponent == numbers[i] ? 1.0f : 0.0f);
    std::vector<int32_t> inputs{
        add_constant(op.draft(), op.name() + "/asks", DType::kF32, exponents.shape, asks),
        add_power_of(op, x, numbers[i]), y};
    y = add_choice(op, inputs);
  }
  op.set_output(add_factor(op, y, exponents.shape));
}

// One base of many exponents.
void import_power_of_number(OnnxOp& op) {
  const std::vector<float> base = op.numbers(0).values;
  if (base.size() != 1 || !(base[0] > 0.0f && std::isfinite(base[0])))
    fail("its bases are constants; one above 0 is supported");
  op.set_output(add_unary(op, Op::kExp, add_scaled(op, op.activation(1), std::log(base[0]))));
}

void import_pow(OnnxOp& op) {
  op.check_inputs(2, 2);
  if (op.is_constant(0) && !op.is_constant(1)) return import_power_of_number(op);
  if (!op.is_constant(1)) return import_powers(op);
  import_constant_powers(op, op.numbers(1));
}

// a - b * floor(a / b), or with fmod the sign of a: a - b * trunc(a / b).
void import_mod(OnnxOp& op) {
  op.check_inputs(2, 2);
  const bool of_dividend = op.integer("fmod", 0) != 0;
  const OnnxPair pair = read_pair(op);
  const int32_t quotient = add_binary(op, Op::kDiv, pair.first, pair.second);
  int32_t whole = add_unary(op, Op::kFloor, of_dividend ? add_unary(op, Op::kAbs, quotient) : quotient);
  if (of_dividend) whole = add_binary(op, Op::kMul, whole, add_unary(op, Op::kSign, quotient));
  op.set_output(add_binary(op, Op::kSub, pair.first, add_binary(op, Op::kMul, whole, pair.second)));
}

constexpr OnnxOperator kOnnxBinaryOperators[] = {
    {"Add", import_binary<Op::kAdd>, {Op::kAdd}, ""},
    {"Div", import_div, {Op::kDiv, Op::kMul, Op::kCast}, "A constant divisor does not hold 0."},
    {"Max", import_many<Op::kMaximum>, {Op::kMaximum, Op::kClamp}, "At most 64 inputs."},
    {"Min", import_many<Op::kMinimum>, {Op::kMinimum, Op::kClamp}, "At most 64 inputs."},
    {"Mul", import_binary<Op::kMul>, {Op::kMul}, ""},
    {"Neg", import_neg, {Op::kMul}, ""},
    {"Mod", import_mod, {Op::kDiv, Op::kFloor, Op::kMul, Op::kSub}, "Of integers, exact below 2^24."},
    {"Pow",
     import_pow,
     {Op::kPow, Op::kMul, Op::kExp, Op::kWhere},
     "Of exponents that a run computes, or more than 8 different ones: of bases above 0."},
    {"Sub", import_binary<Op::kSub>, {Op::kSub}, ""},
    {"Sum", import_many<Op::kAdd>, {Op::kAdd}, "At most 64 inputs."},
};

}  // namespace

int32_t add_scaled(OnnxOp& op, int32_t x, float factor) {
  return add_binary(op, Op::kMul, tensor_operand(op, x), {{{}, {factor}}, -1, {}, op.name() + "/factor", -1});
}

int32_t add_moved(OnnxOp& op, int32_t x, float summand) {
  return add_binary(op, Op::kAdd, tensor_operand(op, x),
                    {{{}, {summand}}, -1, {}, op.name() + "/summand", -1});
}

int32_t add_square(OnnxOp& op, int32_t x) {
  return add_binary(op, Op::kMul, tensor_operand(op, x), tensor_operand(op, x));
}

int32_t add_power(OnnxOp& op, int32_t x, float exponent) {
  const int32_t y = op.new_tensor(op.shape(x));
  op.add(Op::kPow, {x}, y).options.as<UnaryOptions>().alpha = exponent;
  return y;
}

int32_t add_magnitude_power(OnnxOp& op, int32_t x, float p) {
  if (p == 2.0f) return add_square(op, x);
  const int32_t magnitude = add_unary(op, Op::kAbs, x);
  return p == 1.0f ? magnitude : add_power(op, magnitude, p);
}

int32_t add_root(OnnxOp& op, int32_t x, float p) {
  if (p == 1.0f) return x;
  return p == 2.0f ? add_unary(op, Op::kSqrt, x) : add_power(op, x, 1.0f / p);
}

OnnxPair read_pair(OnnxOp& op) {
  const Operand a = read_operand(op, 0), b = read_operand(op, 1);
  const size_t rank = at_least_1d(broadcast_shape(a.shape, b.shape)).size();
  return {aligned(op, a, rank), aligned(op, b, rank)};
}

Span<const OnnxOperator> onnx_binary_operators() { return kOnnxBinaryOperators; }

}  // namespace intaglio::importers

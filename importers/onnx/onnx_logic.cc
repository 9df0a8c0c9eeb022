// ONNX comparisons, logic and choices. What is true is the number 1, what is not is 0: tensors of truth values are FP32 as all others.
#include <cmath>

#include "importers/draft/choice.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

// The two operands, compared after `swap` has changed their places.
int32_t add_comparison(OnnxOp& op, Op kind, bool swap) {
  op.check_inputs(2, 2);
  const OnnxPair pair = read_pair(op);
  return add_binary(op, kind, swap ? pair.second : pair.first, swap ? pair.first : pair.second);
}

template <Op kKind, bool kSwap>
void import_comparison(OnnxOp& op) {
  op.set_truth_output(add_comparison(op, kKind, kSwap));
}

// 1 - x
int32_t add_not(OnnxOp& op, int32_t x) {
  const Shape one(op.draft().tensor(x).shape.size(), 1);
  const int32_t constant =
      add_constant(op.draft(), op.name() + "/one", DType::kF32, one, std::vector<float>{1.0f});
  return add_binary(op, Op::kSub, constant, x);
}

void import_not(OnnxOp& op) {
  op.check_inputs(1, 1);
  op.set_truth_output(add_not(op, op.activation(0)));
}

void import_xor(OnnxOp& op) { op.set_truth_output(add_not(op, add_comparison(op, Op::kEqual, false))); }

// A number is itself; NaN is not.
void import_is_nan(OnnxOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  op.set_truth_output(add_not(op, add_binary(op, Op::kEqual, x, x)));
}

void import_is_inf(OnnxOp& op) {
  op.check_inputs(1, 1);
  const bool positive = op.integer("detect_positive", 1) != 0,
             negative = op.integer("detect_negative", 1) != 0;
  if (!positive && !negative) fail("it detects neither infinity");
  const int32_t x = op.activation(0);
  const int32_t compared = positive && negative ? add_unary(op, Op::kAbs, x) : x;
  const Shape one(op.draft().tensor(x).shape.size(), 1);
  const int32_t bound = add_constant(op.draft(), op.name() + "/infinity", DType::kF32, one,
                                     std::vector<float>{positive ? INFINITY : -INFINITY});
  op.set_truth_output(add_binary(op, Op::kEqual, compared, bound));
}

void import_where(OnnxOp& op) {
  op.check_inputs(3, 3);
  std::vector<int32_t> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(op.activation_or_numbers(i));
  const Shape shape = align_operands(op.draft(), op.name(), op.source(), inputs);
  const int32_t y = op.new_tensor(shape);
  add_where(op.draft(), op.name(), op.source(), inputs, y);
  op.set_output(y);
}

constexpr OnnxOperator kOnnxLogicOperators[] = {
    {"And", import_comparison<Op::kMinimum, false>, {Op::kMinimum}, ""},
    {"Equal", import_comparison<Op::kEqual, false>, {Op::kEqual}, ""},
    {"Greater", import_comparison<Op::kLess, true>, {Op::kLess}, ""},
    {"GreaterOrEqual", import_comparison<Op::kLessOrEqual, true>, {Op::kLessOrEqual}, ""},
    {"IsInf", import_is_inf, {Op::kEqual, Op::kAbs}, ""},
    {"IsNaN", import_is_nan, {Op::kEqual, Op::kSub}, ""},
    {"Less", import_comparison<Op::kLess, false>, {Op::kLess}, ""},
    {"LessOrEqual", import_comparison<Op::kLessOrEqual, false>, {Op::kLessOrEqual}, ""},
    {"Not", import_not, {Op::kSub}, ""},
    {"Or", import_comparison<Op::kMaximum, false>, {Op::kMaximum}, ""},
    {"Where", import_where, {Op::kWhere}, ""},
    {"Xor", import_xor, {Op::kEqual, Op::kSub}, ""},
};

}  // namespace

int32_t add_truth(OnnxOp& op, int32_t x) {
  const Shape one(op.draft().tensor(x).shape.size(), 1);
  const int32_t zero =
      add_constant(op.draft(), op.name() + "/zero", DType::kF32, one, std::vector<float>{0.0f});
  return add_not(op, add_binary(op, Op::kEqual, x, zero));
}

Span<const OnnxOperator> onnx_logic_operators() { return kOnnxLogicOperators; }

}  // namespace intaglio::importers

// ONNX comparisons, logic and choices. What is true is the number 1, what is not is 0: tensors of truth values are FP32 as all others.
#include <cmath>

#include "importers/draft/draft.h"
#include "importers/onnx/onnx_decomposer.h"
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

void import_not(OnnxOp& op) {
  op.check_inputs(1, 1);
  op.set_truth_output(add_not(op, op.activation(0), "/one"));
}

void import_xor(OnnxOp& op) {
  op.set_truth_output(add_not(op, add_comparison(op, Op::kEqual, false), "/one"));
}

// A number is itself; NaN is not.
void import_is_nan(OnnxOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  op.set_truth_output(add_not(op, add_binary(op, Op::kEqual, x, x), "/one"));
}

void import_is_inf(OnnxOp& op) {
  op.check_inputs(1, 1);
  const bool positive = op.integer("detect_positive", 1) != 0,
             negative = op.integer("detect_negative", 1) != 0;
  if (!positive && !negative) fail("it detects neither infinity");
  const int32_t x = op.activation(0);
  const int32_t compared = positive && negative ? add_unary(op, Op::kAbs, x) : x;
  const int32_t bound = op.number(x, positive ? INFINITY : -INFINITY, "/infinity");
  op.set_truth_output(add_binary(op, Op::kEqual, compared, bound));
}

void import_where(OnnxOp& op) {
  op.check_inputs(3, 3);
  std::vector<int32_t> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(op.activation_or_numbers(i));
  op.set_output(add_choice(op, inputs));
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
  const int32_t zero = op.number(x, 0.0f, "/zero");
  return add_not(op, add_binary(op, Op::kEqual, x, zero), "/one");
}

Span<const OnnxOperator> onnx_logic_operators() { return kOnnxLogicOperators; }

// ONNX operators on the bits of integers, as arithmetic: integers that a run computes are FP32, exact below 2^24.

namespace {

constexpr int64_t kMostBits = 24;

std::string times_power(OnnxDecomposer& s, const std::string& x, int64_t power) {
  return power == 0
             ? x
             : s.add("Mul", {x, s.number(static_cast<float>(std::ldexp(1.0, static_cast<int>(power))))});
}

std::string floor_shifted(OnnxDecomposer& s, const std::string& x, int64_t bits) {
  return bits == 0 ? x : s.add("Floor", {times_power(s, x, -bits)});
}

// The bits of x that a mask of 0 or more has: each run of ones as what is left of a division.
std::string masked(OnnxDecomposer& s, const std::string& x, int64_t mask) {
  std::string sum;
  for (int64_t low = 0; mask >> low != 0;) {
    if ((mask >> low & 1) == 0) {
      ++low;
      continue;
    }
    int64_t high = low;
    while ((mask >> high & 1) != 0) ++high;
    const std::string above = times_power(s, floor_shifted(s, x, high), high),
                      from = times_power(s, floor_shifted(s, x, low), low);
    const std::string part = s.add("Sub", {from, above});
    sum = sum.empty() ? part : s.add("Add", {sum, part});
    low = high;
  }
  return sum.empty() ? s.add("Mul", {x, s.number(0.0f)}) : sum;
}

// x and a constant: those bits of x that both have. Of a negative mask: x without the bits that the mask has not.
std::string common(OnnxDecomposer& s, const std::string& x, int64_t mask) {
  return mask >= 0 ? masked(s, x, mask) : s.add("Sub", {x, masked(s, x, ~mask)});
}

void end_as_integer(OnnxDecomposer& s, const std::string& y) {
  s.add("Cast", {y}, {{"to", onnx_file::TensorProto::INT64}}, s.output(0));
}

// The input that a run computes, as a real, and the number that the other one is.
struct Operands {
  std::string x;
  int64_t number;
};

Operands read_operands(OnnxDecomposer& s) {
  const std::vector<int64_t> a = s.constant(0), b = s.constant(1);
  const std::vector<int64_t>& given = b.empty() ? a : b;
  if (given.size() != 1) fail("one of its inputs must be a constant of one number");
  return {s.as_real(s.input(b.empty() ? 1 : 0)), given[0]};
}

void check_mask(int64_t mask) {
  const int64_t bits = mask < 0 ? ~mask : mask;
  if (bits >> kMostBits != 0) fail("its constant ", mask, " has more than ", kMostBits, " bits");
}

void decompose_bitwise(OnnxDecomposer& s) {
  if (s.all_constant()) return;
  s.check_inputs(2, 2);
  s.check_one_output();
  const std::string& kind = s.source();
  const auto [x, mask] = read_operands(s);
  check_mask(mask);
  const std::string both = common(s, x, mask);
  if (kind == "BitwiseAnd") return end_as_integer(s, both);
  const std::string sum = s.add("Add", {x, s.number(static_cast<float>(mask))});
  const std::string once = s.add("Sub", {sum, both});
  end_as_integer(s, kind == "BitwiseOr" ? once : s.add("Sub", {once, both}));
}

void decompose_bitwise_not(OnnxDecomposer& s) {
  if (s.all_constant()) return;
  s.check_inputs(1, 1);
  s.check_one_output();
  end_as_integer(s, s.add("Sub", {s.number(-1.0f), s.as_real(s.input(0))}));
}

void decompose_shift(OnnxDecomposer& s) {
  if (s.all_constant()) return;
  s.check_inputs(2, 2);
  s.check_one_output();
  const std::string way = s.string("direction", "");
  if (way != "LEFT" && way != "RIGHT") fail("its direction ", quoted(way), " is not LEFT or RIGHT");
  const bool left = way == "LEFT";
  const std::vector<int64_t> bits = s.constant(1);
  if (bits.size() != 1) fail("the number of bits must be one constant");
  if (bits[0] < 0 || bits[0] > kMostBits)
    fail("it shifts by ", bits[0], " bits; 0 to ", kMostBits, " are supported");
  const std::string x = s.as_real(s.input(0));
  end_as_integer(s, left ? times_power(s, x, bits[0]) : floor_shifted(s, x, bits[0]));
}

constexpr char kOneConstant[] = "One input is a constant number of at most 24 bits. Integers have a sign.";

constexpr OnnxDecomposition kOnnxBitsDecompositions[] = {
    {"BitShift", decompose_shift, {Op::kMul, Op::kFloor}, "By a constant, at most 24 bits.", kStandard},
    {"BitwiseAnd", decompose_bitwise, {Op::kMul, Op::kFloor, Op::kSub, Op::kAdd}, kOneConstant, kStandard},
    {"BitwiseNot", decompose_bitwise_not, {Op::kSub}, "Integers have a sign.", kStandard},
    {"BitwiseOr", decompose_bitwise, {Op::kMul, Op::kFloor, Op::kSub, Op::kAdd}, kOneConstant, kStandard},
    {"BitwiseXor", decompose_bitwise, {Op::kMul, Op::kFloor, Op::kSub, Op::kAdd}, kOneConstant, kStandard},
};

}  // namespace

Span<const OnnxDecomposition> onnx_bits_decompositions() { return kOnnxBitsDecompositions; }

}  // namespace intaglio::importers

// TFLite products of two activations, comparisons, logic and choices. They are computed in FP32: codes are dequantized in front of them,
// and quantized behind. What is true is the number 1, what is not is 0.
#include "importers/draft/draft.h"
#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

int32_t read_binary(TfliteOp& op, Op kind, bool swap) {
  op.check_inputs(2, 2);
  const int32_t a = read_real(op, 0), b = read_real(op, 1);
  return add_binary(op, kind, swap ? b : a, swap ? a : b);
}

template <Op kKind, bool kSwap>
void import_comparison(TfliteOp& op) {
  finish_real(op, read_binary(op, kKind, kSwap));
}
void import_not_equal(TfliteOp& op) {
  finish_real(op, add_not(op, read_binary(op, Op::kEqual, false), "/factor"));
}
void import_not(TfliteOp& op) {
  op.check_inputs(1, 1);
  finish_real(op, add_not(op, read_real(op, 0), "/factor"));
}

void import_floor_div(TfliteOp& op) {
  finish_real(op, add_unary(op, Op::kFloor, read_binary(op, Op::kDiv, false), "/floor"));
}
void import_floor_mod(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t a = read_real(op, 0), b = read_real(op, 1);
  const int32_t whole = add_unary(op, Op::kFloor, add_binary(op, Op::kDiv, a, b), "/floor");
  finish_real(op, add_binary(op, Op::kSub, a, add_binary(op, Op::kMul, whole, b)));
}

void import_select(TfliteOp& op) {
  op.check_inputs(3, 3);
  std::vector<int32_t> inputs{read_real(op, 0), read_real(op, 1), read_real(op, 2)};
  // The older operator's condition may have the first axis alone.
  const Shape whole = op.shape(inputs[1]), of_condition = op.shape(inputs[0]);
  if (op.source() == "SELECT" && of_condition.size() == 1 && whole.size() > 1 &&
      of_condition[0] == whole[0]) {
    Shape rows(whole.size(), 1);
    rows[0] = whole[0];
    if (op.draft().tensor(inputs[0]).constant)
      op.shape(inputs[0]) = rows;
    else
      inputs[0] = add_reshape(op.part("/rows"), inputs[0], rows);
  }
  finish_real(op, add_choice(op, inputs));
}

void import_batch_matmul(TfliteOp& op) {
  op.check_inputs(2, 2);
  const auto* options = op.options_or_null<tflite::BatchMatMulOptions>();
  int32_t a = read_real(op, 0);
  const int32_t b = read_real(op, 1);
  for (const int32_t x : {a, b})
    if (op.shape(x).size() < 2)
      fail("its input has the shape ", shape_text(op.shape(x)), "; rank 2 or more is expected");
  if (options != nullptr && options->adj_x()) a = add_swapped(op.part("/rows"), a);
  const bool transpose_b = options != nullptr && options->adj_y();
  finish_real(op, add_matrix_product(op.origin(), a, b, transpose_b));
}

void import_cumsum(TfliteOp& op) {
  op.check_inputs(2, 2);
  const auto* options = op.options_or_null<tflite::CumsumOptions>();
  const int32_t x = read_real(op, 0);
  const int32_t axis = normal_axis(op.integer(1), op.shape(x).size());
  finish_real(op, add_cumulative_sum(op.origin(), x, axis, options != nullptr && options->exclusive(),
                                     options != nullptr && options->reverse()));
}

constexpr char kLogicInReals[] = "Codes become FP32 for it.";

constexpr TfliteOperator kTfliteLogicOperators[] = {
    {Builtin::BATCH_MATMUL, import_batch_matmul, {Op::kBatchMatMul, Op::kFullyConnected, Op::kTranspose}, ""},
    {Builtin::CUMSUM,
     import_cumsum,
     {Op::kFullyConnected, Op::kTranspose},
     "The axis is a constant, of at most 4096 elements."},
    {Builtin::EQUAL, import_comparison<Op::kEqual, false>, {Op::kEqual}, kLogicInReals},
    {Builtin::FLOOR_DIV, import_floor_div, {Op::kDiv, Op::kFloor}, kLogicInReals},
    {Builtin::FLOOR_MOD, import_floor_mod, {Op::kDiv, Op::kFloor, Op::kMul, Op::kSub}, kLogicInReals},
    {Builtin::GREATER, import_comparison<Op::kLess, true>, {Op::kLess}, kLogicInReals},
    {Builtin::GREATER_EQUAL, import_comparison<Op::kLessOrEqual, true>, {Op::kLessOrEqual}, kLogicInReals},
    {Builtin::LESS, import_comparison<Op::kLess, false>, {Op::kLess}, kLogicInReals},
    {Builtin::LESS_EQUAL, import_comparison<Op::kLessOrEqual, false>, {Op::kLessOrEqual}, kLogicInReals},
    {Builtin::LOGICAL_AND, import_comparison<Op::kMinimum, false>, {Op::kMinimum}, kLogicInReals},
    {Builtin::LOGICAL_NOT, import_not, {Op::kSub}, kLogicInReals},
    {Builtin::LOGICAL_OR, import_comparison<Op::kMaximum, false>, {Op::kMaximum}, kLogicInReals},
    {Builtin::NOT_EQUAL, import_not_equal, {Op::kEqual, Op::kSub}, kLogicInReals},
    {Builtin::SELECT, import_select, {Op::kWhere}, kLogicInReals},
    {Builtin::SELECT_V2, import_select, {Op::kWhere}, kLogicInReals},
};

}  // namespace

int32_t read_real(TfliteOp& op, size_t i) { return real_of(op, op.activation_or_constant(i)); }

int32_t real_of(TfliteOp& op, int32_t x) {
  const DraftTensor info = op.draft().tensor(x);
  if (info.dtype == DType::kF32) return x;
  if (info.dtype == DType::kS32 && info.constant && info.scales.empty()) {
    const std::vector<int32_t> integers = values_of<int32_t>(info);
    return add_constant(op.draft(), info.name, DType::kF32, info.shape,
                        std::vector<float>(integers.begin(), integers.end()));
  }
  if (info.dtype != DType::kS8 || info.scales.empty() || (info.scales.size() > 1 && !info.constant))
    fail("its input ", quoted(info.name), " is neither float32, nor int8 of one scale, nor bool");
  if (info.constant) {
    return op.draft().put(dequantized(info));
  }
  const int32_t real = add_activation(op.draft(), info.name + "/real", DType::kF32, info.shape);
  op.add(Op::kDequantize, {x}, real);
  return real;
}

// The node's output, which is float32 or int8, from reals.
void finish_real(TfliteOp& op, int32_t real) {
  const int32_t y = op.output(op.shape(real));
  op.add(op.draft().tensor(y).dtype == DType::kS8 ? Op::kQuantize : Op::kReshape, {real}, y);
}

int32_t read_real_bias(TfliteOp& op, size_t i) {
  if (!op.is_constant(i)) return read_real(op, i);
  return op.draft().put(dequantized(op.constant(i)));
}

int32_t add_real_activation(TfliteOp& op, int32_t real, tflite::Activation activation) {
  if (activation == tflite::Activation::None) return real;
  const int32_t clamped = op.new_tensor(op.shape(real), "/clamped");
  set_activation(op.add(Op::kClamp, {real}, clamped), activation, op.draft().tensor(clamped));
  return clamped;
}

void import_computed_layer(TfliteOp& op) {
  const auto& options = op.options<tflite::FullyConnectedOptions>();
  if (options.weights_format() != 0) fail("shuffled weights are not supported");
  const int32_t x = read_real(op, 0), weights = read_real(op, 1);
  const Shape shape = op.shape(x), w = op.shape(weights);
  if (w.size() != 2 || elements(shape) % w[1] != 0)
    fail("its input ", shape_text(shape), " does not fit weights of ", shape_text(w));
  Shape wanted{static_cast<int32_t>(elements(shape) / w[1]), w[0]};
  const int32_t flat = add_reshape(op.part("/flat"), x, {wanted[0], w[1]});
  int32_t y = add_matrix_product(op.part("/product"), flat, weights, true);
  if (op.has_input(2)) y = add_binary(op, Op::kAdd, y, read_real_bias(op, 2));
  y = add_real_activation(op, y, options.activation());
  if (options.keep_num_dims()) {
    if (shape.back() != w[1])
      fail("the input's last dimension is ", shape.back(), " where ", w[1], " is expected");
    wanted = shape;
    wanted.back() = w[0];
  }
  finish_real(op, add_reshape(op.part("/shaped"), y, wanted));
}

Span<const TfliteOperator> tflite_logic_operators() { return kTfliteLogicOperators; }

}  // namespace intaglio::importers

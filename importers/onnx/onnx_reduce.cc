// ONNX operators that reduce axes: means, sums, norms, maxima.
#include <algorithm>

#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

struct Axes {
  std::vector<int32_t> axes;  // ascending; empty: nothing is reduced
  bool keep = true;

  Shape reduced(const Shape& shape) const { return at_least_1d(reduced_shape(shape, axes, keep)); }
};

// Axes from the attribute, or from input 1 since opset `by_input`.
Axes read_axes(OnnxOp& op, int64_t by_input) {
  op.check_inputs(1, op.opset() >= by_input ? 2 : 1);
  const size_t rank = op.shape(op.activation(0)).size();
  Axes read;
  read.keep = op.integer("keepdims", 1) != 0;
  std::vector<int64_t> given = op.has_input(1) ? op.integers(1).values : op.integers("axes");
  if (given.empty() && op.integer("noop_with_empty_axes", 0) != 0) return read;
  op.ignore("noop_with_empty_axes");
  if (given.empty())
    for (size_t i = 0; i < rank; ++i) given.push_back(static_cast<int64_t>(i));
  read.axes = normal_axes(given, rank);
  return read;
}

int32_t add_mean(OnnxOp& op, int32_t x, const Axes& reduced) {
  const int32_t y = op.new_tensor(reduced.reduced(op.shape(x)));
  op.add(Op::kMean, {x}, y).options.as<ReduceOptions>().axes = op.draft().list(reduced.axes);
  return y;
}

int32_t add_sum(OnnxOp& op, int32_t x, const Axes& reduced) {
  int64_t count = 1;
  for (const int32_t axis : reduced.axes) count *= op.shape(x)[static_cast<size_t>(axis)];
  return add_scaled(op, add_mean(op, x, reduced), static_cast<float>(count));
}

// For whole numbers the mean's rounding is taken out again.
int32_t add_own_sum(OnnxOp& op, int32_t x, const Axes& reduced) {
  const int32_t sum = add_sum(op, x, reduced);
  return op.computes_integers() || op.is_whole(0) ? add_unary(op, Op::kRound, sum) : sum;
}

// The largest element over axes, wherever they lie. Of pictures in NHWC, as they are here.
int32_t add_maximum(OnnxOp& op, int32_t x, const Axes& reduced) {
  const Shape shape = op.shape(x), out = reduced.reduced(shape);
  const bool picture = shape.size() == 4;  // whose channels lie last here
  Axes here{{}, true};
  for (const int32_t axis : reduced.axes)
    here.axes.push_back(picture ? inverse(kToNhwc)[static_cast<size_t>(axis)] : axis);
  std::sort(here.axes.begin(), here.axes.end());
  const int32_t rows = picture ? op.nhwc(x) : x;
  const int32_t most = add_maximum_over(op.result(), rows, here.axes, here.reduced(op.shape(rows)));
  const int32_t back = picture ? add_transpose(op.result(), most, kToNchw) : most;
  return add_reshape(op.result(), back, out);
}

// The axes behind batch and channels.
std::vector<int32_t> places(OnnxOp& op, int32_t x) {
  const Shape& shape = op.shape(x);
  if (shape.size() < 3) fail("its input has the shape ", shape_text(shape), "; rank 3 or more is expected");
  std::vector<int32_t> axes;
  for (size_t d = 2; d < shape.size(); ++d) axes.push_back(static_cast<int32_t>(d));
  return axes;
}

void import_reduce_mean(OnnxOp& op) {
  const Axes reduced = read_axes(op, 18);
  const int32_t x = op.activation(0);
  if (reduced.axes.empty()) return op.set_output(x);
  if (!op.computes_integers()) return op.set_output(add_mean(op, x, reduced));
  // The quotient of integers goes towards 0.
  const int32_t sum = add_own_sum(op, x, reduced);
  const int64_t ratio = elements(op.shape(x)) / elements(op.shape(sum));
  const int32_t count =
      add_constant(op.draft(), op.name() + "/count", DType::kF32, Shape(op.shape(sum).size(), 1),
                   std::vector<float>{static_cast<float>(ratio)});
  op.set_output(op.as_real(op.as_index(add_binary(op, Op::kDiv, sum, count))));
}

void import_reduce_sum(OnnxOp& op) {
  const Axes reduced = read_axes(op, 13);
  const int32_t x = op.activation(0);
  op.set_output(reduced.axes.empty() ? x : add_own_sum(op, x, reduced));
}

void import_reduce_norm(OnnxOp& op) {
  const Axes reduced = read_axes(op, 18);
  if (reduced.axes.empty()) fail("it reduces no axis");
  const int32_t x = op.activation(0);
  if (op.source() == "ReduceL1") return op.set_output(add_own_sum(op, add_unary(op, Op::kAbs, x), reduced));
  const int32_t sum = add_own_sum(op, add_square(op, x), reduced);
  if (op.source() != "ReduceL2") return op.set_output(sum);
  const int32_t root = add_unary(op, Op::kSqrt, sum);
  op.set_output(op.computes_integers() ? op.as_real(op.as_index(root)) : root);
}

void import_reduce_max(OnnxOp& op) {
  const Axes reduced = read_axes(op, 18);
  const int32_t x = op.activation(0);
  if (reduced.axes.empty()) return op.set_output(x);
  const bool least = op.source() == "ReduceMin";  // -max(-x)
  const int32_t most = add_maximum(op, least ? add_scaled(op, x, -1.0f) : x, reduced);
  op.set_output(least ? add_scaled(op, most, -1.0f) : most);
}

// log(sum(x)), or log(sum(exp(x - max))) + max, which no x is too large for.
void import_reduce_log_sum(OnnxOp& op) {
  const Axes reduced = read_axes(op, 18);
  if (reduced.axes.empty()) fail("it reduces no axis");
  const int32_t x = op.activation(0);
  if (op.source() == "ReduceLogSum") return op.set_output(add_unary(op, Op::kLog, add_sum(op, x, reduced)));
  const Axes kept{reduced.axes, true};
  const int32_t most = add_maximum(op, x, kept);
  const int32_t below = op.make(Op::kSub, {x, most}, op.shape(x));
  const int32_t sum = add_sum(op, add_unary(op, Op::kExp, below), kept);
  const int32_t y = op.make(Op::kAdd, {add_unary(op, Op::kLog, sum), most}, op.shape(most));
  op.set_output(add_reshape(op.result(), y, reduced.reduced(op.shape(x))));
}

void import_global_average_pool(OnnxOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  op.set_output(add_mean(op, x, {places(op, x), true}));
}

void import_global_max_pool(OnnxOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  op.set_output(add_maximum(op, x, {places(op, x), true}));
}

void import_global_lp_pool(OnnxOp& op) {
  op.check_inputs(1, 1);
  const auto p = static_cast<float>(op.integer("p", 2));
  if (p < 1.0f) fail("p ", p, " is not allowed");
  const int32_t x = op.activation(0);
  op.set_output(add_root(op, add_sum(op, add_magnitude_power(op, x, p), {places(op, x), true}), p));
}

// Slices of each reduced axis, multiplied one by one.
void import_reduce_product(OnnxOp& op) {
  constexpr int32_t kMost = 64;
  const Axes reduced = read_axes(op, 18);
  int32_t y = op.activation(0);
  const Shape out = reduced.reduced(op.shape(y));
  for (const int32_t axis : reduced.axes) {
    Shape slice = op.shape(y);
    const int32_t count = slice[static_cast<size_t>(axis)];
    if (count > kMost)
      fail("it multiplies ", count, " elements of axis ", axis, "; at most ", kMost, " are supported");
    slice[static_cast<size_t>(axis)] = 1;
    const int32_t whole = y;
    for (int32_t i = 0; i < count; ++i) {
      std::vector<int32_t> begin(slice.size(), 0);
      begin[static_cast<size_t>(axis)] = i;
      const int32_t next =
          add_slice(op.part("/factor"), whole, begin, std::vector<int32_t>(slice.size(), 1), slice);
      y = i == 0 ? next : add_binary(op, Op::kMul, y, next);
    }
  }
  op.set_output(add_reshape(op.result(), y, out));
}

void import_lp_normalization(OnnxOp& op) {
  op.check_inputs(1, 1);
  if (op.integer("p", 2) != 2) fail("p ", op.integer("p", 2), " is not supported; 2 is");
  const int32_t x = op.activation(0);
  const int64_t axis = op.integer("axis", -1);
  op.set_output(
      op.along_last_axis(x, axis, [&](int32_t rows) { return add_unary(op, Op::kL2Normalize, rows); }));
}

constexpr OnnxOperator kOnnxReduceOperators[] = {
    {"GlobalAveragePool", import_global_average_pool, {Op::kMean}, "Rank 3 and more."},
    {"GlobalLpPool", import_global_lp_pool, {Op::kPow, Op::kMean, Op::kMul}, "Rank 3 and more."},
    {"GlobalMaxPool", import_global_max_pool, {Op::kMaxPool2d}, "Rank 3 and more."},
    {"LpNormalization", import_lp_normalization, {Op::kL2Normalize}, "p is 2."},
    {"ReduceL1", import_reduce_norm, {Op::kAbs, Op::kMean, Op::kMul}, "Axes are constants."},
    {"ReduceL2", import_reduce_norm, {Op::kMul, Op::kMean, Op::kSqrt}, "Axes are constants."},
    {"ReduceLogSum", import_reduce_log_sum, {Op::kMean, Op::kMul, Op::kLog}, "Axes are constants."},
    {"ReduceLogSumExp",
     import_reduce_log_sum,
     {Op::kMaxPool2d, Op::kExp, Op::kMean, Op::kLog},
     "Axes are constants."},
    {"ReduceMax", import_reduce_max, {Op::kMaxPool2d, Op::kTranspose}, "Axes are constants."},
    {"ReduceMin", import_reduce_max, {Op::kMul, Op::kMaxPool2d, Op::kTranspose}, "Axes are constants."},
    {"ReduceMean", import_reduce_mean, {Op::kMean, Op::kRound, Op::kDiv}, "Axes are constants."},
    {"ReduceProd",
     import_reduce_product,
     {Op::kStridedSlice, Op::kMul},
     "Axes are constants, at most 64 elements each."},
    {"ReduceSum", import_reduce_sum, {Op::kMean, Op::kMul, Op::kRound}, "Axes are constants."},
    {"ReduceSumSquare", import_reduce_norm, {Op::kMul, Op::kMean}, "Axes are constants."},
};

}  // namespace

Span<const OnnxOperator> onnx_reduce_operators() { return kOnnxReduceOperators; }

}  // namespace intaglio::importers

// ONNX windows over height and width.
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

// How padding counts in a mean: not at all; as zeros but for what ceil_mode adds; as zeros.
enum class Padding { kNothing, kOwnZeros, kZeros };

// Windows over the sides of a picture or a volume, and whether their padding counts as zeros.
struct PoolWindows {
  std::vector<WindowAxis> axes;
  bool include;
};

// Where some padding counts and some does not, what counts becomes elements of x [n, sides..., c].
PoolWindows pool_windows(OnnxOp& op, Op kind, int32_t* x, Padding padding) {
  Shape sides = op.shape(*x);
  sides.erase(sides.begin());
  sides.pop_back();
  const auto given = op.spatial("kernel_shape", 1, 1);
  if (given.empty()) fail("its kernel_shape is missing");
  Shape kernel;
  for (const int64_t side : given) kernel.push_back(narrow(side, "window size"));
  std::vector<WindowAxis> axes = read_onnx_windows(op, sides, kernel);
  for (const WindowAxis& axis : axes)
    if (kind == Op::kAvgPool2d && axis.dilation != 1) fail("dilation is not supported");
  if (kind == Op::kMaxPool2d) op.ignore("storage_order");  // of indices, which are not made
  const bool include = padding != Padding::kNothing;
  if (op.integer("ceil_mode", 0) == 0) return {axes, include};
  const std::vector<WindowAxis> exact = axes;
  bool more = false, has_own = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    pad_ceil(axes[i], sides[i]);
    more |= axes[i].after != exact[i].after;
    has_own |= exact[i].before != 0 || exact[i].after != 0;
  }
  if (padding != Padding::kOwnZeros || !more) return {axes, include};
  if (!has_own) return {axes, false};
  std::vector<int32_t> before(sides.size() + 2, 0), after = before;
  for (size_t i = 0; i < axes.size(); ++i) {
    before[i + 1] = exact[i].before;
    after[i + 1] = exact[i].after;
    axes[i].before = 0;
    axes[i].after -= exact[i].after;
  }
  *x = add_zeros_around(op, *x, before, after);
  return {axes, false};
}

// A pool over height and width of x [n, h, w, c].
int32_t add_pool_2d(OnnxOp& op, Op kind, int32_t x, const WindowAxis& h, const WindowAxis& w, bool include) {
  const Shape shape = op.shape(x);
  const int32_t y = op.new_tensor_like(x, window_shape(shape, h, w, shape[3]));
  op.add(kind, {x}, y).options.as<Window2d>() = window_of(h, w, include);
  return y;
}

// The pool of an input of the file's layout, in NHWC.
int32_t add_pool(OnnxOp& op, Op kind, int32_t input, Padding padding) {
  int32_t x = op.nhwc_or_line(input);
  const auto [axes, include] = pool_windows(op, kind, &x, padding);
  return add_pool_2d(op, kind, x, axes[0], axes[1], include);
}

// For three dimensions first each slice, then along the depth: the greatest of greatest ones, and the mean of means, whose
// counts are products.
int32_t add_volume_pool(OnnxOp& op, Op kind, int32_t input, Padding padding) {
  int32_t x = op.ndhwc(input);
  const auto [axes, include] = pool_windows(op, kind, &x, padding);
  const Shape from = op.shape(x);
  const auto reshaped = [&](int32_t tensor, const Shape& shape) {
    return add_reshape(op.result(), tensor, shape);
  };
  const int32_t slices = reshaped(x, {from[0] * from[1], from[2], from[3], from[4]});
  int32_t y = add_pool_2d(op, kind, slices, axes[1], axes[2], include);
  const Shape of_slice = op.shape(y);
  const int32_t area = of_slice[1] * of_slice[2];
  y = add_pool_2d(op, kind, reshaped(y, {from[0], from[1], area, from[4]}), axes[0], {}, include);
  const int32_t depth = op.shape(y)[1];
  y = reshaped(y, {from[0], depth, of_slice[1], of_slice[2], from[4]});
  return add_transpose(op.result(), y, {0, 4, 1, 2, 3});
}

void import_pool(OnnxOp& op, Op kind, int32_t input, Padding padding) {
  if (op.is_volume(0)) return op.set_output(add_volume_pool(op, kind, input, padding));
  op.set_nhwc_output(add_pool(op, kind, input, padding));
}

void import_average_pool(OnnxOp& op) {
  op.check_inputs(1, 1);
  const bool counts = op.integer("count_include_pad", 0) != 0;
  import_pool(op, Op::kAvgPool2d, op.activation(0), counts ? Padding::kOwnZeros : Padding::kNothing);
}

void import_max_pool(OnnxOp& op) {
  op.check_inputs(1, 1);
  import_pool(op, Op::kMaxPool2d, op.activation_or_codes(0), Padding::kNothing);
}

// The inputs are x and, as decompose_max_unpool() writes it, the map whose greatest elements say the places.
void import_max_unpool(OnnxOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.nhwc(op.activation(0)), map = op.nhwc(op.activation(1));
  const int32_t y = op.make(Op::kMaxUnpool2d, {x, map}, op.shape(map));
  op.set_nhwc_output(y);
}

// (sum of |x|^p)^(1/p) of each window: all padding counts as zeros, and the mean times the window's size is the sum.
void import_lp_pool(OnnxOp& op) {
  op.check_inputs(1, 1);
  const auto p = static_cast<float>(op.integer("p", 2));
  if (p < 1.0f) fail("p ", p, " is not allowed");
  int64_t taps = 1;
  for (const int64_t side : op.integers("kernel_shape")) {
    if (side < 1 || side > kMaxTensorBytes / taps) fail("its window has the size ", side);
    taps *= side;
  }
  const int32_t powers = add_magnitude_power(op, op.activation(0), p);
  const int32_t mean = add_pool(op, Op::kAvgPool2d, powers, Padding::kZeros);
  op.set_nhwc_output(add_root(op, add_scaled(op, mean, static_cast<float>(taps)), p));
}

// x * (bias + alpha / size * sum of x^2)^-beta, the sum over `size` channels around each: the mean over a window of a picture
// whose columns are the channels.
void import_lrn(OnnxOp& op) {
  op.check_inputs(1, 1);
  const float alpha = op.real("alpha", 1e-4f), beta = op.real("beta", 0.75f), bias = op.real("bias", 1.0f);
  const int32_t size = narrow(op.integer("size", 0), "size");
  if (size < 1) fail("its size is ", size);
  const int32_t x = op.nhwc(op.activation(0));
  const Shape shape = op.shape(x);
  const int32_t rows = static_cast<int32_t>(elements(shape) / shape[3]);
  const WindowAxis across{size, 1, 1, (size - 1) / 2, size / 2};
  const WindowAxis along;
  const int32_t squares = add_reshape(op.part("/squares"), add_square(op, x), {1, rows, shape[3], 1});
  const int32_t mean = op.new_tensor({1, rows, window_output(across, shape[3]), 1});
  op.add(Op::kAvgPool2d, {squares}, mean).options.as<Window2d>() = {
      along.kernel, across.kernel, 1, 1, 1, 1, 0, across.before, 0, across.after, true};
  const int32_t scaled = add_scaled(op, add_reshape(op.part("/means"), mean, shape), alpha);
  const int32_t one =
      add_constant(op.draft(), op.name() + "/bias", DType::kF32, {1, 1, 1, 1}, std::vector<float>{bias});
  const int32_t factor = add_power(op, add_binary(op, Op::kAdd, scaled, one), -beta);
  op.set_nhwc_output(add_binary(op, Op::kMul, x, factor));
}

constexpr OnnxOperator kOnnxPoolOperators[] = {
    {"AveragePool",
     import_average_pool,
     {Op::kAvgPool2d, Op::kPad},
     "One to three dimensions, without dilation."},
    {"LRN", import_lrn, {Op::kMul, Op::kAvgPool2d, Op::kAdd, Op::kPow}, "Rank 4."},
    {"LpPool",
     import_lp_pool,
     {Op::kPow, Op::kAvgPool2d, Op::kMul},
     "One or two dimensions, without dilation."},
    {"MaxPool",
     import_max_pool,
     {Op::kMaxPool2d},
     "One to three dimensions; indices of pictures whose windows touch and do not overlap."},
    {"MaxUnpool",
     import_max_unpool,
     {Op::kMaxUnpool2d, Op::kEqual, Op::kMul, Op::kTranspose},
     "Windows touch and do not overlap. Indices that are no MaxPool's are compared; one outside its window places nothing."},
};

}  // namespace

std::vector<WindowAxis> read_onnx_windows(OnnxOp& op, const Shape& sides, const Shape& kernel) {
  const size_t count = sides.size();
  std::vector<WindowAxis> axes(count);
  const auto strides = op.spatial("strides", 1, 1), dilations = op.spatial("dilations", 1, 1);
  const auto pads = op.spatial("pads", 2, 0);  // all in front, then all behind
  const std::string mode = op.string("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER")
    fail("auto_pad ", quoted(mode), " is not known");
  for (size_t i = 0; i < count; ++i) {
    axes[i].kernel = kernel[i];
    if (!strides.empty()) axes[i].stride = narrow(strides[i], "strides");
    if (!dilations.empty()) axes[i].dilation = narrow(dilations[i], "dilations");
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      pad_same(axes[i], sides[i], mode == "SAME_LOWER");
    } else if (mode == "NOTSET" && !pads.empty()) {
      axes[i].before = narrow(pads[i], "padding");
      axes[i].after = narrow(pads[count + i], "padding");
    }
  }
  return axes;
}

OnnxWindow read_onnx_window(OnnxOp& op, const Shape& nhwc, int32_t kernel_h, int32_t kernel_w) {
  const auto axes = read_onnx_windows(op, {nhwc[1], nhwc[2]}, {kernel_h, kernel_w});
  return {axes[0], axes[1]};
}

Span<const OnnxOperator> onnx_pool_operators() { return kOnnxPoolOperators; }

}  // namespace intaglio::importers

// TFLite operators that reduce height and width.
#include <algorithm>

#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_operators.h"
#include "runtime/quantization_range.h"

namespace intaglio::importers {

namespace {

// TFLite rounds the mean of 8-bit codes as they stand, whatever their zero point: a half goes away from the code 0, of uint8
// upwards. Here a half goes to the even one of the reals' steps. So the codes are taken for numbers whose 0 is the code 0 of
// TFLite, and the scale of their mean is a little smaller. A half is then above the middle, and nothing else gets there: of
// kMostTaps taps the next mean is a 64th away. In larger windows not one mean in 64 is a half. A board would pay more for the
// tables than they bring.
constexpr int32_t kMostTaps = 32;
constexpr float kSmaller = 1.0f - 0x1p-20f;  // single precision loses at most 2^-22 of a mean

bool has_halves(const WindowAxis& h, const WindowAxis& w, const DraftTensor& x, const DraftTensor& y) {
  const bool is_padded = h.before + h.after + w.before + w.after > 0;
  const int64_t taps = int64_t{h.kernel} * w.kernel;
  return y.dtype == DType::kS8 && x.same_quantization(y) && (is_padded || taps % 2 == 0) &&
         taps <= kMostTaps && is_scale(y.scales[0] * kSmaller);
}

// The same codes as another tensor's, for numbers whose 0 is TFLite's code 0.
int32_t add_numbers(TfliteOp& op, const char* what, int32_t like, float factor) {
  const Shape shape = op.shape(like);
  const int32_t made = add_activation_like(op.draft(), op.name() + what, like, shape);
  op.draft().tensor(made).zero_point = op.is_unsigned(0) ? -128 : 0;
  op.draft().tensor(made).scales[0] *= factor;
  return made;
}

void import_pool(TfliteOp& op, Op kind) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const auto& options = op.options<tflite::Pool2DOptions>();
  const Shape shape = op.shape(x);
  check_rank(shape, 4);
  WindowAxis h{options.kernel_h(), options.stride_h()}, w{options.kernel_w(), options.stride_w()};
  if (options.padding() == tflite::Padding::Same) {
    pad_same(h, shape[1], false);
    pad_same(w, shape[2], false);
  }
  const Shape out = window_shape(shape, h, w, shape[3]);
  const int32_t y = kind == Op::kMaxPool2d ? op.output_same(x, out) : op.output(out);
  if (op.draft().tensor(y).dtype != op.draft().tensor(x).dtype)
    fail("its output has another element type than its input");
  const bool rounds = kind == Op::kAvgPool2d && has_halves(h, w, op.draft().tensor(x), op.draft().tensor(y));
  int32_t from = x, to = y;
  if (rounds) {
    from = add_numbers(op, "/codes", x, 1.0f);
    to = add_numbers(op, "/mean", y, kSmaller);
    add_same_codes(op.part("/codes"), x, from);
  }
  DraftNode& node = op.add(kind, {from}, to);
  node.options.as<Window2d>() = window_of(h, w);
  set_activation(node, options.activation(), op.draft().tensor(y));
  if (rounds) add_same_codes(op.part("/mean"), to, y);
  op.finish_same();
}

struct Reduced {
  std::vector<int32_t> axes;  // ascending
  Shape shape;                // of the result
};

Reduced read_reduced(TfliteOp& op) {
  op.check_inputs(2, 2);
  const Shape shape = op.shape(op.activation(0));
  const std::vector<int32_t> axes = normal_axes(op.integers(1), shape.size());
  if (axes.empty()) fail("it reduces no axis");
  return {axes, at_least_1d(reduced_shape(shape, axes, op.options<tflite::ReducerOptions>().keep_dims()))};
}

void import_average_pool_2d(TfliteOp& op) { import_pool(op, Op::kAvgPool2d); }
void import_max_pool_2d(TfliteOp& op) { import_pool(op, Op::kMaxPool2d); }

// The sum of integers, or their mean, which goes towards 0: the rounding of the mean in FP32 is taken out again.
void import_integer_reduction(TfliteOp& op, const Reduced& reduced, bool is_mean) {
  const int32_t x = read_real(op, 0);
  const auto named = [&](const char* part) { return op.new_tensor(reduced.shape, part); };
  const int32_t mean = named("/mean"), sum = named("/sum");
  const int64_t elements_of_one = elements(op.shape(x)) / elements(reduced.shape);
  const auto count = static_cast<float>(elements_of_one);
  op.add(Op::kMean, {x}, mean).options.as<ReduceOptions>().axes = op.draft().list(reduced.axes);
  op.add(Op::kRound, {add_binary(op, Op::kMul, mean, add_number(op, mean, count))}, sum);
  if (!is_mean) return finish_real(op, sum);
  finish_real(op, op.as_real(op.as_index(add_binary(op, Op::kDiv, sum, add_number(op, sum, count)))));
}

void import_mean(TfliteOp& op) {
  const Reduced reduced = read_reduced(op);
  if (op.output_holds_integers()) return import_integer_reduction(op, reduced, true);
  const int32_t x = op.activation(0), y = op.output_of_type(x, reduced.shape);
  op.add(Op::kMean, {x}, y).options.as<ReduceOptions>().axes = op.draft().list(reduced.axes);
}

// The mean times the number of elements. In int8 that number goes into the scale: the codes are the same.
void import_sum(TfliteOp& op) {
  const Reduced reduced = read_reduced(op);
  if (op.output_holds_integers()) return import_integer_reduction(op, reduced, false);
  const int32_t x = op.activation(0), y = op.output_of_type(x, reduced.shape);
  const int64_t elements_of_one = elements(op.shape(x)) / elements(reduced.shape);
  const auto count = static_cast<float>(elements_of_one);
  const int32_t mean = add_activation_like(op.draft(), op.name() + "/mean", y, reduced.shape);
  op.add(Op::kMean, {x}, mean).options.as<ReduceOptions>().axes = op.draft().list(reduced.axes);
  if (op.draft().tensor(x).dtype == DType::kF32) {
    op.add(Op::kMul, {mean, add_number(op, mean, count)}, y);
    return;
  }
  op.draft().tensor(mean).scales[0] /= count;
  std::vector<int8_t> same(256);
  for (int i = 0; i < 256; ++i) same[static_cast<size_t>(i)] = static_cast<int8_t>(i - 128);
  op.add(Op::kLookup, {mean, add_constant(op.draft(), op.name() + "/table", DType::kS8, {256}, same)}, y);
}

void import_reduce_max(TfliteOp& op) {
  const Reduced reduced = read_reduced(op);
  const int32_t x = op.activation(0);
  const int32_t most = add_maximum_over(op.part("/most"), x, reduced.axes, reduced.shape);
  op.set_moved(x, most, reduced.shape);
}

// -max(-x). In int8 the codes are turned round by a table, which is exact: code c becomes -1 - c.
void import_reduce_min(TfliteOp& op) {
  const Reduced reduced = read_reduced(op);
  const int32_t x = op.activation(0);
  const auto negated = [&](int32_t from, int32_t to) {
    if (op.draft().tensor(from).dtype == DType::kF32) {
      op.add(Op::kMul, {from, add_number(op, from, -1.0f)}, to);
      return;
    }
    std::vector<int8_t> turned(256);
    for (int i = 0; i < 256; ++i) turned[static_cast<size_t>(i)] = static_cast<int8_t>(127 - i);
    op.add(Op::kLookup, {from, add_constant(op.draft(), op.name() + "/table", DType::kS8, {256}, turned)},
           to);
  };
  const auto turned_like = [&](const char* what, int32_t like, const Shape& shape) {
    const int32_t made = add_activation_like(op.draft(), op.name() + what, like, shape);
    op.draft().tensor(made).zero_point = -1 - op.draft().tensor(like).zero_point;
    return made;
  };
  const int32_t below = turned_like("/negated", x, op.shape(x));
  negated(x, below);
  const int32_t most = add_maximum_over(op.part("/most"), below, reduced.axes, reduced.shape);
  const int32_t y = op.output_same(x, reduced.shape);
  negated(most, y);
  op.finish_same();
}

// TFLite pictures at another size.

void import_resize(TfliteOp& op, ResizeOptions resample, bool align_corners, bool half_pixel) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  const Shape from = op.shape(x);
  const std::vector<int64_t> size = op.integers(1);  // height, width
  if (from.size() != 4 || size.size() != 2)
    fail("its input ", shape_text(from), " is no picture, or its size is not two numbers");
  if (align_corners && half_pixel) fail("align_corners with half_pixel_centers is not supported");
  resample.coordinates = align_corners ? Coordinates::kAlignCorners
                         : half_pixel  ? Coordinates::kHalfPixel
                                       : Coordinates::kAsymmetric;
  if (resample.interpolation == Interpolation::kNearest && (align_corners || half_pixel))
    resample.rounding = NearestRounding::kHalfUp;
  const Shape to{from[0], narrow(size[0], "height"), narrow(size[1], "width"), from[3]};
  const int32_t y = op.output_same(x, to);
  op.add(Op::kResize, {x}, y).options.as<ResizeOptions>() = resample;
  op.finish_same();
}

void import_resize_bilinear(TfliteOp& op) {
  const auto& options = op.options<tflite::ResizeBilinearOptions>();
  import_resize(op, {Interpolation::kBilinear}, options.align_corners(), options.half_pixel_centers());
}

void import_resize_nearest_neighbor(TfliteOp& op) {
  const auto& options = op.options<tflite::ResizeNearestNeighborOptions>();
  import_resize(op, {Interpolation::kNearest}, options.align_corners(), options.half_pixel_centers());
}

constexpr TfliteOperator kTflitePoolOperators[] = {
    {Builtin::AVERAGE_POOL_2D,
     import_average_pool_2d,
     {Op::kAvgPool2d, Op::kLookup},
     "Of 8 bits a half is rounded as in TFLite, in windows of up to 32 taps."},
    {Builtin::MAX_POOL_2D, import_max_pool_2d, {Op::kMaxPool2d}, ""},
    {Builtin::MEAN, import_mean, {Op::kMean, Op::kRound, Op::kDiv}, "Axes are constants."},
    {Builtin::REDUCE_MAX, import_reduce_max, {Op::kMaxPool2d}, "Axes are constants."},
    {Builtin::REDUCE_MIN, import_reduce_min, {Op::kMaxPool2d, Op::kLookup}, "Axes are constants."},
    {Builtin::RESIZE_BILINEAR, import_resize_bilinear, {Op::kResize}, "The size is a constant."},
    {Builtin::RESIZE_NEAREST_NEIGHBOR,
     import_resize_nearest_neighbor,
     {Op::kResize},
     "The size is a constant."},
    {Builtin::SUM, import_sum, {Op::kMean, Op::kMul, Op::kRound}, "Axes are constants."},
};

}  // namespace

Span<const TfliteOperator> tflite_pool_operators() { return kTflitePoolOperators; }

}  // namespace intaglio::importers

// TFLite operators that are computed in FP32: codes are dequantized in front of them, and quantized behind.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

void import_squared_difference(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t difference = add_binary(op, Op::kSub, read_real(op, 0), read_real(op, 1));
  finish_real(op, add_binary(op, Op::kMul, difference, difference));
}

void import_add_n(TfliteOp& op) {
  op.check_inputs(1, 64);
  int32_t sum = read_real(op, 0);
  for (size_t i = 1; i < op.input_count(); ++i) sum = add_binary(op, Op::kAdd, sum, read_real(op, i));
  finish_real(op, sum);
}

void import_log_softmax(TfliteOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = read_real(op, 0);
  const Shape shape = op.shape(x);
  if (shape.empty()) fail("its input has no axis");
  const int32_t y = op.new_tensor(shape, "/logarithms");
  add_log_softmax(op.origin(), x, y);
  finish_real(op, y);
}

// Whether any of the truth values along the axes is 1: their maximum. Whether all are: 1 less that of what they are not.
void import_any(TfliteOp& op) {
  op.check_inputs(2, 2);
  const bool all = op.source() != "REDUCE_ANY";
  int32_t x = read_real(op, 0);
  const Shape from = op.shape(x);
  std::vector<int32_t> axes = normal_axes(op.integers(1), from.size());
  if (axes.empty()) {
    axes.resize(from.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  const Shape shape =
      at_least_1d(reduced_shape(from, axes, op.options<tflite::ReducerOptions>().keep_dims()));
  if (all) x = add_not(op, x, "/factor");
  x = add_maximum_over(op.part("/most"), x, axes, shape);
  finish_real(op, all ? add_not(op, x, "/factor") : x);
}

// x / (bias + alpha * sum of squares of the channels around)^beta
void import_local_response_normalization(TfliteOp& op) {
  op.check_inputs(1, 1);
  const auto& options = op.options<tflite::LocalResponseNormalizationOptions>();
  const int32_t x = read_real(op, 0);
  const Shape shape = op.shape(x);
  const int32_t channels = shape.back(), radius = options.radius();
  constexpr int32_t kMostChannels = 4096;
  if (shape.size() != 4 || channels > kMostChannels)
    fail("its input has the shape ", shape_text(shape), "; a picture of at most ", kMostChannels,
         " channels is expected");
  if (radius < 0) fail("its radius is ", radius);
  for (const float number : {options.bias(), options.alpha(), options.beta()})
    if (!std::isfinite(number)) fail("it has the number ", number);
  op.draft().budget->check_numbers(int64_t{channels} * channels);
  std::vector<float> near;
  for (int32_t to = 0; to < channels; ++to)
    for (int32_t from = 0; from < channels; ++from)
      near.push_back(std::abs(int64_t{to} - from) <= radius ? options.alpha() : 0.0f);
  const int32_t rows = static_cast<int32_t>(elements(shape) / channels);
  const int32_t squares = add_reshape(op.part("/rows"), add_binary(op, Op::kMul, x, x), {rows, channels});
  const int32_t weights =
      add_constant(op.draft(), op.name() + "/near", DType::kF32, {channels, channels}, near);
  const int32_t bias = add_channel_constant(op.draft(), op.name() + "/bias", channels, options.bias());
  const int32_t sums = op.make(Op::kFullyConnected, {squares, weights, bias}, {rows, channels}, "/sums");
  const int32_t factors = op.new_tensor({rows, channels}, "/factors");
  op.add(Op::kPow, {sums}, factors).options.as<UnaryOptions>().alpha = -options.beta();
  finish_real(op, add_binary(op, Op::kMul, x, add_reshape(op.part("/factors"), factors, shape)));
}

// Magnitudes of the Fourier transform of each row: products with cosines and sines.
void import_rfft(TfliteOp& op) {
  op.check_inputs(2, 2);
  constexpr int32_t kMostLength = 4096;
  const std::vector<int64_t> lengths = op.integers(1);
  if (lengths.size() != 2 || lengths[0] != 1 || lengths[1] < 2 || lengths[1] > kMostLength)
    fail("its lengths must be 1 and 2 to ", kMostLength);
  const auto length = static_cast<int32_t>(lengths[1]);
  const int32_t x = read_real(op, 0);
  Shape shape = op.shape(x);
  if (shape.size() < 2 || shape[shape.size() - 2] != 1)
    fail("its input has the shape ", shape_text(shape), "; rows of [1, ", length, "] are expected");
  const int32_t own = shape.back(), used = std::min(own, length), bins = length / 2 + 1;
  const double turn = 2 * std::acos(-1.0) / length;
  op.draft().budget->check_numbers(2 * int64_t{bins} * own);
  std::vector<float> waves;
  for (const bool is_sine : {false, true})
    for (int32_t bin = 0; bin < bins; ++bin)
      for (int32_t i = 0; i < own; ++i) {
        const double angle = turn * static_cast<double>(int64_t{bin} * i % length);
        waves.push_back(i >= used ? 0.0f : static_cast<float>(is_sine ? std::sin(angle) : std::cos(angle)));
      }
  const auto rows = static_cast<int32_t>(elements(shape) / own);
  const int32_t flat = add_reshape(op.part("/rows"), x, {rows, own});
  const int32_t weights = add_constant(op.draft(), op.name() + "/waves", DType::kF32, {2 * bins, own}, waves);
  const int32_t bias = add_channel_constant(op.draft(), op.name() + "/bias", 2 * bins, 0.0f);
  const int32_t parts = op.make(Op::kFullyConnected, {flat, weights, bias}, {rows, 2 * bins}, "/parts");
  const int32_t squares = add_binary(op, Op::kMul, parts, parts);
  const auto half = [&](int32_t first) {
    return add_slice(op.part("/half"), squares, {0, first}, {1, 1}, {rows, bins});
  };
  const int32_t sums = add_binary(op, Op::kAdd, half(0), half(bins));
  shape.back() = bins;
  const int32_t magnitudes = op.make(Op::kSqrt, {sums}, {rows, bins}, "/magnitudes");
  finish_real(op, add_reshape(op.part("/shaped"), magnitudes, shape));
}

void import_complex_abs(TfliteOp& op) {
  op.check_inputs(1, 1);
  finish_real(op, read_real(op, 0));
}

constexpr char kInReals[] = "Codes become FP32 for it.";

constexpr TfliteOperator kTfliteRealOperators[] = {
    {Builtin::ADD_N, import_add_n, {Op::kAdd}, "At most 64 inputs."},
    {Builtin::COMPLEX_ABS, import_complex_abs, {}, "Of what RFFT2D gives, which is magnitudes here."},
    {Builtin::LOCAL_RESPONSE_NORMALIZATION,
     import_local_response_normalization,
     {Op::kMul, Op::kFullyConnected, Op::kPow},
     "Rank 4, at most 4096 channels. Codes become FP32 for it."},
    {Builtin::LOG_SOFTMAX,
     import_log_softmax,
     {Op::kMaxPool2d, Op::kExp, Op::kMean, Op::kLog},
     "Codes become FP32 for it."},
    {Builtin::REDUCE_ALL, import_any, {Op::kMaxPool2d, Op::kSub}, "Axes are constants."},
    {Builtin::REDUCE_ANY, import_any, {Op::kMaxPool2d}, "Axes are constants."},
    {Builtin::RFFT2D,
     import_rfft,
     {Op::kFullyConnected, Op::kMul, Op::kAdd, Op::kSqrt},
     "Of rows of at most 4096; its magnitudes alone, behind COMPLEX_ABS."},
    {Builtin::SQUARED_DIFFERENCE, import_squared_difference, {Op::kSub, Op::kMul}, kInReals},
};

}  // namespace

Span<const TfliteOperator> tflite_real_operators() { return kTfliteRealOperators; }

}  // namespace intaglio::importers

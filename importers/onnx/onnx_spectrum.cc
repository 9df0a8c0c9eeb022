// ONNX's Fourier transforms, as products with the cosines and sines of their definition.
#include <algorithm>
#include <cmath>

#include "importers/onnx/onnx_decomposer.h"

namespace intaglio::importers {
namespace {

constexpr int64_t kMostFactors = int64_t{1} << 24;  // of one product
constexpr double kTwoPi = 6.283185307179586476925;

// Of e^(2 pi i k / n); the remainder is exact.
struct Twiddle {
  double cosine, sine;
};
Twiddle twiddle(int64_t k, int64_t n) {
  const double angle = kTwoPi * static_cast<double>(k % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

void check_factors(int64_t rows, int64_t columns) {
  if (rows < 1 || columns < 1 || rows > kMostFactors / columns)
    fail("it is a product with ", rows, " x ", columns, " factors; ", kMostFactors, " are supported");
}

int64_t single_number(OnnxDecomposer& s, int i, const char* what) {
  const std::vector<int64_t> values = s.constant(i);
  if (values.size() != 1) fail("its ", what, " must be a constant of one number");
  return values[0];
}

// x [..., n, ..., 1 or 2]: reals, or real and imaginary parts.
void decompose_dft(OnnxDecomposer& s) {
  s.check_inputs(1, 3);
  s.check_one_output();
  Shape shape = s.shape(0);
  const auto rank = static_cast<int64_t>(shape.size());
  if (rank < 2 || shape.back() < 1 || shape.back() > 2)
    fail("its input has the shape ", shape_text(shape), "; real, or real and imaginary parts are last");
  int64_t axis = s.opset() >= 20 ? -2 : s.integer("axis", 1);
  if (s.has(2)) axis = single_number(s, 2, "axis");
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank - 1) fail("axis ", axis, " is none of those in front of the last");
  const bool inverse = s.integer("inverse", 0) != 0, one_sided = s.integer("onesided", 0) != 0;
  if (inverse && one_sided) fail("an inverse of one side is not supported");
  const int64_t own = shape[static_cast<size_t>(axis)], parts = shape.back();
  const int64_t length = s.has(1) ? single_number(s, 1, "length") : own;
  if (length < 1 || length > kMostFactors)
    fail("its length is ", length, "; 1 to ", kMostFactors, " are supported");
  const int64_t used = std::min(own, length), bins = one_sided ? length / 2 + 1 : length;
  check_factors(used * parts, bins * 2);
  std::vector<float> factors;
  for (int64_t n = 0; n < used; ++n)
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t k = 0; k < bins; ++k) {
        Twiddle a = twiddle(n * k, length);
        if (inverse) a = {a.cosine / static_cast<double>(length), -a.sine / static_cast<double>(length)};
        factors.push_back(static_cast<float>(part == 0 ? a.cosine : a.sine));
        factors.push_back(static_cast<float>(part == 0 ? -a.sine : a.cosine));
      }
  std::string x = used < own ? s.slice(s.input(0), axis, 0, used) : s.input(0);
  shape[static_cast<size_t>(axis)] = static_cast<int32_t>(used);
  std::vector<int64_t> to_end, rows, back(static_cast<size_t>(rank));
  for (int64_t d = 0; d < rank - 1; ++d)
    if (d != axis) to_end.push_back(d);
  for (const int64_t d : to_end) rows.push_back(shape[static_cast<size_t>(d)]);
  to_end.insert(to_end.end(), {axis, rank - 1});
  for (int64_t d = 0; d < rank; ++d) back[static_cast<size_t>(to_end[static_cast<size_t>(d)])] = d;
  std::vector<int64_t> flat = rows, result = rows;
  flat.push_back(used * parts);
  result.insert(result.end(), {bins, 2});
  x = s.reshaped(s.transposed(x, to_end), flat);
  const std::string matrix = s.reshaped(s.numbers(factors), {used * parts, bins * 2});
  s.end(s.transposed(s.reshaped(s.add("MatMul", {x, matrix}), result), back));
}

// Frames of a signal [batch, samples] or [batch, samples, 1], each times a window and transformed: a convolution.
void decompose_stft(OnnxDecomposer& s) {
  s.check_inputs(2, 4);
  s.check_one_output();
  const Shape shape = s.shape(0);
  if (shape.size() < 2 || shape.size() > 3 || (shape.size() == 3 && shape[2] != 1))
    fail("its signal has the shape ", shape_text(shape), "; [batch, samples, 1] is expected");
  const std::vector<float> window = s.real_constant(2);
  if (s.has(2) && window.empty()) fail("its window must be a constant");
  const int64_t step = single_number(s, 1, "step"),
                length = s.has(3) ? single_number(s, 3, "length") : static_cast<int64_t>(window.size());
  if (length < 1 || length > shape[1] || step < 1)
    fail("it has frames of ", length, " samples each ", step, " of ", shape[1]);
  if (!window.empty() && static_cast<int64_t>(window.size()) != length)
    fail("its window has ", window.size(), " samples for frames of ", length);
  const int64_t bins = s.integer("onesided", 1) != 0 ? length / 2 + 1 : length;
  check_factors(length, bins * 2);
  std::vector<float> factors;
  for (int64_t k = 0; k < bins; ++k)
    for (const bool imaginary : {false, true})
      for (int64_t n = 0; n < length; ++n) {
        const Twiddle a = twiddle(n * k, length);
        const double w = window.empty() ? 1.0 : static_cast<double>(window[static_cast<size_t>(n)]);
        factors.push_back(static_cast<float>(w * (imaginary ? -a.sine : a.cosine)));
      }
  const std::string weights = s.reshaped(s.numbers(factors), {bins * 2, 1, length}),
                    line = s.reshaped(s.input(0), {shape[0], 1, shape[1]}),
                    y = s.add("Conv", {line, weights}, {{}, {{"strides", {step}}}, {}, {}});
  const int64_t frames = (shape[1] - length) / step + 1;
  s.reshaped(s.transposed(y, {0, 2, 1}), {shape[0], frames, bins, 2}, s.output(0));
}

constexpr OnnxDecomposition kOnnxSpectrumDecompositions[] = {
    {"DFT",
     decompose_dft,
     {Op::kFullyConnected, Op::kTranspose},
     "Axis and length are constants, at most 2^24 factors.",
     true},
    {"STFT",
     decompose_stft,
     {Op::kConv2d, Op::kTranspose},
     "Of reals; step, length and window are constants, at most 2^24 factors.",
     true},
};

}  // namespace

Span<const OnnxDecomposition> onnx_spectrum_decompositions() { return kOnnxSpectrumDecompositions; }

}  // namespace intaglio::importers

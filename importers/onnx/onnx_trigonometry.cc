// Functions of angles and their inverses, and the hyperbolic ones, of operators that the runtime has.
#include <algorithm>
#include <cmath>

#include "importers/onnx/onnx_decomposer.h"

namespace intaglio::importers {

namespace {

constexpr float kBounded = 0x1p60f;  // its square is finite

class Function {
 public:
  explicit Function(OnnxDecomposer& s) : s_(s) { s.check_inputs(1, 1); }

  std::string x() const { return s_.input(0); }
  std::string of(const char* op, const std::string& a) const { return s_.add(op, {a}); }
  std::string of(const char* op, const std::string& a, const std::string& b) const {
    return s_.add(op, {a, b});
  }
  std::string with(const char* op, const std::string& a, float b) const {
    return s_.add(op, {a, s_.number(b)});
  }
  std::string squared(const std::string& a) const { return of("Mul", a, a); }
  // 1 + sqrt(1 + a^2), |a| <= kBounded
  std::string slant(const std::string& a) const {
    return with("Add", of("Sqrt", with("Add", squared(a), 1.0f)), 1.0f);
  }
  void end(const std::string& y) const { s_.end(y); }

  // The angle whose tangent is t: twice halved, then the series.
  //
  //   atan(t) = 2 atan(t / (1 + sqrt(1 + t^2)));  of |u| <= 0.4143 the first seven terms, off by 5e-7 of the angle at most
  std::string arc_tangent(const std::string& t) const {
    const auto half = [&](const std::string& a) { return of("Div", a, slant(a)); };
    const std::string u = half(half(s_.clip(t, -kBounded, kBounded))), v = squared(u);
    std::string sum = with("Mul", v, 1.0f / 13);
    for (const float term : {-1.0f / 11, 1.0f / 9, -1.0f / 7, 1.0f / 5, -1.0f / 3})
      sum = of("Mul", with("Add", sum, term), v);
    return of("Mul", with("Mul", u, 4.0f), with("Add", sum, 1.0f));
  }
  // 1 - a
  std::string rest(const std::string& a) const { return with("Add", with("Mul", a, -1.0f), 1.0f); }
  // ln(1 + u), u >= 0. What the sum with 1 rounds away of a small u is added behind: ln(w) + (u - (w - 1)) / w, w = 1 + u.
  std::string log_of_rest(const std::string& u) const {
    const std::string small = s_.clip(u, 0.0f, 1.0f), w = with("Add", small, 1.0f);
    const std::string lost = of("Sub", small, with("Sub", w, 1.0f));
    return of("Add", of("Log", with("Add", u, 1.0f)), of("Div", lost, w));
  }
  // x, and its size, in bounds whose double is finite.
  std::string bounded() const { return s_.clip(x(), -0x1p126f, 0x1p126f); }
  std::string with_sign_of_x(const std::string& size) const { return of("Mul", of("Sign", x()), size); }
  // (e^x + e^-x) / 2, of squares of e^(x / 2), which are finite where the result is.
  std::string hyperbolic_cosine() const {
    const auto half_square = [&](const std::string& a) { return of("Mul", with("Mul", a, 0.5f), a); };
    const std::string half = with("Mul", x(), 0.5f);
    return of("Add", half_square(of("Exp", half)), half_square(of("Exp", of("Neg", half))));
  }

 private:
  OnnxDecomposer& s_;
};

void decompose_atan(OnnxDecomposer& s) {
  const Function f(s);
  f.end(f.arc_tangent(f.x()));
}
// 2 atan(x / (1 + sqrt(1 - x) sqrt(1 + x)))
void decompose_asin(OnnxDecomposer& s) {
  const Function f(s);
  const std::string cosine =
      f.of("Mul", f.of("Sqrt", f.rest(f.x())), f.of("Sqrt", f.with("Add", f.x(), 1.0f)));
  f.end(f.with("Mul", f.arc_tangent(f.of("Div", f.x(), f.with("Add", cosine, 1.0f))), 2.0f));
}
// 2 atan(sqrt((1 - x) / (1 + x)))
void decompose_acos(OnnxDecomposer& s) {
  const Function f(s);
  const std::string square = f.of("Div", f.rest(f.x()), f.with("Add", f.x(), 1.0f));
  f.end(f.with("Mul", f.arc_tangent(f.of("Sqrt", square)), 2.0f));
}
void decompose_tan(OnnxDecomposer& s) {
  const Function f(s);
  const std::string sine = f.of("Sin", f.x());
  f.end(f.of("Div", sine, f.of("Cos", f.x())));
}
// tanh(x) cosh(x)
void decompose_sinh(OnnxDecomposer& s) {
  const Function f(s);
  const std::string tangent = f.of("Tanh", f.x());
  f.end(f.of("Mul", tangent, f.hyperbolic_cosine()));
}
void decompose_cosh(OnnxDecomposer& s) {
  const Function f(s);
  f.end(f.hyperbolic_cosine());
}
// With a = |x|: ln(1 + a + a r), r = a / (1 + sqrt(1 + a^2)), with the sign of x.
void decompose_asinh(OnnxDecomposer& s) {
  const Function f(s);
  const std::string size = f.of("Abs", f.bounded()), a = s.clip(size, 0.0f, kBounded);
  const std::string part = f.of("Mul", size, f.of("Div", a, f.slant(a)));
  f.end(f.with_sign_of_x(f.log_of_rest(f.of("Add", size, part))));
}
// With t = x - 1: ln(1 + t + sqrt(t) sqrt(t + 2))
void decompose_acosh(OnnxDecomposer& s) {
  const Function f(s);
  const std::string t = f.with("Sub", f.bounded(), 1.0f);
  const std::string root = f.of("Mul", f.of("Sqrt", t), f.of("Sqrt", f.with("Add", t, 2.0f)));
  f.end(f.log_of_rest(f.of("Add", t, root)));
}
// With a = |x|: ln(1 + 2 a / (1 - a)) / 2, with the sign of x.
void decompose_atanh(OnnxDecomposer& s) {
  const Function f(s);
  const std::string size = f.of("Abs", f.x());
  const std::string u = f.of("Div", f.with("Mul", size, 2.0f), f.rest(size));
  f.end(f.with_sign_of_x(f.with("Mul", f.log_of_rest(u), 0.5f)));
}

// ONNX's Fourier transforms, as products with the cosines and sines of their definition.

constexpr int64_t kMostFactors = int64_t{1} << 24;  // of one product
constexpr double kTwoPi = 6.283185307179586476925;

// The parts of e^(2 pi i k / n); the remainder is exact.
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
                    y = s.add("Conv", {line, weights}, {{"strides", OnnxList{step}}});
  const int64_t frames = (shape[1] - length) / step + 1;
  s.reshaped(s.transposed(y, {0, 2, 1}), {shape[0], frames, bins, 2}, s.output(0));
}

constexpr OnnxDecomposition kOnnxTrigonometricDecompositions[] = {
    {"Acos", decompose_acos, {Op::kSqrt, Op::kDiv, Op::kMul, Op::kAdd}, "", kStandard},
    {"Acosh", decompose_acosh, {Op::kSqrt, Op::kLog, Op::kMul, Op::kAdd}, "", kStandard},
    {"Asin", decompose_asin, {Op::kSqrt, Op::kDiv, Op::kMul, Op::kAdd}, "", kStandard},
    {"Asinh", decompose_asinh, {Op::kSqrt, Op::kDiv, Op::kLog, Op::kMul}, "", kStandard},
    {"Atan", decompose_atan, {Op::kSqrt, Op::kDiv, Op::kMul, Op::kAdd}, "", kStandard},
    {"Atanh", decompose_atanh, {Op::kDiv, Op::kLog, Op::kMul, Op::kAdd}, "", kStandard},
    {"Cosh", decompose_cosh, {Op::kExp, Op::kAdd, Op::kMul}, "", kStandard},
    {"DFT",
     decompose_dft,
     {Op::kFullyConnected, Op::kTranspose},
     "Axis and length are constants, at most 2^24 factors.",
     kStandard},
    {"STFT",
     decompose_stft,
     {Op::kConv2d, Op::kTranspose},
     "Of reals; step, length and window are constants, at most 2^24 factors.",
     kStandard},
    {"Sinh", decompose_sinh, {Op::kTanh, Op::kExp, Op::kAdd, Op::kMul}, "", kStandard},
    {"Tan", decompose_tan, {Op::kSin, Op::kCos, Op::kDiv}, "", kStandard},
};

}  // namespace

Span<const OnnxDecomposition> onnx_trigonometric_decompositions() { return kOnnxTrigonometricDecompositions; }

}  // namespace intaglio::importers

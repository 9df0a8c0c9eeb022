// Functions of angles and their inverses, and the hyperbolic ones, of operators that the runtime has.
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
// Of a = |x|: ln(1 + a + a r), r = a / (1 + sqrt(1 + a^2)), with the sign of x.
void decompose_asinh(OnnxDecomposer& s) {
  const Function f(s);
  const std::string size = f.of("Abs", f.bounded()), a = s.clip(size, 0.0f, kBounded);
  const std::string part = f.of("Mul", size, f.of("Div", a, f.slant(a)));
  f.end(f.with_sign_of_x(f.log_of_rest(f.of("Add", size, part))));
}
// Of t = x - 1: ln(1 + t + sqrt(t) sqrt(t + 2))
void decompose_acosh(OnnxDecomposer& s) {
  const Function f(s);
  const std::string t = f.with("Sub", f.bounded(), 1.0f);
  const std::string root = f.of("Mul", f.of("Sqrt", t), f.of("Sqrt", f.with("Add", t, 2.0f)));
  f.end(f.log_of_rest(f.of("Add", t, root)));
}
// Of a = |x|: ln(1 + 2 a / (1 - a)) / 2, with the sign of x.
void decompose_atanh(OnnxDecomposer& s) {
  const Function f(s);
  const std::string size = f.of("Abs", f.x());
  const std::string u = f.of("Div", f.with("Mul", size, 2.0f), f.rest(size));
  f.end(f.with_sign_of_x(f.with("Mul", f.log_of_rest(u), 0.5f)));
}

constexpr OnnxDecomposition kOnnxTrigonometricDecompositions[] = {
    {"Acos", decompose_acos, {Op::kSqrt, Op::kDiv, Op::kMul, Op::kAdd}, "", true},
    {"Acosh", decompose_acosh, {Op::kSqrt, Op::kLog, Op::kMul, Op::kAdd}, "", true},
    {"Asin", decompose_asin, {Op::kSqrt, Op::kDiv, Op::kMul, Op::kAdd}, "", true},
    {"Asinh", decompose_asinh, {Op::kSqrt, Op::kDiv, Op::kLog, Op::kMul}, "", true},
    {"Atan", decompose_atan, {Op::kSqrt, Op::kDiv, Op::kMul, Op::kAdd}, "", true},
    {"Atanh", decompose_atanh, {Op::kDiv, Op::kLog, Op::kMul, Op::kAdd}, "", true},
    {"Cosh", decompose_cosh, {Op::kExp, Op::kAdd, Op::kMul}, "", true},
    {"Sinh", decompose_sinh, {Op::kTanh, Op::kExp, Op::kAdd, Op::kMul}, "", true},
    {"Tan", decompose_tan, {Op::kSin, Op::kCos, Op::kDiv}, "", true},
};

}  // namespace

Span<const OnnxDecomposition> onnx_trigonometric_decompositions() { return kOnnxTrigonometricDecompositions; }

}  // namespace intaglio::importers

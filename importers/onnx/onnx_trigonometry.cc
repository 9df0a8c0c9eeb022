// Functions of angles and their inverses, and the hyperbolic ones, of operators that the runtime has.
#include "importers/onnx/onnx_decomposer.h"

namespace intaglio::importers {
namespace {

constexpr float kPi = 3.14159265358979f;

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
  // sqrt(a^2 + summand), a in such bounds that its square is finite.
  std::string root(const std::string& a, float summand) const {
    return of("Sqrt", with("Add", squared(a), summand));
  }
  void end(const std::string& y) const { s_.end(y); }

  // The angle whose tangent is t: twice halved, then the series.
  //
  //   atan(t) = 2 atan(t / (1 + sqrt(1 + t^2)));  of |u| <= 0.4143 the first seven terms, off by 2e-7 at most
  std::string arc_tangent(const std::string& t) const {
    const auto half = [&](const std::string& a) { return of("Div", a, with("Add", root(a, 1.0f), 1.0f)); };
    constexpr float kMost = 0x1p60f;  // its square is finite, and its angle is a right one
    const std::string u = half(half(s_.clip(t, -kMost, kMost))), v = squared(u);
    std::string sum = with("Mul", v, 1.0f / 13);
    for (const float term : {-1.0f / 11, 1.0f / 9, -1.0f / 7, 1.0f / 5, -1.0f / 3})
      sum = of("Mul", with("Add", sum, term), v);
    return of("Mul", with("Mul", u, 4.0f), with("Add", sum, 1.0f));
  }
  // asin(x) = 2 atan(x / (1 + sqrt(1 - x^2)))
  std::string arc_sine() const {
    const std::string cosine = of("Sqrt", with("Add", with("Mul", squared(x()), -1.0f), 1.0f));
    return with("Mul", arc_tangent(of("Div", x(), with("Add", cosine, 1.0f))), 2.0f);
  }
  // (e^x + sign * e^-x) / 2
  std::string exponentials(float sign) const {
    const std::string falling = with("Mul", of("Exp", of("Neg", x())), sign);
    return with("Mul", of("Add", of("Exp", x()), falling), 0.5f);
  }

 private:
  OnnxDecomposer& s_;
};

void decompose_atan(OnnxDecomposer& s) {
  const Function f(s);
  f.end(f.arc_tangent(f.x()));
}
void decompose_asin(OnnxDecomposer& s) {
  const Function f(s);
  f.end(f.arc_sine());
}
void decompose_acos(OnnxDecomposer& s) {
  const Function f(s);
  f.end(f.with("Add", f.with("Mul", f.arc_sine(), -1.0f), kPi / 2));
}
void decompose_tan(OnnxDecomposer& s) {
  const Function f(s);
  const std::string sine = f.of("Sin", f.x());
  f.end(f.of("Div", sine, f.of("Cos", f.x())));
}
void decompose_sinh(OnnxDecomposer& s) {
  const Function f(s);
  f.end(f.exponentials(-1.0f));
}
void decompose_cosh(OnnxDecomposer& s) {
  const Function f(s);
  f.end(f.exponentials(1.0f));
}
// sign(x) * log(|x| + sqrt(x^2 + 1))
void decompose_asinh(OnnxDecomposer& s) {
  const Function f(s);
  const std::string size = f.of("Abs", f.x());
  const std::string angle = f.of("Log", f.of("Add", size, f.root(size, 1.0f)));
  f.end(f.of("Mul", f.of("Sign", f.x()), angle));
}
// log(x + sqrt(x^2 - 1))
void decompose_acosh(OnnxDecomposer& s) {
  const Function f(s);
  f.end(f.of("Log", f.of("Add", f.x(), f.root(f.x(), -1.0f))));
}
// log((1 + x) / (1 - x)) / 2
void decompose_atanh(OnnxDecomposer& s) {
  const Function f(s);
  const std::string above = f.with("Add", f.x(), 1.0f),
                    below = f.with("Add", f.with("Mul", f.x(), -1.0f), 1.0f);
  f.end(f.with("Mul", f.of("Log", f.of("Div", above, below)), 0.5f));
}

constexpr OnnxDecomposition kRows[] = {
    {"Acos", decompose_acos, {Op::kSqrt, Op::kDiv, Op::kMul, Op::kAdd}, "", true},
    {"Acosh", decompose_acosh, {Op::kSqrt, Op::kLog, Op::kMul, Op::kAdd}, "", true},
    {"Asin", decompose_asin, {Op::kSqrt, Op::kDiv, Op::kMul, Op::kAdd}, "", true},
    {"Asinh", decompose_asinh, {Op::kSqrt, Op::kLog, Op::kMul, Op::kAdd}, "", true},
    {"Atan", decompose_atan, {Op::kSqrt, Op::kDiv, Op::kMul, Op::kAdd}, "", true},
    {"Atanh", decompose_atanh, {Op::kDiv, Op::kLog, Op::kMul, Op::kAdd}, "", true},
    {"Cosh", decompose_cosh, {Op::kExp, Op::kAdd, Op::kMul}, "", true},
    {"Sinh", decompose_sinh, {Op::kExp, Op::kAdd, Op::kMul}, "", true},
    {"Tan", decompose_tan, {Op::kSin, Op::kCos, Op::kDiv}, "", true},
};

}  // namespace

Span<const OnnxDecomposition> onnx_trigonometric_decompositions() { return kRows; }

}  // namespace intaglio::importers

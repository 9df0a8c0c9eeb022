#include "importers/passes/moments.h"

#include <algorithm>
#include <cmath>

#include "importers/passes/matcher.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {

namespace {

constexpr int32_t kMaxPolynomialDepth = 24;  // of nodes
constexpr size_t kMaxPolynomialTerms = 12;   // (a x + b m + c)^2 has 6
constexpr size_t kMaxNumbers = 1U << 16;     // of a coefficient
constexpr int8_t kMaxExponent = 2;

constexpr Exponents kConstant{};

// `factor` times b is added to a, element by element; where a product is wanted, a is multiplied by b.
Coefficient combined(const Coefficient& a, const Coefficient& b, bool multiplies, double factor = 1.0) {
  Coefficient made;
  size_t count = 1;
  for (size_t d = 0; d < a.shape.size(); ++d) {
    made.shape.push_back(std::max(a.shape[d], b.shape[d]));
    count *= static_cast<size_t>(made.shape[d]);
  }
  const auto place = [&](size_t i, const Coefficient& of) {
    size_t at = 0, step = 1;
    for (size_t d = made.shape.size(); d-- > 0;) {
      const auto size = static_cast<size_t>(made.shape[d]), own = static_cast<size_t>(of.shape[d]);
      at += own == 1 ? 0 : i % size * step;
      i /= size;
      step *= own;
    }
    return of.values[at];
  };
  for (size_t i = 0; i < count; ++i)
    made.values.push_back(multiplies ? place(i, a) * place(i, b) : place(i, a) + factor * place(i, b));
  return made;
}

bool is_zero(const Coefficient& c) {
  return std::all_of(c.values.begin(), c.values.end(), [](double v) { return v == 0.0; });
}

bool is_small_enough(const Polynomial& p) {
  size_t numbers = 0;
  for (const auto& [exponents, coefficient] : p) {
    numbers += coefficient.values.size();
    for (const int8_t e : exponents)
      if (e > kMaxExponent || e < -kMaxExponent) return false;
  }
  return p.size() <= kMaxPolynomialTerms && numbers <= kMaxNumbers;
}

Polynomial sum(const Polynomial& a, const Polynomial& b, double factor) {
  Polynomial made = a;
  for (const auto& [exponents, coefficient] : b) {
    const auto [at, is_new] =
        made.try_emplace(exponents, Coefficient{Shape(coefficient.shape.size(), 1), {0.0}});
    at->second = combined(at->second, coefficient, false, factor);
    if (is_zero(at->second)) made.erase(at);
  }
  return made;
}

Polynomial product(const Polynomial& a, const Polynomial& b) {
  Polynomial made;
  for (const auto& [e, c] : a)
    for (const auto& [f, d] : b) {
      Exponents exponents;
      for (size_t i = 0; i < kVariables; ++i) exponents[i] = static_cast<int8_t>(e[i] + f[i]);
      made = sum(made, {{exponents, combined(c, d, true)}}, 1.0);
    }
  return made;
}

// The one number that is the coefficient of a term; 0 where there is none, NaN where they are several.
double number_of(const Polynomial& p, const Exponents& exponents) {
  const auto found = p.find(exponents);
  if (found == p.end()) return 0.0;
  return found->second.is_one_number() ? found->second.values[0] : NAN;
}

}  // namespace

std::optional<Variance> variance_in(const Polynomial& polynomial) {
  constexpr Exponents kSquares{0, 0, 1}, kMeanSquared{0, 2};
  const double factor = number_of(polynomial, kSquares), centre = number_of(polynomial, kMeanSquared),
               epsilon = number_of(polynomial, kConstant);
  const size_t terms = 1U + (centre != 0.0 ? 1U : 0U) + (epsilon != 0.0 ? 1U : 0U);
  if (!(factor > 0.0) || !(epsilon >= 0.0) || !std::isfinite(factor) || !std::isfinite(epsilon) ||
      polynomial.size() != terms || (centre != 0.0 && !near(-centre, factor)))
    return std::nullopt;
  return Variance{factor, epsilon, centre != 0.0};
}

Moments::Moments(const Draft& draft, const Links& links, int32_t x, std::vector<int32_t> axes)
    : draft_(draft), links_(links), x_(x), axes_(std::move(axes)) {}

bool Moments::set_variance(int32_t variance) {
  const std::optional<Polynomial> found = of(variance);
  if (!found) return false;
  variance_ = variance_in(*found);
  under_root_ = *found;
  root_epsilon_ = 0.0;
  known_.clear();
  return variance_.has_value();
}

std::optional<Polynomial> Moments::of(int32_t tensor) {
  if (const auto found = known_.find(tensor); found != known_.end()) return found->second;
  if (depth_ >= kMaxPolynomialDepth) return std::nullopt;
  ++depth_;
  std::optional<Polynomial> made = compute(tensor);
  --depth_;
  if (made && !is_small_enough(*made)) made.reset();
  return known_[tensor] = made;
}

std::optional<Polynomial> Moments::compute(int32_t tensor) {
  const DraftTensor& info = draft_.tensor(tensor);
  if (info.dtype != DType::kF32) return std::nullopt;
  if (tensor == x_) return Polynomial{{{1}, {Shape(info.shape.size(), 1), {1.0}}}};
  if (info.constant) return of_constant(info);
  const bool is_new = static_cast<size_t>(tensor) >= links_.producer.size();  // by this very pass
  const DraftNode* const writer = is_new ? nullptr : links_.writer(draft_, tensor);
  if (writer == nullptr || writer->outputs.size() != 1) return std::nullopt;
  const DraftNode& node = *writer;
  std::optional<Polynomial> made = of_node(node);
  if (!made) return std::nullopt;
  if (!may_be(*made, info.shape)) return std::nullopt;
  const auto clamp = node.options.value<Clamp>();
  // No variance is below 0 but by rounding.
  const bool is_bounded = has_clamp(node);
  if (is_bounded && !(clamp.min <= 0.0f && clamp.max == INFINITY && variance_in(*made))) return std::nullopt;
  return made;
}

// Whether its axes are x's: of size 1 or as x has them where x is reduced, as x has them elsewhere.
bool Moments::is_aligned(const Shape& shape) const {
  const Shape& whole = draft_.tensor(x_).shape;
  if (shape.size() != whole.size()) return false;
  for (size_t d = 0; d < whole.size(); ++d) {
    const bool reduced = std::find(axes_.begin(), axes_.end(), static_cast<int32_t>(d)) != axes_.end();
    if (shape[d] != whole[d] && !(reduced && shape[d] == 1)) return false;
  }
  return true;
}

// Whether it has an element for each group, in their order: with axes of size 1 anywhere.
bool Moments::is_statistic(const Shape& shape) const {
  const Shape& whole = draft_.tensor(x_).shape;
  size_t at = 0;
  for (size_t d = 0; d < whole.size(); ++d) {
    const bool reduced = std::find(axes_.begin(), axes_.end(), static_cast<int32_t>(d)) != axes_.end();
    if (reduced || whole[d] == 1) continue;
    while (at < shape.size() && shape[at] == 1) ++at;
    if (at == shape.size() || shape[at++] != whole[d]) return false;
  }
  return std::all_of(shape.begin() + static_cast<std::ptrdiff_t>(at), shape.end(),
                     [](int32_t dim) { return dim == 1; });
}

bool Moments::may_be(const Polynomial& polynomial, const Shape& shape) const {
  for (const auto& term : polynomial)
    if (term.first[kOfX] != 0) return shape == draft_.tensor(x_).shape;
  return is_aligned(shape) || is_statistic(shape);
}

// Whether the operands' elements meet those that they are taken to meet.
bool Moments::lie_together(const DraftNode& node) const {
  const Shape& result = draft_.tensor(node.output()).shape;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](int32_t input) {
    const DraftTensor& operand = draft_.tensor(input);
    if (operand.constant && elements(operand.shape) == 1) return true;
    return is_aligned(result) ? operand.constant || is_aligned(operand.shape)
                              : !operand.constant && operand.shape == result;
  });
}

std::optional<Polynomial> Moments::of_constant(const DraftTensor& constant) const {
  const Shape& whole = draft_.tensor(x_).shape;
  Coefficient made;
  if (elements(constant.shape) == 1) {
    made.shape.assign(whole.size(), 1);
  } else {
    if (constant.shape.size() != whole.size() || elements(constant.shape) > int64_t{kMaxNumbers})
      return std::nullopt;
    for (size_t d = 0; d < whole.size(); ++d)
      if (constant.shape[d] != 1 && constant.shape[d] != whole[d]) return std::nullopt;
    made.shape = constant.shape;
  }
  for (const float v : values_of<float>(constant)) {
    if (!std::isfinite(v)) return std::nullopt;
    made.values.push_back(double{v});
  }
  if (is_zero(made)) return Polynomial{};
  return Polynomial{{kConstant, made}};
}

std::optional<Polynomial> Moments::of_node(const DraftNode& node) {
  const size_t operands = node.inputs.size();
  switch (node.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv: {
      if (operands != 2 || !lie_together(node)) return std::nullopt;
      const std::optional<Polynomial> a = of(node.inputs[0]);
      std::optional<Polynomial> b = a ? of(node.inputs[1]) : std::nullopt;
      if (node.op == Op::kDiv) b = inverse_of(b);
      if (!a || !b) return std::nullopt;
      if (node.op == Op::kMul || node.op == Op::kDiv) return product(*a, *b);
      return sum(*a, *b, node.op == Op::kAdd ? 1.0 : -1.0);
    }
    case Op::kClamp:
      return of(node.input());
    case Op::kReshape:
      if (!is_statistic(draft_.tensor(node.input()).shape) ||
          !is_statistic(draft_.tensor(node.output()).shape))
        return std::nullopt;
      return of(node.input());
    case Op::kReciprocal:
      return inverse_of(of(node.input()));
    case Op::kMean:
      return mean_of(node);
    case Op::kSqrt:
    case Op::kRsqrt: {
      if (!variance_) return std::nullopt;
      const std::optional<Polynomial> under = of(node.input());
      if (!under || under->size() != under_root_.size() ||
          !std::equal(under->begin(), under->end(), under_root_.begin(), [](const auto& a, const auto& b) {
            return a.first == b.first && a.second.values == b.second.values;
          }))
        return std::nullopt;
      const auto power = static_cast<int8_t>(node.op == Op::kSqrt ? -1 : 1);
      return Polynomial{{{0, 0, 0, power}, {Shape(draft_.tensor(x_).shape.size(), 1), {1.0}}}};
    }
    default:
      return std::nullopt;
  }
}

// 1 / p of a single term of constants and roots, or of a root and a number.
std::optional<Polynomial> Moments::inverse_of(const std::optional<Polynomial>& p) {
  if (!p || p->empty() || p->size() > 2) return std::nullopt;
  Exponents exponents = p->begin()->first;
  Coefficient coefficient = p->begin()->second;
  if (p->size() == 2) {
    constexpr Exponents kRoot{0, 0, 0, -1};
    const double factor = number_of(*p, kRoot), summand = number_of(*p, kConstant);
    if (!(factor > 0.0) || !(summand > 0.0)) return std::nullopt;
    if (root_epsilon_ != 0.0 && !near(root_epsilon_, summand / factor)) return std::nullopt;
    root_epsilon_ = summand / factor;
    exponents = {0, 0, 0, 0, -1};
    coefficient.values = {factor};
  }
  if (exponents[kOfX] != 0 || exponents[kOfMean] != 0 || exponents[kOfSquares] != 0) return std::nullopt;
  for (const Variable root : {kOfRoot, kOfSum}) exponents[root] = static_cast<int8_t>(-exponents[root]);
  for (double& v : coefficient.values) {
    if (v == 0.0) return std::nullopt;
    v = 1.0 / v;
  }
  return Polynomial{{exponents, coefficient}};
}

std::optional<Polynomial> Moments::mean_of(const DraftNode& node) {
  const std::optional<Polynomial> input = of(node.input());
  if (!input || draft_.tensor(node.input()).shape.size() != draft_.tensor(x_).shape.size() ||
      to_vector(node.options.as<ReduceOptions>().axes) != axes_)
    return std::nullopt;
  Polynomial made;
  for (const auto& [exponents, coefficient] : *input) {
    for (const int32_t axis : axes_)
      if (coefficient.shape[static_cast<size_t>(axis)] != 1) return std::nullopt;
    Exponents of_mean = exponents;
    of_mean[kOfX] = 0;
    if (exponents[kOfX] == 1) ++of_mean[kOfMean];
    if (exponents[kOfX] == 2) ++of_mean[kOfSquares];
    made = sum(made, {{of_mean, coefficient}}, 1.0);
  }
  return made;
}

}  // namespace intaglio::importers

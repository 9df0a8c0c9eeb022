// GELU that is made of small operators becomes one node, however its product is nested:
//   0.5 * x * (1 + Erf(x / sqrt(2)))                                 Gelu
//   0.5 * x * (1 + Tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))        GeluTanh
//   0.5 * x * (1 + Tanh(sqrt(2 / pi) * x * (1 + 0.044715 * x^2)))    the same
#include <cmath>

#include "importers/passes/folding.h"
#include "importers/passes/matcher.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

constexpr double kCubic = 0.044715;
const double kSqrtTwoOverPi = std::sqrt(2.0 / std::acos(-1.0));

// Whether the tensor is constant * x^power.
bool is_power(const Matcher& matcher, int32_t tensor, double constant, int32_t x, size_t power) {
  Matcher::Product product = matcher.product(tensor);
  for (size_t i = 0; i < power; ++i)
    if (!product.take(x)) return false;
  return product.factors.empty() && near(product.constant, constant);
}

// Whether the tensor is u of the tanh form.
bool is_inner(const Matcher& matcher, int32_t tensor, int32_t x) {
  Matcher::Product product = matcher.product(tensor);
  if (!near(product.constant, kSqrtTwoOverPi)) return false;
  const bool factored = product.take(x);  // x * (1 + 0.044715 x^2)
  if (product.factors.size() != 1) return false;
  const DraftNode* const add = matcher.only(product.factors[0], Op::kAdd);
  if (add == nullptr || has_clamp(*add)) return false;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t linear = add->inputs[i], rest = add->inputs[1 - i];
    if (!factored && linear == x && is_power(matcher, rest, kCubic, x, 3)) return true;
    if (factored && matcher.is_value(linear, 1.0f) && is_power(matcher, rest, kCubic, x, 2)) return true;
  }
  return false;
}

// Gelu or GeluTanh where the factor is 1 + the function of x that belongs to it; kNone: neither.
Op kind_of(const Matcher& matcher, int32_t factor, int32_t x) {
  const DraftNode* const add = matcher.only(factor, Op::kAdd);
  const int32_t function = add == nullptr || has_clamp(*add) ? -1 : matcher.beside(*add, 1.0f);
  if (function < 0) return Op::kNone;
  const DraftNode* const erf = matcher.only(function, Op::kErf);
  if (erf != nullptr && is_power(matcher, erf->input(), std::sqrt(0.5), x, 1)) return Op::kGelu;
  const DraftNode* const tanh = matcher.only(function, Op::kTanh);
  if (tanh != nullptr && is_inner(matcher, tanh->input(), x)) return Op::kGeluTanh;
  return Op::kNone;
}

}  // namespace

bool fuse_gelu(Draft& draft) {
  bool changed = false;
  const Matcher matcher(draft);
  for (DraftNode& mul : draft.nodes) {
    if (mul.op != Op::kMul || has_clamp(mul) || draft.tensor(mul.output()).dtype != DType::kF32) continue;
    const Matcher::Product product = matcher.product_of(mul);
    if (product.factors.size() != 2 || !near(product.constant, 0.5)) continue;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const int32_t x = product.factors[i];
      const Op op = kind_of(matcher, product.factors[1 - i], x);
      if (op == Op::kNone || draft.tensor(x).shape != draft.tensor(mul.output()).shape) continue;
      mul.become(op);
      mul.inputs = {x};
      changed = true;
      break;
    }
  }
  return changed;
}

}  // namespace intaglio::importers

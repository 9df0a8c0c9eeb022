// Activations that exporters decompose into small operators become one node:
//   x * Sigmoid(x)                                      Swish
//   x * Tanh(Softplus(x))                               Mish
//   clamp(x + 3, 0, 6) / 6                              HardSigmoid
//   x * HardSigmoid(x), or x * clamp(x + 3, 0, 6) / 6   HardSwish
// whichever factor is multiplied first.
#include <cmath>

#include "importers/passes/folding.h"
#include "importers/passes/matcher.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

constexpr float kSixth = 1.0f / 6.0f;

// x of clamp(x + 3, 0, 6); -1: no.
int32_t shifted_clamp(const Matcher& matcher, int32_t tensor) {
  const DraftNode* const add = matcher.only(tensor, Op::kAdd);
  if (add == nullptr || add->options.as<Clamp>().min != 0.0f || add->options.as<Clamp>().max != 6.0f)
    return -1;
  return matcher.beside(*add, 3.0f);
}

// x of x * shifted_clamp(x), in either order; -1: no.
int32_t unscaled_hard_swish(const Matcher& matcher, int32_t tensor) {
  const DraftNode* const mul = matcher.only(tensor, Op::kMul);
  if (mul == nullptr || has_clamp(*mul)) return -1;
  for (const size_t i : {size_t{0}, size_t{1}})
    if (shifted_clamp(matcher, mul->inputs[i]) == mul->inputs[1 - i]) return mul->inputs[1 - i];
  return -1;
}

void become(DraftNode& node, Op op, int32_t x) {
  node.become(op);
  node.inputs = {x};
}

bool fuse_gate(const Draft& draft, const Matcher& matcher, DraftNode& mul) {
  const bool is_float = draft.tensor(mul.output()).dtype == DType::kF32;
  if (mul.op != Op::kMul || has_clamp(mul) || !is_float) return false;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t x = mul.inputs[i], gate = mul.inputs[1 - i];
    const DraftNode* const sigmoid = matcher.only(gate, Op::kSigmoid);
    if (sigmoid != nullptr && sigmoid->input() == x) return become(mul, Op::kSwish, x), true;
    const DraftNode* const tanh = matcher.only(gate, Op::kTanh);
    const DraftNode* const soft = tanh == nullptr ? nullptr : matcher.only(tanh->input(), Op::kSoftplus);
    if (soft != nullptr && soft->input() == x) return become(mul, Op::kMish, x), true;
    const DraftNode* const hard = matcher.only(gate, Op::kHardSigmoid);
    if (hard != nullptr && hard->input() == x &&
        std::fabs(hard->options.as<UnaryOptions>().alpha - kSixth) < 1e-6f &&
        hard->options.as<UnaryOptions>().beta == 0.5f)
      return become(mul, Op::kHardSwish, x), true;
  }
  const int32_t scaled = matcher.beside(mul, kSixth);
  if (scaled < 0) return false;
  if (const int32_t x = unscaled_hard_swish(matcher, scaled); x >= 0)
    return become(mul, Op::kHardSwish, x), true;
  if (const int32_t x = shifted_clamp(matcher, scaled); x >= 0) {
    become(mul, Op::kHardSigmoid, x);
    mul.options.as<UnaryOptions>() = {kSixth, 0.5f};
    return true;
  }
  return false;
}

}  // namespace

bool fuse_swish(Draft& draft) {
  bool changed = false;
  const Matcher matcher(draft);
  for (DraftNode& node : draft.nodes) changed |= fuse_gate(draft, matcher, node);
  return changed;
}

}  // namespace intaglio::importers

// Activations that exporters spell out in small operators become one node:
//   x * Sigmoid(x) is Swish, clamp(x + 3, 0, 6) / 6 is HardSigmoid, x * HardSigmoid(x) is HardSwish, and so
//   is x * clamp(x + 3, 0, 6) / 6, whichever factor is multiplied first.
#include <cmath>

#include "importers/passes/folding.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

constexpr float kSixth = 1.0f / 6.0f;

class Matcher {
 public:
  explicit Matcher(const Draft& draft) : draft_(draft), links_(draft) {}

  // Who writes a tensor that only one node reads; nullptr for others.
  const DraftNode* only(int32_t tensor, Op op) const {
    const int32_t index = links_.producer_of(tensor);
    if (index < 0 || !links_.single_use(tensor)) return nullptr;
    const DraftNode& node = draft_.nodes[static_cast<size_t>(index)];
    return node.op == op ? &node : nullptr;
  }
  bool is_value(int32_t tensor, float value) const {
    const DraftTensor& constant = draft_.tensor(tensor);
    if (!constant.constant || constant.dtype != DType::kF32 || elements(constant.shape) != 1) return false;
    return std::fabs(values_of<float>(constant)[0] - value) <= 1e-6f * value;
  }
  // The other operand of a node of two, one of which is this value; -1: no.
  int32_t beside(const DraftNode& node, float value) const {
    if (is_value(node.inputs[1], value)) return node.inputs[0];
    return is_value(node.inputs[0], value) ? node.inputs[1] : -1;
  }
  // x of clamp(x + 3, 0, 6); -1: no.
  int32_t shifted_clamp(int32_t tensor) const {
    const DraftNode* const add = only(tensor, Op::kAdd);
    if (add == nullptr || add->clamp_min != 0.0f || add->clamp_max != 6.0f) return -1;
    return beside(*add, 3.0f);
  }
  // x * shifted_clamp(x), in either order; -1: no.
  int32_t unscaled_hard_swish(int32_t tensor) const {
    const DraftNode* const mul = only(tensor, Op::kMul);
    if (mul == nullptr || has_clamp(*mul)) return -1;
    for (const size_t i : {size_t{0}, size_t{1}})
      if (shifted_clamp(mul->inputs[i]) == mul->inputs[1 - i]) return mul->inputs[1 - i];
    return -1;
  }

 private:
  const Draft& draft_;
  const Links links_;
};

void become(DraftNode& node, Op op, int32_t x) {
  node.op = op;
  node.inputs = {x};
}

bool fuse(const Draft& draft, const Matcher& matcher, DraftNode& mul) {
  const bool is_float = draft.tensor(mul.output()).dtype == DType::kF32;
  if (mul.op != Op::kMul || has_clamp(mul) || !is_float) return false;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t x = mul.inputs[i], gate = mul.inputs[1 - i];
    const DraftNode* const sigmoid = matcher.only(gate, Op::kSigmoid);
    if (sigmoid != nullptr && sigmoid->input() == x) return become(mul, Op::kSwish, x), true;
    const DraftNode* const hard = matcher.only(gate, Op::kHardSigmoid);
    if (hard != nullptr && hard->input() == x && std::fabs(hard->alpha - kSixth) < 1e-6f &&
        hard->beta == 0.5f)
      return become(mul, Op::kHardSwish, x), true;
  }
  const int32_t scaled = matcher.beside(mul, kSixth);
  if (scaled < 0) return false;
  if (const int32_t x = matcher.unscaled_hard_swish(scaled); x >= 0)
    return become(mul, Op::kHardSwish, x), true;
  if (const int32_t x = matcher.shifted_clamp(scaled); x >= 0) {
    become(mul, Op::kHardSigmoid, x);
    mul.alpha = kSixth;
    mul.beta = 0.5f;
    return true;
  }
  return false;
}

}  // namespace

bool fuse_swish(Draft& draft) {
  bool changed = false;
  const Matcher matcher(draft);
  for (DraftNode& node : draft.nodes) changed |= fuse(draft, matcher, node);
  return changed;
}

}  // namespace intaglio::importers

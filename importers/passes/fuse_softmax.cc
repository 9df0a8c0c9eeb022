// A Softmax that is made of small operators becomes one node:
//   Exp(z) / sum(Exp(z)), or Exp(z) * Reciprocal(sum)      over the last axis; z is x, or x less a number for each row
#include "importers/passes/folding.h"
#include "importers/passes/matcher.h"
#include "importers/passes/moments.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {

namespace {

// The tensor of exponentials that a node divides by their sum; -1: it does something else.
int32_t divided_exponentials(const Draft& draft, const Links& links, const Matcher& matcher,
                             const DraftNode& node) {
  if ((node.op != Op::kDiv && node.op != Op::kMul) || has_clamp(node) || node.inputs.size() != 2) return -1;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t exponentials = node.inputs[i];
    int32_t sum = node.inputs[1 - i];
    if (node.op == Op::kDiv && i == 1) break;
    if (node.op == Op::kMul) {
      const DraftNode* const inverse = matcher.only(sum, Op::kReciprocal);
      if (inverse == nullptr) continue;
      sum = inverse->input();
    }
    const DraftNode* const exp = matcher.writer(exponentials, Op::kExp);
    const Shape& shape = draft.tensor(exponentials).shape;
    if (exp == nullptr || shape.empty() || shape != draft.tensor(node.output()).shape) continue;
    const int32_t last = static_cast<int32_t>(shape.size()) - 1;
    const std::optional<Polynomial> found = Moments(draft, links, exponentials, {last}).of(sum);
    constexpr Exponents kMean{0, 1, 0, 0};
    const bool is_sum = found && found->size() == 1 && found->begin()->first == kMean &&
                        found->begin()->second.is_one_number() &&
                        near(found->begin()->second.values[0], shape.back());
    if (is_sum) return exponentials;
  }
  return -1;
}

}  // namespace

bool fuse_softmax(Draft& draft) {
  bool changed = false;
  const Matcher matcher(draft);
  const Links links(draft);
  for (DraftNode& node : draft.nodes) {
    if (draft.tensor(node.output()).dtype != DType::kF32) continue;
    const int32_t exponentials = divided_exponentials(draft, links, matcher, node);
    if (exponentials < 0) continue;
    int32_t x = matcher.writer(exponentials, Op::kExp)->input();
    const DraftNode* const less = matcher.writer(x, Op::kSub);
    Shape row = draft.tensor(x).shape;
    row.back() = 1;
    const bool is_moved = less != nullptr && !has_clamp(*less) &&
                          draft.tensor(less->inputs[1]).shape == row &&
                          draft.tensor(less->inputs[0]).shape == draft.tensor(x).shape;
    if (is_moved) x = less->inputs[0];
    node.become(Op::kSoftmax);
    node.inputs = {x};
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers

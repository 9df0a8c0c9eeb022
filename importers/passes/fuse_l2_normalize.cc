// x divided by the root of the sum of its squares over the last axis becomes one node:
//   x / Sqrt(sum(x * x)), x * Rsqrt(sum(x * x)), x * Reciprocal(Sqrt(...)); the sum, or its root, may be
//   bounded from below.
#include <cmath>

#include "importers/passes/folding.h"
#include "importers/passes/matcher.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

// A tensor, bounded from below by a Clamp or by the clamp of its own node.
struct Bounded {
  int32_t tensor = -1;
  float least = 0.0f;
};

Bounded unbounded(const Matcher& matcher, int32_t tensor) {
  const DraftNode* const clamp = matcher.only(tensor, Op::kClamp);
  if (clamp == nullptr || clamp->options.as<Clamp>().max != INFINITY) return {tensor, 0.0f};
  return {clamp->input(), clamp->options.as<Clamp>().min};
}

class L2Fusion {
 public:
  L2Fusion(const Draft& draft, const Matcher& matcher) : draft_(draft), matcher_(matcher) {}

  // The least norm of a node that divides x by its rows' norms; below 0: it does not.
  float min_norm(const DraftNode& node, int32_t* x) const {
    if (node.op == Op::kDiv && !has_clamp(node)) {
      *x = node.inputs[0];
      return of_norm(node.inputs[1], *x);
    }
    if (node.op != Op::kMul || has_clamp(node)) return -1.0f;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      *x = node.inputs[i];
      float least = -1.0f;
      if (const DraftNode* const rsqrt = matcher_.only(node.inputs[1 - i], Op::kRsqrt); rsqrt != nullptr)
        least = of_sum(rsqrt->input(), *x);
      else if (const DraftNode* const one = matcher_.only(node.inputs[1 - i], Op::kReciprocal);
               one != nullptr)
        least = of_norm(one->input(), *x);
      if (least >= 0.0f) return least;
    }
    return -1.0f;
  }

 private:
  float of_norm(int32_t tensor, int32_t x) const {
    const Bounded norm = unbounded(matcher_, tensor);
    const DraftNode* const root = matcher_.only(norm.tensor, Op::kSqrt);
    const float least = root == nullptr ? -1.0f : of_sum(root->input(), x);
    return least < 0.0f ? least : std::max(least, norm.least);
  }

  // The root of the least sum of squares.
  float of_sum(int32_t tensor, int32_t x) const {
    Bounded sum = unbounded(matcher_, tensor);
    const Shape& shape = draft_.tensor(x).shape;
    const DraftNode* const mul = matcher_.only(sum.tensor, Op::kMul);
    const DraftNode* mean = matcher_.only(sum.tensor, Op::kMean);
    if (mul != nullptr && mul->options.as<Clamp>().max == INFINITY) {
      const Matcher::Product product = matcher_.product_of(*mul);
      if (product.factors.size() != 1 || !near(product.constant, shape.back())) return -1.0f;
      mean = matcher_.only(product.factors[0], Op::kMean);
      sum.least = std::max(sum.least, std::max(mul->options.as<Clamp>().min, 0.0f));
    } else if (shape.back() != 1) {
      return -1.0f;
    }
    if (mean == nullptr || has_clamp(*mean)) return -1.0f;
    Shape rows = shape;
    rows.back() = 1;
    const DraftNode* const square = matcher_.only(mean->input(), Op::kMul);
    const bool squares =
        square != nullptr && !has_clamp(*square) && square->inputs[0] == x && square->inputs[1] == x;
    if (!squares ||
        to_vector(mean->options.as<ReduceOptions>().axes) !=
            std::vector<int32_t>{static_cast<int32_t>(shape.size()) - 1} ||
        draft_.tensor(mean->output()).shape != rows)
      return -1.0f;
    return std::sqrt(std::max(sum.least, 0.0f));
  }

  const Draft& draft_;
  const Matcher& matcher_;
};

}  // namespace

bool fuse_l2_normalize(Draft& draft) {
  bool changed = false;
  const Matcher matcher(draft);
  const L2Fusion fusion(draft, matcher);
  for (DraftNode& node : draft.nodes) {
    int32_t x = -1;
    if (draft.tensor(node.output()).dtype != DType::kF32) continue;
    const float least = fusion.min_norm(node, &x);
    if (least < 0.0f || draft.tensor(x).shape != draft.tensor(node.output()).shape) continue;
    node.become(Op::kL2Normalize);
    node.inputs = {x};
    node.options.as<L2NormalizeOptions>().min_norm = least;
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers

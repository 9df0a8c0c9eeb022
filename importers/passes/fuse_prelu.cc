// PRelu and LeakyRelu that are made of small operators become one node. The part above zero is Relu(x). The part below,
// times the slopes, is added to it or subtracted from it:
//   -Relu(-x)         Keras
//   (x - |x|) / 2     TensorFlow 1
#include <cmath>
#include <limits>

#include "importers/passes/folding.h"
#include "importers/passes/matcher.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

bool is_relu(const DraftNode& node) {
  const Clamp& clamp = node.options.as<Clamp>();
  return clamp.min == 0.0f && clamp.max == std::numeric_limits<float>::infinity();
}

// How often min(x, 0) stands in a tensor; 0: it is something else.
double times_below_zero(const Matcher& matcher, int32_t tensor, int32_t x) {
  const DraftNode* const negated = matcher.only(tensor, Op::kMul);
  if (negated != nullptr && is_relu(*negated) && matcher.beside(*negated, -1.0f) == x) return -1.0;
  const DraftNode* const less = matcher.only(tensor, Op::kSub);
  if (less == nullptr || has_clamp(*less) || less->inputs[0] != x) return 0.0;
  const DraftNode* const size = matcher.only(less->inputs[1], Op::kAbs);
  return size != nullptr && size->input() == x ? 2.0 : 0.0;
}

// The slopes that `product` multiplies min(x, 0) with, one or one for each index of the last axis; empty: it does not.
std::vector<float> slopes_of(const Draft& draft, const Matcher& matcher, const Matcher::Product& product,
                             int32_t x) {
  std::vector<float> slopes{1.0f};
  double times = 0.0;
  for (const int32_t factor : product.factors) {
    const DraftTensor& tensor = draft.tensor(factor);
    if (tensor.constant) {
      if (slopes.size() != 1 || tensor.dtype != DType::kF32 || tensor.shape.empty() ||
          elements(tensor.shape) != tensor.shape.back() ||
          tensor.shape.back() != draft.tensor(x).shape.back())
        return {};
      slopes = values_of<float>(tensor);
    } else {
      if (times != 0.0) return {};
      times = times_below_zero(matcher, factor, x);
      if (times == 0.0) return {};
    }
  }
  if (times == 0.0) return {};
  for (float& slope : slopes) slope = static_cast<float>(double{slope} * product.constant * times);
  return slopes;
}

bool fuse_slopes(Draft& draft, const Matcher& matcher, DraftNode& node) {
  if (node.op != Op::kAdd && node.op != Op::kSub) return false;
  const DraftTensor& output = draft.tensor(node.output());
  if (output.dtype != DType::kF32 || output.shape.empty() || has_clamp(node)) return false;
  for (const size_t above : {size_t{0}, size_t{1}}) {
    if (node.op == Op::kSub && above == 1) break;
    const DraftNode* const relu = matcher.only(node.inputs[above], Op::kClamp);
    if (relu == nullptr || !is_relu(*relu) || draft.tensor(relu->input()).shape != output.shape) continue;
    const int32_t x = relu->input();
    std::vector<float> slopes = slopes_of(draft, matcher, matcher.product(node.inputs[1 - above]), x);
    if (slopes.empty()) continue;
    if (node.op == Op::kSub)
      for (float& slope : slopes) slope = -slope;
    if (slopes.size() == 1) {
      node.become(Op::kLeakyRelu);
      node.inputs = {x};
      node.options.as<UnaryOptions>().alpha = slopes[0];
    } else {
      const auto count = static_cast<int32_t>(slopes.size());
      node.become(Op::kPRelu);
      node.inputs = {x, add_constant(draft, output.name + "/slopes", DType::kF32, {count}, slopes)};
    }
    return true;
  }
  return false;
}

}  // namespace

bool fuse_prelu(Draft& draft) {
  bool changed = false;
  const Matcher matcher(draft);
  for (DraftNode& node : draft.nodes) changed |= fuse_slopes(draft, matcher, node);
  return changed;
}

}  // namespace intaglio::importers

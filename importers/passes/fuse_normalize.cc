// A normalization of the last axis that is made of small operators becomes one node, and takes in what a channel is multiplied by
// and what is added to it behind it:
//   d / Sqrt(mean(d * d) + epsilon), d * Rsqrt(...), d * Reciprocal(Sqrt(...))      where d is x - mean(x), or x
#include <cmath>

#include "importers/passes/folding.h"
#include "importers/passes/matcher.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {

namespace {

class NormFusion {
 public:
  NormFusion(const Draft& draft, const Matcher& matcher) : draft_(draft), matcher_(matcher) {}

  // Whether a node divides d by its rows' deviations.
  bool find(const DraftNode& node, int32_t* x, NormalizeOptions* options) const {
    const Op op = node.op;
    if ((op != Op::kDiv && op != Op::kMul) || has_clamp(node) || node.inputs.size() != 2) return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const int32_t d = node.inputs[i], divisor = node.inputs[1 - i];
      if (op == Op::kDiv && i == 1) return false;
      const int32_t variance = op == Op::kDiv ? under_root(divisor) : under_inverse_root(divisor);
      if (variance < 0 || !is_variance(variance, d, &options->epsilon)) continue;
      const DraftNode* const sub = matcher_.writer(d, Op::kSub);
      const bool centred = sub != nullptr && !has_clamp(*sub) && is_mean(sub->inputs[1], sub->inputs[0]);
      *x = centred ? sub->inputs[0] : d;
      options->keeps_mean = !centred;
      return draft_.tensor(*x).shape == draft_.tensor(node.output()).shape;
    }
    return false;
  }

 private:
  int32_t under_root(int32_t tensor) const {
    const DraftNode* const root = matcher_.only(tensor, Op::kSqrt);
    return root == nullptr ? -1 : root->input();
  }
  int32_t under_inverse_root(int32_t tensor) const {
    if (const DraftNode* const one = matcher_.only(tensor, Op::kReciprocal); one != nullptr)
      return under_root(one->input());
    const DraftNode* const inverse = matcher_.only(tensor, Op::kRsqrt);
    return inverse == nullptr ? -1 : inverse->input();
  }

  // Whether the tensor is mean(d * d) + epsilon.
  bool is_variance(int32_t tensor, int32_t d, float* epsilon) const {
    const DraftNode* const add = matcher_.only(tensor, Op::kAdd);
    if (add == nullptr || has_clamp(*add)) return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const DraftTensor& number = draft_.tensor(add->inputs[i]);
      if (!number.constant || number.dtype != DType::kF32 || elements(number.shape) != 1) continue;
      *epsilon = values_of<float>(number)[0];
      const DraftNode* const mean = matcher_.only(add->inputs[1 - i], Op::kMean);
      const DraftNode* const square = mean == nullptr ? nullptr : matcher_.only(mean->input(), Op::kMul);
      return square != nullptr && !has_clamp(*square) && square->inputs[0] == d && square->inputs[1] == d &&
             is_mean(mean->output(), mean->input()) && *epsilon >= 0.0f;
    }
    return false;
  }

  // Whether the tensor is the mean of each row of `of`, as an axis of 1.
  bool is_mean(int32_t tensor, int32_t of) const {
    const DraftNode* const mean = matcher_.writer(tensor, Op::kMean);
    if (mean == nullptr || mean->input() != of || has_clamp(*mean)) return false;
    Shape rows = draft_.tensor(of).shape;
    rows.back() = 1;
    return to_vector(mean->options.as<ReduceOptions>().axes) ==
               std::vector<int32_t>{static_cast<int32_t>(rows.size()) - 1} &&
           draft_.tensor(mean->output()).shape == rows;
  }

  const Draft& draft_;
  const Matcher& matcher_;
};

// One value a channel, or one for all, as one a channel; empty: neither.
std::vector<float> channel_values(const Draft& draft, int32_t tensor, int32_t channels) {
  if (!is_per_channel(draft.tensor(tensor), channels)) return {};
  std::vector<float> values = values_of<float>(draft.tensor(tensor));
  if (values.size() == 1) values.resize(static_cast<size_t>(channels), values[0]);
  return values;
}

// A factor or a summand behind a normalization goes into it.
bool take_in(Draft& draft, Links& links, DraftNode& node) {
  if (node.outputs.empty() || (node.op != Op::kMul && node.op != Op::kAdd) || has_clamp(node) ||
      node.inputs.size() != 2)
    return false;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t x = node.inputs[i];
    const int32_t index = links.producer_of(x);
    if (index < 0 || !links.single_use(x)) continue;
    DraftNode& norm = draft.nodes[static_cast<size_t>(index)];
    if (norm.op != Op::kNormalize || norm.outputs.empty() || draft.tensor(x).dtype != DType::kF32 ||
        draft.tensor(node.output()).shape != draft.tensor(x).shape)
      continue;
    const int32_t channels = draft.tensor(x).shape.back();
    const std::vector<float> values = channel_values(draft, node.inputs[1 - i], channels);
    if (values.empty()) continue;
    for (const size_t parameter : {size_t{1}, size_t{2}}) {
      if (node.op == Op::kAdd && parameter == 1) continue;
      std::vector<float> own = values_of<float>(draft.tensor(norm.inputs[parameter]));
      for (size_t c = 0; c < own.size(); ++c)
        own[c] = node.op == Op::kMul ? own[c] * values[c] : own[c] + values[c];
      norm.inputs[parameter] =
          add_constant(draft, draft.tensor(node.inputs[1 - i]).name, DType::kF32, {channels}, own);
    }
    take_over_output(draft, norm, node.output());
    links.producer[static_cast<size_t>(node.output())] = index;
    node.outputs.clear();  // dead
    return true;
  }
  return false;
}

}  // namespace

bool fuse_normalize(Draft& draft) {
  bool changed = false;
  const Matcher matcher(draft);
  const NormFusion fusion(draft, matcher);
  for (DraftNode& node : draft.nodes) {
    int32_t x = -1;
    NormalizeOptions options;
    if (draft.tensor(node.output()).dtype != DType::kF32 || !fusion.find(node, &x, &options)) continue;
    const int32_t channels = draft.tensor(x).shape.back();
    const std::string name = draft.tensor(node.output()).name;
    node.become(Op::kNormalize);
    node.inputs = {x, add_channel_constant(draft, name + "/scale", channels, 1.0f),
                   add_channel_constant(draft, name + "/shift", channels, 0.0f)};
    node.options.as<NormalizeOptions>() = options;
    changed = true;
  }
  Links links(draft);
  for (DraftNode& node : draft.nodes) changed = take_in(draft, links, node) || changed;
  return changed;
}

// x divided by the root of the sum of its squares over the last axis becomes one node:
//   x / Sqrt(sum(x * x)), x * Rsqrt(sum(x * x)), x * Reciprocal(Sqrt(...)); the sum, or its root, may be
//   bounded from below.

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

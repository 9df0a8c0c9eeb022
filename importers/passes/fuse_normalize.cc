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

  // Of a node that divides d by its rows' deviations; false: it does not.
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

}  // namespace intaglio::importers

// A choice between scores and a number far below them, in front of a Softmax, becomes a sum: sums have an int8 form, choices have
// none.
//   Where(c, -1e9, x)   becomes   x + Where(c, -2^100, 0)
// Softmax gives the same to the bit for scores above -1e8 + 104 and below 2^75: e^(v - max) is 0 of either number. Where a row holds
// nothing else, all its numbers are equal in both.
#include <algorithm>
#include <map>
#include <utility>

#include "importers/draft/draft.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

constexpr float kFarBelow = -1e8f;

// One number, perhaps repeated.
bool is_far_below(const DraftTensor& tensor) {
  if (!tensor.constant || tensor.dtype != DType::kF32) return false;
  const auto values = values_of<float>(tensor);
  return std::all_of(values.begin(), values.end(), [&](float v) { return v <= kFarBelow && v == values[0]; });
}

// Which input of a Where has the scores; 0: it is no mask.
size_t scores_of(const Draft& draft, const DraftNode& node) {
  if (node.op != Op::kWhere || draft.tensor(node.output()).dtype != DType::kF32) return 0;
  for (const size_t scores : {size_t{1}, size_t{2}}) {
    const DraftTensor& x = draft.tensor(node.inputs[scores]);
    if (!x.constant && x.shape == draft.tensor(node.output()).shape &&
        is_far_below(draft.tensor(node.inputs[3 - scores])))
      return scores;
  }
  return 0;
}

// Whether nothing but Softmaxes reads the tensor.
bool feeds_softmax(const Draft& draft, const Links& links, int32_t tensor) {
  const auto& readers = links.consumers_of(tensor);
  return !readers.empty() && !links.is_output[static_cast<size_t>(tensor)] &&
         std::all_of(readers.begin(), readers.end(),
                     [&](int32_t reader) { return draft.node(reader).op == Op::kSoftmax; });
}

// The mask that a Where's condition and the place of its scores make.
int32_t add_mask(Draft& draft, const DraftNode& where, size_t scores) {
  const DraftTensor& condition = draft.tensor(where.inputs[0]);
  const std::string name = draft.tensor(where.output()).name + "/mask";
  const float where_one = scores == 1 ? 0.0f : -kMasked, where_zero = scores == 1 ? -kMasked : 0.0f;
  if (condition.constant) {
    std::vector<float> values = values_of<float>(condition);
    for (float& value : values) value = value != 0.0f ? where_one : where_zero;
    return add_constant(draft, name, DType::kF32, condition.shape, values);
  }
  const Shape one(std::max<size_t>(condition.shape.size(), 1), 1);
  const auto number = [&](const char* end, float value) {
    return add_constant(draft, name + end, DType::kF32, one, std::vector<float>{value});
  };
  const int32_t mask = add_activation(draft, name, DType::kF32, condition.shape);
  add_node({draft, where.name, where.source}, Op::kWhere,
           {where.inputs[0], number("/one", where_one), number("/zero", where_zero)}, mask);
  return mask;
}

}  // namespace

bool add_masks(Draft& draft) {
  const Links links(draft);
  std::vector<size_t> scores;  // of each node
  for (const DraftNode& node : draft.nodes) {
    const size_t found = scores_of(draft, node);
    scores.push_back(found != 0 && feeds_softmax(draft, links, node.output()) ? found : 0);
  }
  if (std::all_of(scores.begin(), scores.end(), [](size_t input) { return input == 0; })) return false;
  std::deque<DraftNode> old;
  old.swap(draft.nodes);
  std::map<std::pair<int32_t, size_t>, int32_t> made;  // layers share their mask
  for (size_t i = 0; i < old.size(); ++i) {
    if (scores[i] == 0) {
      draft.nodes.push_back(std::move(old[i]));
      continue;
    }
    const DraftNode& where = old[i];
    const auto [found, is_new] = made.try_emplace({where.inputs[0], scores[i]}, -1);
    if (is_new) found->second = add_mask(draft, where, scores[i]);
    add_node({draft, where.name, where.source}, Op::kAdd, {where.inputs[scores[i]], found->second},
             where.output());
  }
  return true;
}

}  // namespace intaglio::importers

// A tensor that each of its readers quantizes for itself is quantized once: in the one way that all have, or in the
// finest of those whose codes reach as far as all others do, from which a Lookup makes the others, or a Quantize of 16 bits.
#include <algorithm>

#include "importers/draft/quantized_tables.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

// To half a step of the one that is reached.
bool reaches(const DraftTensor& codes, const DraftTensor& other) {
  const float half = other.scales[0] / 2;
  return real_of(least_code(codes), codes) <= real_of(least_code(other), other) + half &&
         real_of(greatest_code(codes), codes) >= real_of(greatest_code(other), other) - half;
}

// The widest of the Quantize nodes that read one tensor; -1: none reaches as far as all.
int32_t finest(const Draft& draft, const std::vector<int32_t>& quantizers) {
  const auto codes = [&](int32_t node) -> const DraftTensor& {
    return draft.tensor(draft.node(node).output());
  };
  int32_t best = -1;
  for (const int32_t one : quantizers) {
    const bool reaches_all = std::all_of(quantizers.begin(), quantizers.end(),
                                         [&](int32_t other) { return reaches(codes(one), codes(other)); });
    if (reaches_all && (best < 0 || codes(one).scales[0] < codes(best).scales[0])) best = one;
  }
  return best;
}

// to_front[n] >= 0: this node comes in front of node n, from a place behind it, or is node n itself.
void reorder(Draft& draft, const std::vector<int32_t>& to_front) {
  std::deque<DraftNode> old = std::move(draft.nodes);
  std::vector<bool> moved(old.size(), false);
  draft.nodes.clear();
  for (size_t n = 0; n < old.size(); ++n) {
    if (to_front[n] >= 0) {
      draft.nodes.push_back(std::move(old[static_cast<size_t>(to_front[n])]));
      moved[static_cast<size_t>(to_front[n])] = true;
    }
    if (!moved[n]) draft.nodes.push_back(std::move(old[n]));
  }
}

bool requantize_others(Draft& draft) {
  const Links links(draft);
  bool changed = false;
  std::vector<int32_t> to_front(draft.nodes.size(), -1);
  for (int32_t x = 0; x < static_cast<int32_t>(links.consumers.size()); ++x) {
    const std::vector<int32_t>& readers = links.consumers_of(x);
    const bool all_quantize = std::all_of(readers.begin(), readers.end(), [&](int32_t reader) {
      return draft.node(reader).op == Op::kQuantize;
    });
    if (readers.size() < 2 || !all_quantize || links.producer_of(x) < 0 || is_model_output(draft, x))
      continue;
    const int32_t kept = finest(draft, readers);
    if (kept < 0) continue;
    to_front[static_cast<size_t>(*std::min_element(readers.begin(), readers.end()))] = kept;
    const int32_t codes = draft.node(kept).output();
    for (const int32_t reader : readers) {
      if (reader == kept) continue;
      DraftNode& node = draft.node(reader);
      const DraftTensor &from = draft.tensor(codes), &to = draft.tensor(node.output());
      node.inputs = {codes};
      if (from.dtype == DType::kS16 || to.dtype == DType::kS16) continue;  // it converts codes, too
      const auto table = requantize_table(from, to, -128, 127);
      node.become(Op::kLookup);
      node.inputs.push_back(add_constant(draft, node.name + "/table", DType::kS8, {256}, table));
    }
    draft.notes.push_back(text("tensor ", quoted(draft.tensor(x).name), " is quantized in ", readers.size(),
                               " ways: once here, and its codes are converted for the others"));
    changed = true;
  }
  if (changed) reorder(draft, to_front);
  return changed;
}

}  // namespace

bool merge_quantizers(Draft& draft) {
  const Links links(draft);
  bool changed = false;
  for (const DraftNode& node : draft.nodes) {
    if (node.op != Op::kQuantize) continue;
    for (const int32_t index : links.consumers_of(node.input())) {
      const DraftNode& other = draft.node(index);
      if (&other == &node) break;  // the first of them stays
      if (other.op != Op::kQuantize ||
          !draft.tensor(other.output()).same_quantization(draft.tensor(node.output())))
        continue;
      changed |= replace_tensor(draft, node.output(), other.output());
      break;
    }
  }
  return changed || requantize_others(draft);
}

}  // namespace intaglio::importers

// Transpose, flattening, FullyConnected: the weights' columns take the order of the data that was transposed.
#include <algorithm>

#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

// The Transpose that a flattening [n, ...] to [n, k] reads; -1 where there is none.
int32_t transpose_before(const Draft& draft, const Links& links, const DraftNode& reshape) {
  const int32_t index = links.producer_of(reshape.input());
  if (index < 0) return -1;
  const DraftNode& node = draft.nodes[static_cast<size_t>(index)];
  const Shape& from = draft.tensor(reshape.input()).shape;
  const Shape& to = draft.tensor(reshape.output()).shape;
  const bool flattens = to.size() == 2 && to[0] == from[0];
  return node.op == Op::kTranspose && node.options.as<TransposeOptions>().permutation[0] == 0 && flattens
             ? index
             : -1;
}

bool only_fully_connected(const Draft& draft, const Links& links, int32_t tensor) {
  if (links.is_output[static_cast<size_t>(tensor)]) return false;
  const auto& consumers = links.consumers_of(tensor);
  return std::all_of(consumers.begin(), consumers.end(), [&](int32_t index) {
    const DraftNode& node = draft.nodes[static_cast<size_t>(index)];
    return node.op == Op::kFullyConnected && node.input(0) == tensor && node.input(1) != tensor;
  });
}

void permute_columns(Draft& draft, DraftNode& node, const DraftNode& transpose) {
  DraftTensor weights = draft.tensor(node.inputs[1]);
  Shape shape = draft.tensor(transpose.output()).shape;  // of one row's columns, with the rows in front
  shape[0] = weights.shape[0];
  weights.data = permuted_data(weights.data, element_bytes(weights.dtype), shape,
                               inverse(to_vector(transpose.options.as<TransposeOptions>().permutation)));
  draft.tensors.push_back(std::move(weights));  // the old ones may be shared
  node.inputs[1] = static_cast<int32_t>(draft.tensors.size()) - 1;
}

}  // namespace

bool permute_fully_connected(Draft& draft) {
  const Links links(draft);
  bool changed = false;
  for (DraftNode& reshape : draft.nodes) {
    if (reshape.op != Op::kReshape) continue;
    const int32_t index = transpose_before(draft, links, reshape);
    if (index < 0 || !only_fully_connected(draft, links, reshape.output())) continue;
    const DraftNode& transpose = draft.nodes[static_cast<size_t>(index)];
    for (const int32_t consumer : links.consumers_of(reshape.output()))
      permute_columns(draft, draft.nodes[static_cast<size_t>(consumer)], transpose);
    reshape.inputs[0] = transpose.input();
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers

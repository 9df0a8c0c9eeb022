// SpaceToBatch and BatchToSpace that no convolution took: Pad, or a slice, around Reshape and Transpose.
#include <algorithm>

#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

void add_space_to_batch(Draft& draft, const DraftNode& node) {
  const auto& blocks_of = node.options.as<StridedSliceOptions>();
  const int32_t block_h = blocks_of.strides[0], block_w = blocks_of.strides[1];
  Shape shape = draft.tensor(node.input()).shape;
  int32_t x = node.input();
  for (const size_t i : {size_t{0}, size_t{1}}) shape[i + 1] += blocks_of.begin[i] + node.pads_after[i];
  if (shape != draft.tensor(x).shape) {
    const int32_t padded = add_activation_like(draft, node.name + "/padded", x, shape);
    DraftNode& pad = add_node(draft, Op::kPad, node.name + "/pad", node.source, {x}, padded);
    pad.options.as<PadOptions>().before = draft.list({0, blocks_of.begin[0], blocks_of.begin[1], 0});
    pad.pads_after = {0, node.pads_after[0], node.pads_after[1], 0};
    x = padded;
  }
  const Shape apart{shape[0], shape[1] / block_h, block_h, shape[2] / block_w, block_w, shape[3]};
  const int32_t blocks = add_reshape(draft, node.name + "/blocks", node.source, x, apart);
  const int32_t moved = add_transpose(draft, node.name + "/moved", node.source, blocks, {2, 4, 0, 1, 3, 5});
  add_node(draft, Op::kReshape, node.name, node.source, {moved}, node.output());
}

void add_batch_to_space(Draft& draft, const DraftNode& node) {
  const auto& blocks_of = node.options.as<StridedSliceOptions>();
  const int32_t block_h = blocks_of.strides[0], block_w = blocks_of.strides[1];
  const Shape from = draft.tensor(node.input()).shape;
  const int32_t batch = from[0] / (block_h * block_w);
  const int32_t blocks = add_reshape(draft, node.name + "/blocks", node.source, node.input(),
                                     {block_h, block_w, batch, from[1], from[2], from[3]});
  const int32_t moved = add_transpose(draft, node.name + "/moved", node.source, blocks, {2, 3, 0, 4, 1, 5});
  const Shape whole{batch, from[1] * block_h, from[2] * block_w, from[3]};
  if (draft.tensor(node.output()).shape == whole) {
    add_node(draft, Op::kReshape, node.name, node.source, {moved}, node.output());
    return;
  }
  const int32_t picture = add_reshape(draft, node.name + "/whole", node.source, moved, whole);
  DraftNode& slice = add_node(draft, Op::kStridedSlice, node.name, node.source, {picture}, node.output());
  slice.options.as<StridedSliceOptions>().begin = draft.list({0, blocks_of.begin[0], blocks_of.begin[1], 0});
  slice.options.as<StridedSliceOptions>().strides = draft.list({1, 1, 1, 1});
}

}  // namespace

bool decompose_space_to_batch(Draft& draft) {
  const auto is_one = [](const DraftNode& node) {
    return node.op == kSpaceToBatch || node.op == kBatchToSpace;
  };
  if (std::none_of(draft.nodes.begin(), draft.nodes.end(), is_one)) return false;
  std::deque<DraftNode> old = std::move(draft.nodes);
  draft.nodes.clear();
  for (DraftNode& node : old) {
    if (node.op == kSpaceToBatch)
      add_space_to_batch(draft, node);
    else if (node.op == kBatchToSpace)
      add_batch_to_space(draft, node);
    else
      draft.nodes.push_back(std::move(node));
  }
  return true;
}

}  // namespace intaglio::importers

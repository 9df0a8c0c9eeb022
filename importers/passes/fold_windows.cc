// Layers with windows: padding and dilation that stand beside them become theirs.
#include <algorithm>
#include <limits>

#include "importers/passes/passes.h"

namespace intaglio::importers {

// Pad with zeros goes into the window of the convolution or pool behind it; Pad with the least number into a MaxPool's.

namespace {

bool pads_height_and_width_only(const DraftNode& pad) {
  const auto& options = pad.options.as<PadOptions>();
  return options.before.size == 4 && options.before[0] == 0 && pad.pads_after[0] == 0 &&
         options.before[3] == 0 && pad.pads_after[3] == 0;
}

// Whether the padding is what a MaxPool never takes.
bool pads_with_least(const Draft& draft, const DraftNode& pad) {
  const DraftTensor& info = draft.tensor(pad.input());
  const float value = pad.options.as<PadOptions>().value;
  if (info.dtype != DType::kS8) return value <= -std::numeric_limits<float>::max();
  return info.scales.size() == 1 && value <= static_cast<float>(-128 - info.zero_point) * info.scales[0];
}

// Whether no value of the tensor can be below zero: then skipping padding and zeros give the same maximum.
bool is_never_negative(const Draft& draft, const Links& links, int32_t tensor) {
  const DraftNode* const node = links.writer(draft, tensor);
  if (node == nullptr) return false;
  const DraftTensor& info = draft.tensor(tensor);
  const auto clamp = node->options.value<Clamp>();
  return info.dtype == DType::kF32 ? clamp.min >= 0.0f : clamp.lo >= info.zero_point;
}

bool can_take(const Draft& draft, const Links& links, const DraftNode& node, const DraftNode& pad) {
  const auto window = node.options.value<Window2d>();
  const bool has_pads = window.pad_top + window.pad_left + window.pad_bottom + window.pad_right != 0;
  const int64_t extent_h = int64_t{window.kernel_h - 1} * window.dilation_h + 1;
  const int64_t extent_w = int64_t{window.kernel_w - 1} * window.dilation_w + 1;
  const Span<const int32_t> before = pad.options.as<PadOptions>().before;
  // A window that lies in padding alone is not allowed.
  if (int64_t{window.pad_top} + before[1] >= extent_h ||
      int64_t{window.pad_bottom} + pad.pads_after[1] >= extent_h ||
      int64_t{window.pad_left} + before[2] >= extent_w ||
      int64_t{window.pad_right} + pad.pads_after[2] >= extent_w)
    return false;
  if (pad.options.as<PadOptions>().value != 0.0f)
    return node.op == Op::kMaxPool2d && pads_with_least(draft, pad);
  switch (node.op) {
    case Op::kConv2d:
    case Op::kDepthwiseConv2d:
      return true;
    case Op::kAvgPool2d:
      return window.count_include_pad || !has_pads;
    case Op::kMaxPool2d:
      return is_never_negative(draft, links, pad.input()) || pads_with_least(draft, pad);
    default:
      return false;
  }
}

}  // namespace

bool fold_pad(Draft& draft) {
  const Links links(draft);
  bool changed = false;
  for (const DraftNode& pad : draft.nodes) {
    if (pad.op != Op::kPad || !pads_height_and_width_only(pad)) continue;
    for (const int32_t index : links.consumers_of(pad.output())) {
      DraftNode& node = draft.node(index);
      if (node.input() != pad.output() || !can_take(draft, links, node, pad)) continue;
      const Span<const int32_t> before = pad.options.as<PadOptions>().before;
      auto& window = node.options.as<Window2d>();
      window.pad_top += before[1];
      window.pad_bottom += pad.pads_after[1];
      window.pad_left += before[2];
      window.pad_right += pad.pads_after[2];
      if (node.op == Op::kAvgPool2d) window.count_include_pad = true;
      node.inputs[0] = pad.input();
      changed = true;
    }
  }
  return changed;
}

// SpaceToBatch, a convolution, BatchToSpace: the way in which TensorFlow writes a dilated convolution.

namespace {

// One axis of the window of the dilated convolution; false where padding or the result would not fit.
bool dilate(int32_t kernel, int32_t block, int32_t padded, int32_t cropped, int32_t* dilation, int32_t* pad) {
  const int64_t extent = int64_t{kernel - 1} * block + 1;
  const int64_t both =
      int64_t{*pad} * block + padded - cropped;  // padding within a block's pixels counts by blocks
  if (both < 0 || both >= extent) return false;
  *dilation = block;
  *pad = static_cast<int32_t>(both);
  return true;
}

bool fold_blocks(Draft& draft, const DraftNode& apart, DraftNode& conv, const DraftNode& together) {
  Window2d w = conv.options.as<Window2d>();
  if (w.stride_h != 1 || w.stride_w != 1 || w.dilation_h != 1 || w.dilation_w != 1 ||
      to_vector(apart.options.as<StridedSliceOptions>().strides) !=
          to_vector(together.options.as<StridedSliceOptions>().strides))
    return false;
  const int32_t block_h = apart.options.as<StridedSliceOptions>().strides[0],
                block_w = apart.options.as<StridedSliceOptions>().strides[1];
  if (!dilate(w.kernel_h, block_h, apart.options.as<StridedSliceOptions>().begin[0],
              together.options.as<StridedSliceOptions>().begin[0], &w.dilation_h, &w.pad_top) ||
      !dilate(w.kernel_h, block_h, apart.pads_after[0], together.pads_after[0], &w.dilation_h,
              &w.pad_bottom) ||
      !dilate(w.kernel_w, block_w, apart.options.as<StridedSliceOptions>().begin[1],
              together.options.as<StridedSliceOptions>().begin[1], &w.dilation_w, &w.pad_left) ||
      !dilate(w.kernel_w, block_w, apart.pads_after[1], together.pads_after[1], &w.dilation_w, &w.pad_right))
    return false;
  const Shape in = draft.tensor(apart.input()).shape, out = draft.tensor(together.output()).shape;
  const auto size = [](int32_t from, int32_t before, int32_t after, int32_t kernel, int32_t dilation) {
    return int64_t{from} + before + after - int64_t{kernel - 1} * dilation;
  };
  if (size(in[1], w.pad_top, w.pad_bottom, w.kernel_h, w.dilation_h) != out[1] ||
      size(in[2], w.pad_left, w.pad_right, w.kernel_w, w.dilation_w) != out[2])
    return false;
  conv.options.as<Window2d>() = w;
  conv.inputs[0] = apart.input();
  take_over_output(draft, conv, together.output());
  return true;
}

}  // namespace

bool fold_dilation(Draft& draft) {
  const Links links(draft);
  bool changed = false;
  for (DraftNode& together : draft.nodes) {
    if (together.op != kBatchToSpace || !links.single_use(together.input())) continue;
    DraftNode* const conv = links.writer(draft, together.input());
    if (conv == nullptr || (conv->op != Op::kConv2d && conv->op != Op::kDepthwiseConv2d)) continue;
    const DraftNode* const apart = links.writer(draft, conv->input(), kSpaceToBatch);
    if (apart == nullptr || !fold_blocks(draft, *apart, *conv, together)) continue;
    together.outputs.clear();  // dead
    changed = true;
  }
  return changed;
}

// SpaceToBatch and BatchToSpace that no convolution took: Pad, or a slice, around Reshape and Transpose.

namespace {

void add_space_to_batch(Draft& draft, const DraftNode& node) {
  const auto& blocks_of = node.options.as<StridedSliceOptions>();
  const int32_t block_h = blocks_of.strides[0], block_w = blocks_of.strides[1];
  Shape shape = draft.tensor(node.input()).shape;
  int32_t x = node.input();
  for (const size_t i : {size_t{0}, size_t{1}}) shape[i + 1] += blocks_of.begin[i] + node.pads_after[i];
  if (shape != draft.tensor(x).shape) {
    const int32_t padded = add_activation_like(draft, node.name + "/padded", x, shape);
    add_pad({draft, node.name + "/pad", node.source}, x, {0, blocks_of.begin[0], blocks_of.begin[1], 0},
            {0, node.pads_after[0], node.pads_after[1], 0}, padded);
    x = padded;
  }
  const Shape apart{shape[0], shape[1] / block_h, block_h, shape[2] / block_w, block_w, shape[3]};
  const int32_t blocks = add_reshape({draft, node.name + "/blocks", node.source}, x, apart);
  const int32_t moved = add_transpose({draft, node.name + "/moved", node.source}, blocks, {2, 4, 0, 1, 3, 5});
  add_node({draft, node.name, node.source}, Op::kReshape, {moved}, node.output());
}

void add_batch_to_space(Draft& draft, const DraftNode& node) {
  const auto& blocks_of = node.options.as<StridedSliceOptions>();
  const int32_t block_h = blocks_of.strides[0], block_w = blocks_of.strides[1];
  const Shape from = draft.tensor(node.input()).shape;
  const int32_t batch = from[0] / (block_h * block_w);
  const int32_t blocks = add_reshape({draft, node.name + "/blocks", node.source}, node.input(),
                                     {block_h, block_w, batch, from[1], from[2], from[3]});
  const int32_t moved = add_transpose({draft, node.name + "/moved", node.source}, blocks, {2, 3, 0, 4, 1, 5});
  const Shape whole{batch, from[1] * block_h, from[2] * block_w, from[3]};
  if (draft.tensor(node.output()).shape == whole) {
    add_node({draft, node.name, node.source}, Op::kReshape, {moved}, node.output());
    return;
  }
  const int32_t picture = add_reshape({draft, node.name + "/whole", node.source}, moved, whole);
  add_slice_into({draft, node.name, node.source}, picture, {0, blocks_of.begin[0], blocks_of.begin[1], 0},
                 {1, 1, 1, 1}, node.output());
}

}  // namespace

bool decompose_space_to_batch(Draft& draft) {
  return rewrite_nodes(draft, [&](const DraftNode& node) {
    if (node.op == kSpaceToBatch) add_space_to_batch(draft, node);
    if (node.op == kBatchToSpace) add_batch_to_space(draft, node);
    return node.op == kSpaceToBatch || node.op == kBatchToSpace;
  });
}

// A depthwise convolution of one channel is an ordinary one, whose kernels take all of its output channels at once.
bool replace_depthwise(Draft& draft) {
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    if (node.op != Op::kDepthwiseConv2d || draft.tensor(node.input()).shape.back() != 1) continue;
    const DraftTensor& weights = draft.tensor(node.inputs[1]);  // [kh, kw, outputs]
    if (!weights.constant || weights.shape.size() != 3) continue;
    const Window2d window = node.options.as<Window2d>();
    const Clamp clamp = node.options.as<Clamp>();
    const int32_t turned = add_permuted_constant(draft, node.inputs[1], {2, 0, 1});
    draft.tensor(turned).shape.push_back(1);  // [outputs, kh, kw, 1]
    node.inputs[1] = turned;
    node.become(Op::kConv2d);
    node.options.as<Window2d>() = window;
    node.options.as<Clamp>() = clamp;
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers

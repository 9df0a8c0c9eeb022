// SpaceToBatch, a convolution, BatchToSpace: the way in which TensorFlow writes a dilated convolution.
#include "importers/passes/folding.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
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
    const int32_t c = links.producer_of(together.input());
    if (c < 0) continue;
    DraftNode& conv = draft.nodes[static_cast<size_t>(c)];
    if (conv.op != Op::kConv2d && conv.op != Op::kDepthwiseConv2d) continue;
    const int32_t a = links.producer_of(conv.input());
    if (a < 0 || draft.nodes[static_cast<size_t>(a)].op != kSpaceToBatch ||
        !fold_blocks(draft, draft.nodes[static_cast<size_t>(a)], conv, together))
      continue;
    together.outputs.clear();  // dead
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers

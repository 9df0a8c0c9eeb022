// Pad with zeros goes into the window of the convolution or pool behind it; Pad with the least number into a MaxPool's.
#include <limits>

#include "importers/passes/passes.h"

namespace intaglio::importers {
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
  const int32_t index = links.producer_of(tensor);
  if (index < 0) return false;
  const DraftNode& node = draft.nodes[static_cast<size_t>(index)];
  const DraftTensor& info = draft.tensor(tensor);
  const auto clamp = node.options.value<Clamp>();
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
      DraftNode& node = draft.nodes[static_cast<size_t>(index)];
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

}  // namespace intaglio::importers

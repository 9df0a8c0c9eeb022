#include "runtime/streaming/band_view.h"

#include <cstring>

#if ITG_STREAMING

namespace intaglio {

BandView::BandView(const Model& model, int32_t index, bool reduces)
    : NodeBand{[](const NodeView& node, int32_t i) { return of(node).input(i); },
               [](const NodeView& node) { return of(node).output(); },
               [](const NodeView& node, const NodeRun& run, int32_t i) { return of(node).address(run, i); },
               0, 0},
      node_{index, model.node(index), &model} {
  const TensorInfo out = model.tensor(node_.output_index(0));
  for (int32_t i = 0; i < kMaxBandInputs; ++i) {
    rows_[i].height = 0;
    if (!node_.has_input(i)) continue;
    // A layer's weights are asked for in each band; its bias is folded in elsewhere.
    if (!kKeepsNodes && i > 1 && model.activation_offset(node_.input_index(i)) == Model::kNoOffset) continue;
    TensorInfo& info = kept_[i < kKeptInputs ? i : kKeptInputs];
    info = model.tensor(node_.input_index(i));
    if (intaglio::reads_rows(node_.info.op, i, info, out)) keep_rows(i, &info);
  }
  kept_[kKeptInputs] = out;
  node_.band = this;
  access_ = known_row_access(node_, reduces);
  rows_[kMaxBandInputs].height = 0;
  if (!reduces) keep_rows(kMaxBandInputs, &kept_[kKeptInputs]);
  if (auto* const pad = node_.info.options.get<PadOptions>()) {
    memcpy(before_, pad->before.data, sizeof before_);
    pad->before = {before_, 4};
  }
}

// That tensor `info` is read or written by rows.
void BandView::keep_rows(int32_t slot, TensorInfo* info) {
  Rows& rows = rows_[slot];
  memcpy(rows.dims, info->shape.dims, sizeof rows.dims);
  rows.height = rows.dims[1];
  rows.row_bytes = row_bytes_of(*info);
  info->shape.dims = rows.dims;
}

TensorInfo BandView::other_input(int32_t i) const {
  TensorInfo info = node_.model->tensor(node_.input_index(i));
  if (reads_rows(i)) info.shape.dims = rows_[i].dims;
  return info;
}

// The rows of input `i`, or of the output (-1).
const void* BandView::address(const NodeRun& run, int32_t i) const {
  const Rows& rows = rows_[i < 0 ? kMaxBandInputs : i];
  if (rows.height != 0) return run.activations + rows.offset;
  if (i >= 0 && i < kKeptInputs && kept_[i].is_constant()) return kept_[i].constant.data;
  return run.address(i < 0 ? node_.output_index(0) : node_.input_index(i));
}

void BandView::set_input_rows(int32_t i, int32_t first, int32_t past, uint32_t row_0) {
  const RowAccess window = access_of_input(access_, i);
  const int32_t height = rows_[i].height, begin = window.first_input(first), end = window.past_input(past);
  set_rows(i, begin > 0 ? begin : 0, end < height ? end : height, row_0);
  empty_ = empty_ || rows_[i].dims[1] <= 0;
}

void BandView::set_rows(int32_t slot, int32_t first, int32_t past, uint32_t row_0) {
  Rows& rows = rows_[slot];
  rows.dims[1] = past - first;
  rows.offset = row_0 + static_cast<uint32_t>(first * rows.row_bytes);
}

// That the band touches.
void BandView::set_padding(int32_t first, int32_t past) {
  const int32_t above = -access_.first_input(first);  // rows of padding in front of the band's window
  if (auto* const window = node_.info.options.get<Window2d>()) {
    const int32_t below = access_.past_input(past) - rows_[0].height;
    window->pad_top = above > 0 ? above : 0;
    window->pad_bottom = below > 0 ? below : 0;
  } else if (node_.info.options.get<PadOptions>() != nullptr) {
    before_[1] = above > 0 ? above : 0;
  }
}

}  // namespace intaglio

#endif

#include "runtime/streaming/band_view.h"

#if ITG_STREAMING

namespace intaglio {

BandView::BandView(const Model& model, int32_t index)
    : NodeBand{[](const NodeView& node, int32_t i) { return of(node).input(i); },
               [](const NodeView& node) { return of(node).output(); },
               [](const NodeView& node, const NodeRun& run, int32_t i) { return of(node).address(run, i); },
               0, 0},
      node_{index, model.node(index), &model} {
  for (int32_t i = 0; i < kKeptInputs && i < node_.input_count(); ++i)
    if (node_.has_input(i)) kept_[i] = model.tensor(node_.input_index(i));
  kept_[kKeptInputs] = model.tensor(node_.output_index(0));
  node_.band = this;
}

TensorInfo BandView::other_input(int32_t i) const {
  TensorInfo info = node_.model->tensor(node_.input_index(i));
  if (rows_[i].dims[0] != 0) info.shape.dims = rows_[i].dims;
  return info;
}

// Of input `i`, or of the output (-1).
const void* BandView::address(const NodeRun& run, int32_t i) const {
  const Rows& rows = rows_[i < 0 ? kMaxBandInputs : i];
  if (rows.dims[0] != 0) return run.activations + rows.offset;
  if (i >= 0 && i < kKeptInputs && kept_[i].is_constant()) return kept_[i].constant.data;
  return run.address(i < 0 ? node_.output_index(0) : node_.input_index(i));
}

void BandView::set_input_rows(int32_t i, const TensorInfo& info, const RowAccess& window, int32_t first,
                              int32_t past, int64_t row_0) {
  const int32_t height = info.shape[1], begin = window.first_input(first), end = window.past_input(past);
  set_rows(i, info, begin > 0 ? begin : 0, end < height ? end : height, row_0);
  empty_ = empty_ || rows_[i].dims[1] <= 0;
}

void BandView::set_rows(int32_t slot, const TensorInfo& info, int32_t first, int32_t past, int64_t row_0) {
  Rows& rows = rows_[slot];
  rows.dims[0] = 1;
  rows.dims[1] = past - first;
  rows.dims[2] = info.shape[2];
  rows.dims[3] = info.shape[3];
  rows.offset = static_cast<uint32_t>(row_0 + int64_t{first} * row_bytes_of(info));
  if (slot < kKeptInputs) kept_[slot].shape.dims = rows.dims;
  if (slot == kMaxBandInputs) kept_[kKeptInputs].shape.dims = rows.dims;
}

// That the band touches.
void BandView::set_padding(const RowAccess& access, int32_t first, int32_t past, int32_t in_height) {
  const int32_t above = -access.first_input(first);  // rows of padding in front of the band's window
  if (auto* const window = node_.info.options.get<Window2d>()) {
    const int32_t below = access.past_input(past) - in_height;
    window->pad_top = above > 0 ? above : 0;
    window->pad_bottom = below > 0 ? below : 0;
  } else if (auto* const pad = node_.info.options.get<PadOptions>()) {
    for (size_t i = 0; i < 4; ++i) before_[i] = pad->before[i];
    before_[1] = above > 0 ? above : 0;
    pad->before = {before_, 4};
  }
}

}  // namespace intaglio

#endif

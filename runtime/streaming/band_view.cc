#include "runtime/streaming/band_view.h"

#if ITG_STREAMING

namespace intaglio {

BandView::BandView(const NodeView& whole)
    : NodeBand{[](const NodeView& node, int32_t i) { return of(node).info_of(of(node).whole_input(i), i); },
               [](const NodeView& node) { return of(node).info_of(of(node).whole_output(), kMaxBandInputs); },
               [](const NodeView& node, const NodeRun& run, int32_t i) { return of(node).address(run, i); }},
      node_(whole) {
  for (int32_t i = 0; i < kKeptInputs && i < whole.input_count(); ++i)
    if (whole.has_input(i)) kept_[i] = whole.model->tensor(whole.input_index(i));
  kept_[kKeptInputs] = whole.model->tensor(whole.output_index(0));
  node_.band = this;
}

void BandView::take(const RowAccess& access, int32_t first, int32_t past) {
  const int32_t above = access.pad - first * access.stride;  // rows of padding in front of the band's window
  const int32_t in_height = kept_[0].shape[1];
  for (int32_t i = 0; i < node_.input_count(); ++i) {
    if (!reads_rows(node_, i)) continue;
    const RowAccess window = access_of_input(access, i);
    const Shape shape = whole_input(i).shape;
    const int32_t begin = first * window.stride - window.pad;
    const int32_t end = (past - 1) * window.stride - window.pad + window.extent;
    set_rows(i, shape, begin > 0 ? begin : 0, end < shape[1] ? end : shape[1]);
    empty_ = empty_ || rows_[i].dims[1] <= 0;
  }
  set_rows(kMaxBandInputs, whole_output().shape, first, past);
  if (auto* const window = node_.info.options.get<Window2d>()) {
    const int32_t below = (past - 1) * access.stride - access.pad + access.extent - in_height;
    window->pad_top = above > 0 ? above : 0;
    window->pad_bottom = below > 0 ? below : 0;
  } else if (auto* const pad = node_.info.options.get<PadOptions>()) {
    for (size_t i = 0; i < 4; ++i) before_[i] = pad->before[i];
    before_[1] = above > 0 ? above : 0;
    pad->before = {before_, 4};
  }
}

TensorInfo BandView::whole_input(int32_t i) const {
  return i < kKeptInputs ? kept_[i] : node_.model->tensor(node_.input_index(i));
}

TensorInfo BandView::info_of(TensorInfo info, int32_t slot) const {
  if (rows_[slot].dims[0] != 0) info.shape.dims = rows_[slot].dims;
  return info;
}

// Of input `i`, or of the output (-1).
const void* BandView::address(const NodeRun& run, int32_t i) const {
  const Rows& rows = rows_[i < 0 ? kMaxBandInputs : i];
  if (rows.dims[0] != 0) return run.activations + rows.offset;
  if (i >= 0 && i < kKeptInputs && kept_[i].is_constant()) return kept_[i].constant.data;
  return run.address(i < 0 ? node_.output_index(0) : node_.input_index(i));
}

void BandView::set_rows(int32_t slot, const Shape& shape, int32_t first, int32_t past) {
  rows_[slot] = {{1, past - first, shape[2], shape[3]}, first, 0};
}

void BandView::place(int32_t slot, int64_t row_0, int32_t row_bytes) {
  rows_[slot].offset = static_cast<uint32_t>(row_0 + int64_t{rows_[slot].first} * row_bytes);
}

}  // namespace intaglio

#endif

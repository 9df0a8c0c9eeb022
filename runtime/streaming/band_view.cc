#include "runtime/streaming/band_view.h"

#if ITG_STREAMING

namespace intaglio {

BandView::BandView(const NodeView& whole, const RowAccess& access, int32_t first, int32_t past)
    : NodeBand{[](const NodeView& node, int32_t i) {
                 return of(node).info_of(node.model->tensor(node.input_index(i)), i);
               },
               [](const NodeView& node) {
                 return of(node).info_of(node.model->tensor(node.output_index(0)), kMaxBandInputs);
               },
               [](const NodeView& node, const NodeRun& run, int32_t i) -> const void* {
                 const Rows& rows = of(node).rows_[i < 0 ? kMaxBandInputs : i];
                 return rows.dims[0] != 0 ? run.activations + rows.offset : run.address(node.input_index(i));
               }},
      node_(whole) {
  const int32_t above = access.pad - first * access.stride;  // rows of padding in front of the band's window
  for (int32_t i = 0; i < whole.input_count(); ++i) {
    rows_[i].dims[0] = 0;
    if (!reads_rows(whole, i)) continue;
    const RowAccess window = access_of_input(access, i);
    const Shape shape = whole.input(i).shape;
    const int32_t begin = first * window.stride - window.pad;
    const int32_t end = (past - 1) * window.stride - window.pad + window.extent;
    set_rows(i, shape, begin > 0 ? begin : 0, end < shape[1] ? end : shape[1]);
    empty_ = empty_ || rows_[i].dims[1] <= 0;
  }
  set_rows(kMaxBandInputs, whole.output().shape, first, past);
  if (auto* const window = node_.info.options.get<Window2d>()) {
    const int32_t below = (past - 1) * access.stride - access.pad + access.extent - whole.input(0).shape[1];
    window->pad_top = above > 0 ? above : 0;
    window->pad_bottom = below > 0 ? below : 0;
  } else if (auto* const pad = node_.info.options.get<PadOptions>()) {
    for (size_t i = 0; i < 4; ++i) before_[i] = pad->before[i];
    before_[1] = above > 0 ? above : 0;
    pad->before = {before_, 4};
  }
  node_.band = this;
}

TensorInfo BandView::info_of(TensorInfo info, int32_t slot) const {
  if (rows_[slot].dims[0] != 0) info.shape.dims = rows_[slot].dims;
  return info;
}

void BandView::set_rows(int32_t slot, const Shape& shape, int32_t first, int32_t past) {
  rows_[slot] = {{1, past - first, shape[2], shape[3]}, first, 0};
}

void BandView::place(int32_t slot, int64_t row_0) {
  Rows& rows = rows_[slot];
  const DType dtype = slot == kMaxBandInputs ? node_.model->tensor(node_.output_index(0)).dtype
                                             : node_.model->tensor(node_.input_index(slot)).dtype;
  const int64_t row_bytes = int64_t{rows.dims[2]} * rows.dims[3] * static_cast<int64_t>(element_bytes(dtype));
  rows.offset = static_cast<uint32_t>(row_0 + rows.first * row_bytes);
}

}  // namespace intaglio

#endif

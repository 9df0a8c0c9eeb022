// A node as it stands for a band of rows of its output: the same operator on a smaller picture, with the padding that the
// band touches. Operators run it as they run any node.
#pragma once

#include "runtime/streaming/row_access.h"

namespace intaglio {

class BandView : private NodeBand {
 public:
  // Rows [first, past) of the output of `whole`, which runs by rows and does not reduce them; first < past.
  BandView(const NodeView& whole, const RowAccess& access, int32_t first, int32_t past);
  BandView(const BandView&) = delete;
  BandView& operator=(const BandView&) = delete;

  const NodeView& node() const { return node_; }
  // Where the first row of the tensor would stand that input `i`, or the output, is a band of.
  void place_input(int32_t i, int64_t row_0) { place(i, row_0); }
  void place_output(int64_t row_0) { place(kMaxBandInputs, row_0); }
  // Of a pad: nothing but padding.
  bool is_empty() const { return empty_; }

 private:
  struct Rows {
    int32_t dims[4];    // of the band; its first is 0 where the tensor is no band
    int32_t first = 0;  // its first row
    uint32_t offset = 0;
  };

  static const BandView& of(const NodeView& node) { return *static_cast<const BandView*>(node.band); }
  TensorInfo info_of(TensorInfo info, int32_t slot) const;
  void place(int32_t slot, int64_t row_0);
  void set_rows(int32_t slot, const Shape& shape, int32_t first, int32_t past);

  NodeView node_;
  Rows rows_[kMaxBandInputs + 1];  // of the inputs, and of the output behind them
  int32_t before_[4];
  bool empty_ = false;
};

}  // namespace intaglio

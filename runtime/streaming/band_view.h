// A node as it stands for a band of rows of its output: the same operator on a smaller picture, with the padding that the
// band touches. Operators run it as they run any node.
#pragma once

#include "runtime/streaming/row_access.h"

namespace intaglio {

class BandView : private NodeBand {
 public:
  // The node as it is. Its tensors are decoded once: whoever asks for them has them at once.
  explicit BandView(const NodeView& whole);
  BandView(const BandView&) = delete;
  BandView& operator=(const BandView&) = delete;

  // Makes it rows [first, past) of the output of a node that runs by rows and does not reduce them; first < past.
  void take(const RowAccess& access, int32_t first, int32_t past);

  const NodeView& node() const { return node_; }
  // Tensor `i` of the whole node's inputs, which is present.
  TensorInfo whole_input(int32_t i) const;
  const TensorInfo& whole_output() const { return kept_[kKeptInputs]; }

  // Behind take(): whether input `i` is one by rows.
  bool reads_band(int32_t i) const { return rows_[i].dims[0] != 0; }
  // Where the first row of the tensor would stand that input `i`, or the output, is a band of. It has rows of so many bytes.
  void place_input(int32_t i, int64_t row_0, int32_t row_bytes) { place(i, row_0, row_bytes); }
  void place_output(int64_t row_0, int32_t row_bytes) { place(kMaxBandInputs, row_0, row_bytes); }
  // Of a pad: nothing but padding.
  bool is_empty() const { return empty_; }

 private:
  static constexpr int32_t kKeptInputs = 4;  // of a convolution, which has the most but for Concat
  struct Rows {
    int32_t dims[4] = {};  // of the band; its first is 0 where the tensor is no band
    int32_t first = 0;     // its first row
    uint32_t offset = 0;
  };

  static const BandView& of(const NodeView& node) { return *static_cast<const BandView*>(node.band); }
  TensorInfo info_of(TensorInfo info, int32_t slot) const;
  const void* address(const NodeRun& run, int32_t i) const;
  void place(int32_t slot, int64_t row_0, int32_t row_bytes);
  void set_rows(int32_t slot, const Shape& shape, int32_t first, int32_t past);

  NodeView node_;
  TensorInfo kept_[kKeptInputs + 1];  // of the first inputs, and of the output behind them
  Rows rows_[kMaxBandInputs + 1];     // likewise, of all inputs
  int32_t before_[4];
  bool empty_ = false;
};

// Bytes of a row of a picture.
inline int32_t row_bytes_of(const TensorInfo& info) {
  return info.shape[2] * info.shape[3] * static_cast<int32_t>(element_bytes(info.dtype));
}

}  // namespace intaglio

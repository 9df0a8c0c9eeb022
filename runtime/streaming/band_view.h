// A node as it stands for a band of rows of its output: the same operator on a smaller picture, with the padding that the
// band touches. Operators run it as they run any node.
#pragma once

#include "runtime/streaming/row_access.h"

namespace intaglio {

class BandView : private NodeBand {
 public:
  // Node `index` as it is. Its tensors are decoded once: whoever asks for them has them at once.
  BandView(const Model& model, int32_t index);
  BandView(const BandView&) = delete;
  BandView& operator=(const BandView&) = delete;

  // Makes it rows [first, past) of the output of a node that runs by rows and does not reduce them; first < past. The places
  // count from the start of the activations: input_row_0(i), for inputs by rows, and `output_row_0` say where the first row
  // of the whole tensor would stand.
  template <typename InputRow0>
  void take(const RowAccess& access, int32_t first, int32_t past, InputRow0 input_row_0,
            int64_t output_row_0) {
    const TensorInfo out = output();
    const int32_t begin = access.first_input(first);
    output_row = first;
    input_row = begin > 0 ? begin : 0;
    const int32_t in_height = input(0).shape[1];
    for (int32_t i = 0; i < node_.input_count(); ++i) {
      if (!node_.has_input(i)) continue;
      const TensorInfo info = input(i);
      if (!reads_rows(node_.info.op, i, info, out)) continue;
      set_input_rows(i, info, access_of_input(access, i), first, past, input_row_0(i, info));
    }
    set_rows(kMaxBandInputs, out, first, past, output_row_0);
    set_padding(access, first, past, in_height);
  }

  NodeView& node() { return node_; }
  // Tensors as the node has them: whole ones before take().
  TensorInfo input(int32_t i) const { return i < kKeptInputs ? kept_[i] : other_input(i); }
  const TensorInfo& output() const { return kept_[kKeptInputs]; }
  // Of a pad: nothing but padding.
  bool is_empty() const { return empty_; }

 private:
  static constexpr int32_t kKeptInputs = 4;  // of a convolution, which has the most but for Concat
  struct Rows {
    Rows() { dims[0] = 0; }
    int32_t dims[4];  // of the band; its first is 0 where the tensor is no band
    uint32_t offset;  // of its first row
  };

  static const BandView& of(const NodeView& node) { return *static_cast<const BandView*>(node.band); }
  TensorInfo other_input(int32_t i) const;
  const void* address(const NodeRun& run, int32_t i) const;
  void set_input_rows(int32_t i, const TensorInfo& info, const RowAccess& window, int32_t first, int32_t past,
                      int64_t row_0);
  void set_rows(int32_t slot, const TensorInfo& info, int32_t first, int32_t past, int64_t row_0);
  void set_padding(const RowAccess& access, int32_t first, int32_t past, int32_t in_height);

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

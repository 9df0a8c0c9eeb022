// A node as it stands for a band of rows of its output: the same operator on a smaller picture, with the padding that the
// band touches. Operators run it as they run any node.
#pragma once

#include "runtime/streaming/row_access.h"

namespace intaglio {

class BandView : private NodeBand {
 public:
  // Node `index` as it is; `reduces`: it is known to run by rows, and is a mean. Its tensors are decoded once: whoever asks for
  // them has them at once.
  BandView(const Model& model, int32_t index, bool reduces);
  BandView(const BandView&) = delete;
  BandView& operator=(const BandView&) = delete;

  // Makes it rows [first, past) of the output of a node that runs by rows and does not reduce them; first < past. Any number of
  // times. The places count from the start of the activations: input_row_0(i), for inputs by rows, and `output_row_0` say
  // where the first row of the whole tensor would stand, modulo 2^32.
  template <typename InputRow0>
  void take(int32_t first, int32_t past, InputRow0 input_row_0, uint32_t output_row_0) {
    const int32_t begin = access_.first_input(first);
    output_row = first;
    input_row = begin > 0 ? begin : 0;
    empty_ = false;
    for (int32_t i = 0; i < node_.input_count(); ++i)
      if (reads_rows(i)) set_input_rows(i, first, past, input_row_0(i));
    set_rows(kMaxBandInputs, first, past, output_row_0);
    set_padding(first, past);
  }

  NodeView& node() { return node_; }
  const RowAccess& access() const { return access_; }
  // The rows of input `i`, or of the output (kMaxBandInputs), where it is read or written by rows.
  bool reads_rows(int32_t i) const { return rows_[i].height != 0; }
  int32_t height(int32_t i) const { return rows_[i].height; }
  int32_t row_bytes(int32_t i) const { return rows_[i].row_bytes; }
  // Tensors as the node has them: whole ones before take().
  TensorInfo input(int32_t i) const {
    return i < kKeptInputs && kept_[i].dtype != DType::kNone ? kept_[i] : other_input(i);
  }
  const TensorInfo& output() const { return kept_[kKeptInputs]; }
  // For a pad: the rows are padding alone.
  bool is_empty() const { return empty_; }

 private:
  static constexpr int32_t kKeptInputs = 4;  // of a convolution, which has the most but for Concat
  struct Rows {
    int32_t height;  // of the whole tensor; 0: it is no band
    int32_t row_bytes;
    int32_t dims[4];  // of the band
    uint32_t offset;  // of its first row
  };

  static const BandView& of(const NodeView& node) { return *static_cast<const BandView*>(node.band); }
  TensorInfo other_input(int32_t i) const;
  const void* address(const NodeRun& run, int32_t i) const;
  void keep_rows(int32_t slot, TensorInfo* info);
  void set_input_rows(int32_t i, int32_t first, int32_t past, uint32_t row_0);
  void set_rows(int32_t slot, int32_t first, int32_t past, uint32_t row_0);
  void set_padding(int32_t first, int32_t past);

  NodeView node_;
  RowAccess access_;
  TensorInfo kept_[kKeptInputs + 1];  // of the first inputs, and of the output behind them
  Rows rows_[kMaxBandInputs + 1];     // likewise, of all inputs
  int32_t before_[4];                 // of a pad
  bool empty_ = false;
};

}  // namespace intaglio

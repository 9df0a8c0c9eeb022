// Which operators run by rows, and which rows of their inputs a row of their output takes.
#pragma once

#include "runtime/op.h"
#include "runtime/resize_coordinates.h"

namespace intaglio {

// Row y of the output takes rows [floor(y * stride / per) - pad, floor(y * stride / per) - pad + extent) of input 0, those
// outside it being padding. Stride and `per` have no common factor; only Resize has a `per` above 1. Other inputs that are
// read by rows give row y.
struct RowAccess {
  bool by_rows = false;  // the operator can compute rows [a, b) of its output, batch 1, alone
  bool reduces =
      false;  // a mean over all rows and columns: it takes rows one by one, its output is there at the end
  int32_t stride = 1, extent = 1, pad = 0, per = 1;

  // The rows of input 0 that rows [first, past) of the output take: [first_input(first), past_input(past)).
  int32_t first_input(int32_t first) const { return first * stride / per - pad; }
  int32_t past_input(int32_t past) const { return first_input(past - 1) + extent; }
  // The last row that takes none below an input of `height` rows.
  int32_t last_without_padding(int32_t height) const {
    return ((height + pad - extent + 1) * per - 1) / stride;
  }

  // For readers and writers of rows by a clock (streamed_model.cc): `from` and `to` are the strides of the input and of the
  // output, from * stride = to * per. What the input's lead must be above the output's at least, in steps of the clock.
  int64_t least_ahead(int64_t from, int64_t to) const { return from * (int64_t{extent} - pad) - to; }
  // The rows of the input that a line buffer must hold where its lead is `ahead` above the output's.
  int64_t kept_rows(int64_t from, int64_t to, int64_t ahead, int32_t band) const {
    return pad + floor_div(ahead + band - 1 + to + from - from / per, from);
  }

  // For a node whose output may stand on rows of this input that it has read, with a `per` of 1: how many bytes above the output the input
  // must stand at least, where `rows` rows of output are made `band` at a time, in order. It is the most of
  //   past * row_bytes - max(0, y * stride - pad) * input_row_bytes
  // over the bands [y, past). That is linear in y but for the bands that begin in the padding above, and for the last.
  int64_t least_above(int64_t rows, int64_t band, int64_t row_bytes, int64_t input_row_bytes) const {
    const int64_t last = (rows - 1) / band, above = pad > 0 ? pad / stride / band : 0;
    int64_t most = INT64_MIN;
    for (int64_t b : {above, above + 1, last - 1, last}) {
      b = b < 0 ? 0 : b < last ? b : last;
      const int64_t y = b * band, past = b < last ? y + band : rows, begin = y * stride - pad;
      const int64_t bytes = past * row_bytes - (begin > 0 ? begin : 0) * input_row_bytes;
      most = bytes > most ? bytes : most;
    }
    return most;
  }
};

inline constexpr RowAccess kRowByRow = {true, false, 1, 1, 0, 1};

inline constexpr int32_t kMaxBandInputs = 8;   // of a node that runs by rows
inline constexpr int32_t kMaxRowExtent = 256;  // rows of a window; also of Resize's `stride` and `per`
inline constexpr int32_t kMaxRows = 1 << 20;   // of a tensor, and of a segment's clock

// NHWC, batch 1, of so many rows that a walk can count them.
bool is_picture(const TensorInfo& tensor);
// Bytes of a row of a picture.
inline int32_t row_bytes_of(const TensorInfo& info) {
  return info.shape[2] * info.shape[3] * static_cast<int32_t>(element_bytes(info.dtype));
}

RowAccess row_access(const NodeView& node);
// The same of a node that is known to run by rows; `reduces`: it is a mean.
RowAccess known_row_access(const NodeView& node, bool reduces);

// Whether input `i`, which is `info`, of a node that runs by rows is read by rows; else it is read whole.
bool reads_rows(Op op, int32_t i, const TensorInfo& info, const TensorInfo& output);
inline bool reads_rows(const NodeView& node, int32_t i) {
  return node.has_input(i) && reads_rows(node.info.op, i, node.input(i), node.output());
}

// Window of input `i`, which is read by rows.
inline RowAccess access_of_input(const RowAccess& access, int32_t i) { return i == 0 ? access : kRowByRow; }

// Rows that a node's walk counts: of its output, or of the input that it reduces.
inline int32_t counted_rows(const NodeView& node, bool reduces) {
  return reduces ? node.input(0).shape[1] : node.output().shape[1];
}

}  // namespace intaglio

// Which operators run by rows, and which rows of their inputs a row of their output takes.
#pragma once

#include "runtime/op.h"

namespace intaglio {

// Row y of the output takes rows [y * stride - pad, y * stride - pad + extent) of input 0, those outside it being padding.
// Other inputs that are read by rows give row y.
struct RowAccess {
  bool by_rows = false;  // the operator can compute rows [a, b) of its output, batch 1, alone
  bool reduces =
      false;  // a mean over all rows and columns: it takes rows one by one, its output is there at the end
  int32_t stride = 1, extent = 1, pad = 0;
};

inline constexpr int32_t kMaxBandInputs = 8;   // of a node that runs by rows
inline constexpr int32_t kMaxRowExtent = 256;  // rows of a window
inline constexpr int32_t kMaxRows = 1 << 20;   // of a tensor, and of a segment's clock

// NHWC, batch 1, of so many rows that a walk can count them.
bool is_picture(const TensorInfo& tensor);

RowAccess row_access(const NodeView& node);
// The same of a node that is known to run by rows; `reduces`: it is a mean.
RowAccess known_row_access(const NodeView& node, bool reduces);

// Whether input `i`, which is `info`, of a node that runs by rows is read by rows; else it is read whole.
bool reads_rows(Op op, int32_t i, const TensorInfo& info, const TensorInfo& output);
inline bool reads_rows(const NodeView& node, int32_t i) {
  return node.has_input(i) && reads_rows(node.info.op, i, node.input(i), node.output());
}

// Window of input `i`, which is read by rows.
inline RowAccess access_of_input(const RowAccess& access, int32_t i) {
  return i == 0 ? access : RowAccess{true, false, 1, 1, 0};
}

// Rows that a node's walk counts: of its output, or of the input that it reduces.
inline int32_t counted_rows(const NodeView& node, const RowAccess& access) {
  return access.reduces ? node.input(0).shape[1] : node.output().shape[1];
}

}  // namespace intaglio

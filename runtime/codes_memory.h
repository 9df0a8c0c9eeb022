// The memory that a node takes: in FP32, and once it computes in codes, as the calibrator counts it before there are any.
#pragma once

#include "intaglio/session.h"
#include "runtime/op.h"

namespace intaglio {

// What plan() of an FP32 node says; its constants have been checked.
Result<NodePlan> float_memory(const NodeView& node, const SessionOptions& options);

// The most that the version for codes of the same FP32 node takes, from its shapes alone: kernels and sizes are those that plan() of
// that version would choose. `as`: the operator that it becomes. `written`: kS8 or kS16 codes, or kF32 where its sums leave as reals. A node without weights
// that multiplies no matrices takes no more than in FP32, which stands for it.
Result<NodePlan> codes_memory(const NodeView& node, Op as, DType written, const SessionOptions& options);

}  // namespace intaglio

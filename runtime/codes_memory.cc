#include "runtime/codes_memory.h"

#include "intaglio/ops.h"
#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "runtime/op_search.h"
#include "runtime/ops/batch_product.h"
#include "runtime/ops/conv_2d.h"
#include "runtime/ops/conv_gemm.h"

namespace intaglio {
namespace {

PlanContext context_of(const SessionOptions& options) {
  const int32_t width = options.executor.parallel_for == nullptr ? 1 : options.executor.width;
  return {options.isa & cpu_isa() & kCompiledIsa, width};
}

Error plan_float(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  return find_op(float_ops(), *node.model, node.info)->plan(node, context, plan);
}

Error size_gemm(const NodeView& node, ConvGeometry g, DType written, const PlanContext& context,
                NodePlan* plan) {
  if (written == DType::kF32) return plan_gemm_s8_f32(node, g, context, plan);
  if (written == DType::kS8) return plan_gemm_s8(node, g, context, plan);
  g.allows_im2col = false;
  return plan_gemm_s16(node, g, context, plan);
}

// A matrix product of a few rows that leaves as reals reads its weights in place.
Error size_rows(const NodeView& node, const ConvGeometry& g, DType written, const PlanContext& context,
                NodePlan* plan) {
  const bool in_place = written == DType::kF32 && reads_weights_in_place(g);
  return in_place ? kNoError : size_gemm(node, g, written, context, plan);
}

Error size_node(const NodeView& node, Op as, DType written, const PlanContext& context, NodePlan* plan) {
  switch (node.info.op) {
    case Op::kConv2d: {
      const ConvGeometry g = conv_2d_geometry(node);
      return as == Op::kFullyConnected ? size_rows(node, g, written, context, plan)
                                       : size_gemm(node, g, written, context, plan);
    }
    case Op::kFullyConnected:
      return size_rows(node, fully_connected_geometry(node), written, context, plan);
    case Op::kDepthwiseConv2d:
      return written == DType::kS16 ? size_depthwise_s16(node, context, plan)
                                    : size_depthwise_s8(node, written, context, plan);
    case Op::kBatchMatMul:
      return written == DType::kS16 ? size_batch_mat_mul_s16(node, context, plan)
                                    : size_batch_mat_mul_s8(node, context, plan);
    default:
      return plan_float(node, context, plan);
  }
}

}  // namespace

Result<NodePlan> float_memory(const NodeView& node, const SessionOptions& options) {
  NodePlan plan;
  ITG_TRY(plan_float(node, context_of(options), &plan));
  return plan;
}

Result<NodePlan> codes_memory(const NodeView& node, Op as, DType written, const SessionOptions& options) {
  NodePlan plan;
  ITG_TRY(size_node(node, as, written, context_of(options), &plan));
  return plan;
}

}  // namespace intaglio

// Products of two matrices of activations in int16 (batch_mat_mul.cc). A panel of b's columns is packed into scratch, and meets
// all rows of a.
#include <cfloat>

#include "kernels/gemm/gemm_s16.h"
#include "runtime/ops/batch_product.h"
#include "runtime/ops/conv_geometry.h"

namespace intaglio {
namespace {

// Panels of one batch follow each other; a slot of scratch is a panel.
struct PartsS16 {
  int32_t panels;  // of a batch
  int64_t slot_bytes;

  PartsS16(const Product& p, const MatmulS16Kernel& kernel)
      : panels((p.n + kernel.nr - 1) / kernel.nr),
        slot_bytes(aligned_scratch(matmul_s16_panel_bytes(kernel, p.k))) {}
  int32_t items(const Product& p) const { return p.batches * panels; }
};

}  // namespace

Error size_batch_mat_mul_s16(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  const Product p = product_of(node);
  const int32_t index = matmul_s16_select(context.isa);
  plan->kernel = static_cast<uint16_t>(index);
  const PartsS16 parts(p, matmul_s16_kernel(index));
  const int32_t items = parts.items(p), slots = items < context.width ? items : context.width;
  return set_sizes(node, 0, slots * parts.slot_bytes, plan);
}

namespace {

Error plan_s16(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_ends_s16(node));
  ITG_TRY(check_input_s16(node, 1));
  ITG_TRY(check_matrices(node));
  const Product p = product_of(node);
  if (p.k > kMatmulS16Depths) return node.error(Status::kAccumulatorOverflow, 0, kMatmulS16Depths);
  if (!(product_multiplier(node) <= FLT_MAX)) return node.error(Status::kBadAttribute, 1);
  return size_batch_mat_mul_s16(node, context, plan);
}

void run_s16(const NodeView& node, const NodeRun& run) {
  const MatmulS16Kernel& kernel = matmul_s16_kernel(run.kernel);
  const Shape a_shape = node.input_shape(0), b_shape = node.input_shape(1), y_shape = node.output_shape();
  const Product p = product_of(node);
  const PartsS16 parts(p, kernel);
  const auto* const a = run.input<int16_t>(node, 0);
  const auto* const b = run.input<int16_t>(node, 1);
  auto* const y = run.output<int16_t>(node);
  const ptrdiff_t m = p.m, n = p.n, k = p.k;
  const ptrdiff_t depth_stride = p.transposed ? 1 : n, column_stride = p.transposed ? k : 1;
  const float multiplier = product_multiplier(node);
  for_ranges(*run.executor, parts.items(p), [&](int32_t slot, int32_t first, int32_t last) {
    auto* const panel = reinterpret_cast<int16_t*>(run.scratch + slot * parts.slot_bytes);
    for (int32_t item = first; item < last; ++item) {
      const int32_t batch = item / parts.panels, column = item % parts.panels * kernel.nr;
      const ptrdiff_t a_matrix = p.one_matrix ? 0 : matrix_of(batch, y_shape, a_shape);
      const ptrdiff_t b_matrix = p.one_matrix ? 0 : matrix_of(batch, y_shape, b_shape);
      const int32_t columns = p.n - column < kernel.nr ? p.n - column : kernel.nr;
      matmul_s16_pack(kernel, b + b_matrix * k * n + column * column_stride, depth_stride, column_stride,
                      columns, p.k, panel);
      kernel.function({a + a_matrix * m * k, panel, y + batch * m * n + column, k, n, multiplier,
                       make_output_s16(-32768, 32767), p.m, columns, p.k});
    }
  });
}

const char* kernel_name(uint16_t kernel) { return matmul_s16_kernel(kernel).name; }

}  // namespace

extern const OpRun kBatchMatMulS16Run;
const OpRun kBatchMatMulS16Run = {run_s16};

extern const OpDef kBatchMatMulS16;
const OpDef kBatchMatMulS16 = {Op::kBatchMatMul, DType::kS16,         -1,         {}, plan_s16,
                               nullptr,          &kBatchMatMulS16Run, kernel_name};

}  // namespace intaglio

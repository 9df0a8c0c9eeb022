// Products of matrices that are both activations: y[..., m, n] = a[..., m, k] * b[..., k, n], FP32. The axes before the
// matrices are aligned at the last of them and repeated as in broadcast.h. b may stand transposed, [..., n, k].
//
// A part of b's columns is packed into scratch as the gemm's kernels read weights, and then meets all rows of a.
#include "kernels/gemm/gemm_f32.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/conv_geometry.h"

namespace intaglio {
namespace {

constexpr ClampF32 kNoClamp = {-__builtin_inff(), __builtin_inff()};

struct Product {
  int32_t batches, m, n, k;
  bool transposed;  // b is [n, k]
  bool one_matrix;  // b is the same for all batches, which are one then, with all rows of a
};

Product product_of(const NodeView& node) {
  const Shape a = node.input(0).shape, b = node.input(1).shape, y = node.output().shape;
  Product p;
  p.transposed = node.options<BatchMatMulOptions>().transpose_b;
  p.m = y.back(1);
  p.n = y.back(0);
  p.k = a.back(0);
  p.batches = static_cast<int32_t>(y.elements(0, y.rank - 2));
  p.one_matrix = b.elements(0, b.rank - 2) == 1;
  if (p.one_matrix) {
    p.m *= p.batches;
    p.batches = 1;
  }
  return p;
}

// How the columns of all batches are cut: an item is `columns` of one batch, at a panel's border.
struct Parts {
  int32_t columns;  // of an item, but for a batch's last one
  int32_t count;    // in a batch
  int64_t table_bytes, slot_bytes;

  int32_t items(const Product& p) const { return p.batches * count; }
  int32_t slots(const Product& p, int32_t width) const { return items(p) < width ? items(p) : width; }
};

Parts parts_of(const Product& p, const GemmF32Kernel& kernel, int32_t width) {
  // What stays near while the rows go by. Without panels a column is used up row by row, and memory counts.
  constexpr int64_t kNearFloats = 65536, kNearPlainFloats = 1024;
  constexpr int64_t kTableEntryBytes = 8;  // on every machine: a host's figure holds for all
  const int32_t panels = (p.n + kernel.nr - 1) / kernel.nr;
  const bool in_place = !kernel.packs && p.transposed;
  const int64_t near = (kernel.packs ? kNearFloats : kNearPlainFloats) / (int64_t{p.k} * kernel.nr);
  int32_t each = in_place || near > panels ? panels : near > 1 ? static_cast<int32_t>(near) : 1;
  const int32_t wanted = (width + p.batches - 1) / p.batches;  // so that every thread has one
  const int32_t share = (panels + wanted - 1) / wanted;
  if (each > share) each = share;
  Parts parts;
  parts.columns = each * kernel.nr;
  parts.count = (panels + each - 1) / each;
  const auto aligned = [](int64_t bytes) { return (bytes + 63) & ~int64_t{63}; };
  parts.table_bytes = aligned(kernel.mr * kTableEntryBytes);
  parts.slot_bytes = parts.table_bytes + (in_place ? 0 : aligned(int64_t{parts.columns} * p.k * 4));
  return parts;
}

Error check_matrices(const NodeView& node) {
  const Shape a = node.input(0).shape, b = node.input(1).shape, y = node.output().shape;
  for (const int32_t i : {0, 1})
    if (node.input(i).shape.rank < 2)
      return node.input_error(Status::kBadRank, i, node.input(i).shape.rank, 2);
  const int32_t rank = a.rank > b.rank ? a.rank : b.rank;
  ITG_TRY(check_output_rank(node, rank));
  const bool transposed = node.options<BatchMatMulOptions>().transpose_b;
  const int32_t depth = b.back(transposed ? 0 : 1), columns = b.back(transposed ? 1 : 0);
  if (depth != a.back(0)) return node.input_error(Status::kShapeMismatch, 1, depth, a.back(0));
  if (y.back(1) != a.back(1)) return node.output_error(Status::kShapeMismatch, 0, y.back(1), a.back(1));
  if (y.back(0) != columns) return node.output_error(Status::kShapeMismatch, 0, y.back(0), columns);
  for (int32_t i = 2; i < rank; ++i) {
    const int32_t p = i < a.rank ? a.back(i) : 1, q = i < b.rank ? b.back(i) : 1;
    if (p != q && p != 1 && q != 1) return node.input_error(Status::kShapeMismatch, 1, q, p);
    const int32_t expected = p == 1 ? q : p;
    if (y.back(i) != expected) return node.output_error(Status::kShapeMismatch, 0, y.back(i), expected);
  }
  return kNoError;
}

Error plan(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_input_dtype(node, 1, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_matrices(node));
  const int32_t index = gemm_f32_select(context.isa);
  plan->kernel = static_cast<uint16_t>(index);
  const Product p = product_of(node);
  const Parts parts = parts_of(p, gemm_f32_kernel(index), context.width);
  return set_sizes(node, 0, parts.slots(p, context.width) * parts.slot_bytes, plan);
}

// Where the matrix of a batch begins, in matrices of this operand.
int32_t matrix_of(int32_t batch, const Shape& y, const Shape& operand) {
  int32_t index = 0, step = 1;
  for (int32_t i = 2; i < operand.rank; ++i) {
    const int32_t dim = operand.back(i);
    if (dim != 1) index += batch % y.back(i) * step;
    step *= dim;
    batch /= y.back(i);
  }
  return index;
}

void run(const NodeView& node, const NodeRun& run) {
  const GemmF32Kernel& kernel = gemm_f32_kernel(run.kernel);
  const Shape a_shape = node.input(0).shape, b_shape = node.input(1).shape, y_shape = node.output().shape;
  const Product p = product_of(node);
  const int32_t width = executor_width(*run.executor);
  const Parts parts = parts_of(p, kernel, width);
  const auto* const a = run.input<float>(node, 0);
  const auto* const b = run.input<float>(node, 1);
  auto* const y = run.output<float>(node);
  const ptrdiff_t m = p.m, n = p.n, k = p.k;
  for_ranges(*run.executor, parts.items(p), [&](int32_t slot, int32_t first, int32_t last) {
    uint8_t* const memory = run.scratch + slot * parts.slot_bytes;
    auto** const rows = reinterpret_cast<const float**>(memory);
    auto* const packed = reinterpret_cast<float*>(memory + parts.table_bytes);
    for (int32_t item = first; item < last; ++item) {
      const int32_t batch = item / parts.count, column = item % parts.count * parts.columns;
      const ptrdiff_t a_matrix = p.one_matrix ? 0 : matrix_of(batch, y_shape, a_shape);
      const ptrdiff_t b_matrix = p.one_matrix ? 0 : matrix_of(batch, y_shape, b_shape);
      const float* const b_columns = b + b_matrix * k * n + column * (p.transposed ? k : 1);
      GemmF32Args args = {};
      args.n = p.n - column < parts.columns ? p.n - column : parts.columns;
      args.rows = rows;
      args.weights = packed;
      if (!p.transposed)
        gemm_f32_pack_rows(kernel, b_columns, n, args.n, p.k, packed);
      else if (kernel.packs)
        gemm_f32_pack(kernel, b_columns, args.n, 1, p.k, packed);
      else
        args.weights = b_columns;
      args.output_stride = static_cast<size_t>(n);
      args.clamp = kNoClamp;
      args.taps = 1;
      args.k = p.k;
      for (int32_t row = 0; row < p.m; row += kernel.mr) {
        args.m = p.m - row < kernel.mr ? p.m - row : kernel.mr;
        for (int32_t r = 0; r < args.m; ++r) rows[r] = a + (a_matrix * m + row + r) * k;
        args.output = y + (batch * m + row) * n + column;
        kernel.function(args);
      }
    }
  });
}

const char* kernel_name(uint16_t kernel) { return gemm_f32_kernel(kernel).name; }

}  // namespace

extern const OpRun kBatchMatMulF32Run;
const OpRun kBatchMatMulF32Run = {run};

extern const OpDef kBatchMatMulF32;
const OpDef kBatchMatMulF32 = {Op::kBatchMatMul, DType::kF32,         -1,         {}, plan,
                               nullptr,          &kBatchMatMulF32Run, kernel_name};

}  // namespace intaglio

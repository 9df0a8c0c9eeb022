// Products of matrices that are both activations: y[..., m, n] = scale * a[..., m, k] * b[..., k, n]. The axes before the
// matrices are aligned at the last of them and repeated as in broadcast.h. b may stand transposed, [..., n, k].
//
// A part of b's columns is packed into scratch as the gemm's kernels read weights, and then meets all rows of a.
//
// In int8 these weights are b - z_b, which may need nine bits. A kernel takes eight. So each is a sum of up to three
// weights, a tap each, and all taps read the same row of a. Mostly one tap is enough: only where z_b is not 0 and a code
// lies far on its other side there are more. z_a goes into the bias, as a convolution's does.
#include <cfloat>

#include "kernels/arithmetic/constant_checks.h"
#include "kernels/arithmetic/output_f32.h"
#include "kernels/copy/strided_copy.h"
#include "kernels/gemm/centred_codes.h"
#include "kernels/gemm/gemm_f32.h"
#include "kernels/gemm/gemm_s8_windows.h"
#include "runtime/ops/batch_product.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/conv_geometry.h"

namespace intaglio {
namespace {

constexpr int64_t kTableEntryBytes = 8;  // of rows, on every machine: a host's figure holds for all

// How the columns of all batches are cut: an item is `columns` of one batch, at a panel's border.
struct Parts {
  int32_t columns;  // of an item, but for a batch's last one
  int32_t count;    // in a batch

  int32_t items(const Product& p) const { return p.batches * count; }
  int32_t slots(const Product& p, int32_t width) const { return items(p) < width ? items(p) : width; }
};

// nr: columns of a panel; packs: there are panels, else columns, which may stand where they are; column_bytes: of a copy.
Parts cut_columns(const Product& p, int32_t nr, bool packs, bool in_place, int64_t column_bytes,
                  int32_t width) {
  // Bytes that stay in the cache while the rows go by. Without panels a column is used up row by row, and memory counts.
  constexpr int64_t kNearBytes = 262144, kNearPlainBytes = 4096;
  const int32_t panels = (p.n + nr - 1) / nr;
  const int64_t near = (packs ? kNearBytes : kNearPlainBytes) / (column_bytes * nr);
  int32_t each = in_place || near > panels ? panels : near > 1 ? static_cast<int32_t>(near) : 1;
  const int32_t wanted = (width + p.batches - 1) / p.batches;  // so that every thread has one
  const int32_t share = (panels + wanted - 1) / wanted;
  if (each > share) each = share;
  return {each * nr, (panels + each - 1) / each};
}

struct PartsF32 : Parts {
  int64_t table_bytes, slot_bytes;
};

PartsF32 parts_f32(const Product& p, const GemmF32Kernel& kernel, int32_t width) {
  const bool in_place = !kernel.packs && p.transposed;
  PartsF32 parts;
  static_cast<Parts&>(parts) = cut_columns(p, kernel.nr, kernel.packs, in_place, int64_t{p.k} * 4, width);
  parts.table_bytes = aligned_scratch(kernel.mr * kTableEntryBytes);
  parts.slot_bytes = parts.table_bytes + (in_place ? 0 : aligned_scratch(int64_t{parts.columns} * p.k * 4));
  return parts;
}

// Taps that hold each number from least to most as a sum of codes.
int32_t taps_for(int32_t least, int32_t most) {
  int32_t taps = 1;
  while (least < -128 * taps || most > 127 * taps) ++taps;
  return taps;
}

// A slot of scratch: [rows | biases | multipliers | columns | panels | the kernel's own].
struct PartsS8 : Parts {
  int32_t taps;   // at most
  bool in_place;  // columns are read where they stand, in b
  int64_t biases, multipliers, columns_at, panels, kernel_scratch, slot_bytes;
};

PartsS8 parts_s8(const Product& p, const GemmS8Kernel& kernel, int32_t zero_point, int32_t width) {
  PartsS8 parts;
  parts.taps = taps_for(-128 - zero_point, 127 - zero_point);
  parts.in_place = p.transposed && zero_point == 0;
  const int64_t column_bytes = int64_t{parts.taps} * p.k;
  static_cast<Parts&>(parts) =
      cut_columns(p, kernel.nr, kernel.packs, parts.in_place && !kernel.packs, column_bytes, width);
  parts.biases = kernel.packs ? aligned_scratch(kTableEntryBytes * parts.taps * kernel.mr) : 0;
  parts.multipliers = parts.biases + aligned_scratch(int64_t{4} * parts.columns);
  parts.columns_at = parts.multipliers + aligned_scratch(int64_t{4} * parts.columns);
  const int32_t plain = parts.in_place ? 0 : kernel.packs ? kernel.nr : parts.columns;
  parts.panels = parts.columns_at + aligned_scratch(column_bytes * plain);
  parts.kernel_scratch =
      parts.panels + aligned_scratch(gemm_s8_packed_bytes(kernel, parts.columns, parts.taps, p.k));
  // Fewer taps may take more: a kernel then has room for more rows at once.
  int64_t own = 0;
  for (int32_t taps = 1; taps <= parts.taps; ++taps) {
    const int64_t bytes = gemm_s8_scratch_bytes(kernel, p.m, taps, p.k);
    if (bytes > own) own = bytes;
  }
  parts.slot_bytes = parts.kernel_scratch + own;
  return parts;
}

Error size_s8(const NodeView& node, const Product& p, int32_t zero_point, const PlanContext& context,
              NodePlan* plan) {
  const int32_t index = gemm_s8_select(context.isa);
  plan->kernel = static_cast<uint16_t>(index);
  const PartsS8 parts = parts_s8(p, gemm_s8_kernel(index), zero_point, context.width);
  return set_sizes(node, 0, parts.slots(p, context.width) * parts.slot_bytes, plan);
}

Error plan_s8(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_input_s8(node, 1));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_matrices(node));
  constexpr int32_t kMaxTerms = INT32_MAX / (255 * 255);
  const Product p = product_of(node);
  if (p.k > kMaxTerms) return node.error(Status::kAccumulatorOverflow, 0, kMaxTerms);
  if (!(product_multiplier(node) <= FLT_MAX)) return node.error(Status::kBadAttribute, 1);
  return size_s8(node, p, node.input_zero_point(1), context, plan);
}

Error plan_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_input_dtype(node, 1, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_matrices(node));
  const int32_t index = gemm_f32_select(context.isa);
  plan->kernel = static_cast<uint16_t>(index);
  const Product p = product_of(node);
  const PartsF32 parts = parts_f32(p, gemm_f32_kernel(index), context.width);
  return set_sizes(node, 0, parts.slots(p, context.width) * parts.slot_bytes, plan);
}

// Columns of b, from `b` on, as gemm_s8.h has plain weights.
class ColumnsS8 {
 public:
  ColumnsS8(const Product& p, const PartsS8& parts, int32_t zero_point)
      : p_(p), parts_(parts), zero_point_(zero_point) {}

  // Taps that `columns` of them take.
  int32_t taps(const int8_t* b, int32_t columns) const {
    if (parts_.taps == 1) return 1;
    const CodeRange range =
        p_.transposed ? range_of_codes(b, columns, p_.k, p_.k) : range_of_codes(b, p_.k, columns, p_.n);
    return taps_for(range.least - zero_point_, range.most - zero_point_);
  }

  // [columns][taps][k], in `memory` or in place.
  const int8_t* plain(const int8_t* b, int32_t columns, int32_t taps, int8_t* memory) const {
    if (parts_.in_place) return b;
    const ptrdiff_t k = p_.k;
    // The codes go to the end, and are taken apart from the front on: what is written has been read.
    int8_t* const codes = memory + columns * (taps - 1) * k;
    if (p_.transposed) {
      memcpy(codes, b, static_cast<size_t>(columns * k));
    } else {
      const Permutation swap = {2, {columns, p_.k}, {1, p_.n}};
      permute_8(swap, reinterpret_cast<const uint8_t*>(b), reinterpret_cast<uint8_t*>(codes), 0, columns);
    }
    if (zero_point_ == 0) return memory;
    for (int32_t c = 0; c < columns; ++c)
      take_codes_apart(codes + c * k, p_.k, zero_point_, taps, memory + c * taps * k);
    return memory;
  }

 private:
  const Product& p_;
  const PartsS8& parts_;
  int32_t zero_point_;
};

void run_s8(const NodeView& node, const NodeRun& run) {
  const GemmS8Kernel& kernel = gemm_s8_kernel(run.kernel);
  const TensorInfo a_info = node.input(0), b_info = node.input(1), y_info = node.output();
  const Quantization of_a = a_info.quantization, of_b = b_info.quantization, of_y = y_info.quantization;
  const Product p = product_of(node);
  const PartsS8 parts = parts_s8(p, kernel, of_b.zero_point, executor_width(*run.executor));
  const ColumnsS8 right(p, parts, of_b.zero_point);
  const float multiplier = product_multiplier(node);
  const auto* const a = run.input<int8_t>(node, 0);
  const auto* const b = run.input<int8_t>(node, 1);
  auto* const y = run.output<int8_t>(node);
  const ptrdiff_t m = p.m, n = p.n, k = p.k;
  for_ranges(*run.executor, parts.items(p), [&](int32_t slot, int32_t first, int32_t last) {
    uint8_t* const memory = run.scratch + slot * parts.slot_bytes;
    auto** const rows = reinterpret_cast<const int8_t**>(memory);
    auto* const biases = reinterpret_cast<int32_t*>(memory + parts.biases);
    auto* const multipliers = reinterpret_cast<float*>(memory + parts.multipliers);
    auto* const columns = reinterpret_cast<int8_t*>(memory + parts.columns_at);
    uint8_t* const panels = memory + parts.panels;
    for (int32_t c = 0; c < parts.columns; ++c) multipliers[c] = multiplier;
    for (int32_t item = first; item < last; ++item) {
      const int32_t batch = item / parts.count, column = item % parts.count * parts.columns;
      const ptrdiff_t a_matrix = p.one_matrix ? 0 : matrix_of(batch, y_info.shape, a_info.shape);
      const ptrdiff_t b_matrix = p.one_matrix ? 0 : matrix_of(batch, y_info.shape, b_info.shape);
      const int8_t* const from = b + b_matrix * k * n + column * (p.transposed ? k : 1);
      GemmS8Args args = {};
      args.n = p.n - column < parts.columns ? p.n - column : parts.columns;
      args.taps = right.taps(from, args.n);
      args.k = p.k;
      args.weights = panels;
      const int64_t panel_bytes = gemm_s8_packed_bytes(kernel, kernel.nr, args.taps, p.k);
      const int32_t step = kernel.packs ? kernel.nr : args.n;
      for (int32_t c = 0; c < args.n; c += step) {
        const int32_t count = args.n - c < step ? args.n - c : step;
        const int8_t* const plain = right.plain(from + c * (p.transposed ? k : 1), count, args.taps, columns);
        const ptrdiff_t length = args.taps * k;
        for (int32_t i = 0; i < count; ++i)
          biases[c + i] =
              static_cast<int32_t>(-of_a.zero_point * sum_weights(plain + i * length, length).sum);
        if (kernel.packs)
          gemm_s8_pack(kernel, {plain, biases + c, multipliers, count, args.taps, p.k, true},
                       panels + c / kernel.nr * panel_bytes);
        else
          args.weights = plain;
      }
      args.folded_bias = biases;
      args.multiplier = multipliers;
      args.output_stride = static_cast<size_t>(n);
      args.scratch = memory + parts.kernel_scratch;
      args.requant = make_output_s8(of_y.zero_point, -128, 127);
      if (!kPacksWeights || !kernel.packs) {
        // A line of pixels, of which each tap is the same.
        const GemmS8Windows windows = {1, p.m, p.k, 1, p.m, args.taps, 1, 1, 1, 0, 1, 0, 0, 0};
        args.first_row = a + a_matrix * m * k;
        args.windows = &windows;
        args.m = p.m;
        args.output = y + batch * m * n + column;
        gemm_s8_windows(kernel.isa)(args);
        continue;
      }
      args.rows = rows;
      for (int32_t row = 0; row < p.m; row += kernel.mr) {
        args.m = p.m - row < kernel.mr ? p.m - row : kernel.mr;
        const int8_t* const top = a + (a_matrix * m + row) * k;
        for (int32_t t = 0; t < args.taps; ++t) {
          const int8_t** const of_tap = rows + t * kernel.mr;
          for (int32_t r = 0; r < args.m; ++r) of_tap[r] = top + r * k;
          for (int32_t r = args.m; r % kernel.row_multiple != 0; ++r) of_tap[r] = top;
        }
        args.output = y + (batch * m + row) * n + column;
        kernel.function(args);
      }
    }
  });
}

void run_f32(const NodeView& node, const NodeRun& run) {
  const GemmF32Kernel& kernel = gemm_f32_kernel(run.kernel);
  const Shape a_shape = node.input_shape(0), b_shape = node.input_shape(1), y_shape = node.output_shape();
  const Product p = product_of(node);
  const int32_t width = executor_width(*run.executor);
  const PartsF32 parts = parts_f32(p, kernel, width);
  const auto* const a = run.input<float>(node, 0);
  const auto* const b = run.input<float>(node, 1);
  auto* const y = run.output<float>(node);
  const float scale = node.options<BatchMatMulOptions>().scale;
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
        if (scale == 1.0f) continue;
        for (int32_t r = 0; r < args.m; ++r)
          for (int32_t c = 0; c < args.n; ++c)
            args.output[r * n + c] = canonical_f32(args.output[r * n + c] * scale);
      }
    }
  });
}

const char* kernel_name_s8(uint16_t kernel) { return gemm_s8_kernel(kernel).name; }
const char* kernel_name_f32(uint16_t kernel) { return gemm_f32_kernel(kernel).name; }

}  // namespace

Error size_batch_mat_mul_s8(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  const Product p = product_of(node);
  ITG_TRY(size_s8(node, p, 0, context, plan));
  NodePlan farthest;  // two codes hold the difference from this zero point
  ITG_TRY(size_s8(node, p, -128, context, &farthest));
  if (farthest.scratch_bytes > plan->scratch_bytes) plan->scratch_bytes = farthest.scratch_bytes;
  return kNoError;
}

extern const OpRun kBatchMatMulS8Run, kBatchMatMulF32Run;
const OpRun kBatchMatMulS8Run = {run_s8}, kBatchMatMulF32Run = {run_f32};

extern const OpDef kBatchMatMulS8, kBatchMatMulF32;
const OpDef kBatchMatMulS8 = {Op::kBatchMatMul,   DType::kS8,    -1, {}, plan_s8, nullptr,
                              &kBatchMatMulS8Run, kernel_name_s8};
const OpDef kBatchMatMulF32 = {Op::kBatchMatMul,    DType::kF32,    -1, {}, plan_f32, nullptr,
                               &kBatchMatMulF32Run, kernel_name_f32};

}  // namespace intaglio

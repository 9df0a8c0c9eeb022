// Runs a strided copy of a tensor's elements, of 1, 2 or 4 bytes, in pieces.
#include "kernels/copy/strided_copy.h"
#include "runtime/op.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {

// Elements from one index of each axis to the next.
inline void row_major_strides(const Shape& shape, int32_t* strides) {
  int32_t stride = 1;
  for (int32_t i = shape.rank - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= shape[i];
  }
}

template <typename T>
void run_strided_copy(const NodeRun& run, const StridedCopy& copy, const T* x, T* y) {
  int64_t elements = 1;
  for (int32_t i = 1; i < copy.rank; ++i) elements *= copy.dims[i];
  for_pieces(*run.executor, copy.dims[0], elements, [&](int32_t first, int32_t count) {
    if constexpr (sizeof(T) == 1) {
      strided_copy_8(copy, x, y, first, first + count);
    } else if constexpr (sizeof(T) == 2) {
      strided_copy_16(copy, x, y, first, first + count);
    } else {
      strided_copy_32(copy, x, y, first, first + count);
    }
  });
}

// Output index i of an axis is input index begin + i * stride. A stride below 0 walks back.

namespace {

Error check_slice(const NodeView& node) {
  const StridedSliceOptions& o = node.options<StridedSliceOptions>();
  const Shape in = node.input_shape(0), out = node.output_shape();
  ITG_TRY(check_output_rank(node, in.rank));
  for (const Span<const int32_t>& list : {o.begin, o.strides})
    if (list.size != static_cast<size_t>(in.rank))
      return node.error(Status::kBadRank, static_cast<int64_t>(list.size), in.rank);
  for (int32_t i = 0; i < in.rank; ++i) {
    const int32_t first = o.begin[static_cast<size_t>(i)], stride = o.strides[static_cast<size_t>(i)];
    if (stride == 0) return node.error(Status::kBadStride, 0, in[i]);
    const int64_t last = first + int64_t{stride} * (out[i] - 1);
    for (const int64_t index : {int64_t{first}, last})
      if (index < 0 || index >= in[i]) return node.input_error(Status::kBadSlice, 0, index, in[i]);
  }
  return kNoError;
}

Error plan_s8(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_same_quantization(node));
  return check_slice(node);
}

Error plan_s16(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_move_s16(node));
  return check_slice(node);
}

Error plan_f32(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  return check_slice(node);
}

template <typename T>
void run_slice(const NodeView& node, const NodeRun& run) {
  const StridedSliceOptions& o = node.options<StridedSliceOptions>();
  const Shape in = node.input_shape(0), out = node.output_shape();
  int32_t x_strides[kMaxRank], y_strides[kMaxRank];
  row_major_strides(in, x_strides);
  row_major_strides(out, y_strides);
  ptrdiff_t start = 0;
  for (int32_t i = 0; i < in.rank; ++i) {
    start += static_cast<ptrdiff_t>(o.begin[static_cast<size_t>(i)]) * x_strides[i];
    // Where an axis gives one element its step is never taken, whatever the stride.
    x_strides[i] = out[i] > 1 ? x_strides[i] * o.strides[static_cast<size_t>(i)] : 0;
  }
  run_strided_copy<T>(run, make_strided_copy(out.dims, x_strides, y_strides, out.rank),
                      run.input<T>(node, 0) + start, run.output<T>(node));
}

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.output = OutputRule::kSameAsInput;
  rule.sign = SignRule::kKeeps;
  return rule;
}

}  // namespace

extern const OpRun kStridedSliceS8Run, kStridedSliceS16Run, kStridedSliceF32Run;
const OpRun kStridedSliceS8Run = {run_slice<uint8_t>}, kStridedSliceS16Run = {run_slice<uint16_t>},
            kStridedSliceF32Run = {run_slice<uint32_t>};

extern const OpDef kStridedSliceS8, kStridedSliceS16, kStridedSliceF32;
const OpDef kStridedSliceS8 = {Op::kStridedSlice, DType::kS8,          -1,     quant_rule(), plan_s8,
                               nullptr,           &kStridedSliceS8Run, nullptr};
const OpDef kStridedSliceS16 = {Op::kStridedSlice, DType::kS16,          -1,     quant_rule(), plan_s16,
                                nullptr,           &kStridedSliceS16Run, nullptr};
const OpDef kStridedSliceF32 = {Op::kStridedSlice, DType::kF32,          -1,     quant_rule(), plan_f32,
                                nullptr,           &kStridedSliceF32Run, nullptr};

}  // namespace intaglio

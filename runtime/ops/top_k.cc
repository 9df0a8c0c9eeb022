// Indices of the greatest elements of an axis, or of the least, in their order: [.., n, ..] to s32 [.., k, ..]. Of equal
// elements the first comes first, as in onnxruntime and TFLite, unless the options say otherwise. NaN is greater and less
// than nothing. With k = 1 this is ArgMax; it takes n * k comparisons at most.
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

Error check_top_k(const NodeView& node) {
  const Shape in = node.input_shape(0), out = node.output_shape();
  const int32_t axis = node.options<TopKOptions>().axis;
  if (axis < 0 || axis >= in.rank) return node.error(Status::kBadAxis, axis, in.rank);
  ITG_TRY(check_output_dtype(node, DType::kS32));
  ITG_TRY(check_output_rank(node, in.rank));
  for (int32_t i = 0; i < in.rank; ++i)
    if (i == axis ? out[i] > in[i] : out[i] != in[i])
      return node.output_error(Status::kShapeMismatch, 0, out[i], in[i]);
  return kNoError;
}

Error plan_s8(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_s8(node, 0));
  return check_top_k(node);
}

Error plan_f32(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  return check_top_k(node);
}

// One row of n elements, `inner` apart, as its indices are.
template <typename T, typename Before>
void select(const T* x, int32_t* y, int32_t n, int32_t k, size_t inner, Before before) {
  const auto at = [inner](int32_t i) { return static_cast<size_t>(i) * inner; };
  int32_t held = 0;
  for (int32_t i = 0; i < n; ++i) {
    const T value = x[at(i)];
    if (held == k && !before(value, x[at(y[at(k - 1)])])) continue;
    int32_t place = held < k ? held++ : k - 1;
    for (; place > 0 && before(value, x[at(y[at(place - 1)])]); --place) y[at(place)] = y[at(place - 1)];
    y[at(place)] = i;
  }
}

template <typename T>
void run_as(const NodeView& node, const NodeRun& run) {
  const Shape in = node.input_shape(0);
  const TopKOptions options = node.options<TopKOptions>();
  const int32_t n = in[options.axis], k = node.output_shape()[options.axis];
  const auto inner = static_cast<size_t>(in.elements(options.axis + 1, in.rank));
  const auto* const x = run.input<T>(node, 0);
  auto* const y = run.output<int32_t>(node);
  for_pieces(*run.executor, in.elements() / n, n, [&](int32_t first, int32_t count) {
    for (int32_t i = first; i < first + count; ++i) {
      const size_t outer = static_cast<size_t>(i) / inner, column = static_cast<size_t>(i) % inner;
      const T* const row = x + outer * static_cast<size_t>(n) * inner + column;
      int32_t* const found = y + outer * static_cast<size_t>(k) * inner + column;
      select(row, found, n, k, inner, [&options](T a, T b) {
        return options.smallest ? a < b || (options.last_of_equal && a == b)
                                : a > b || (options.last_of_equal && a == b);
      });
    }
  });
}

}  // namespace

extern const OpRun kTopKS8Run, kTopKF32Run;
const OpRun kTopKS8Run = {run_as<int8_t>}, kTopKF32Run = {run_as<float>};

extern const OpDef kTopKS8, kTopKF32;
const OpDef kTopKS8 = {Op::kTopK, DType::kS32, -1, {}, plan_s8, nullptr, &kTopKS8Run, nullptr, DType::kS8};
const OpDef kTopKF32 = {Op::kTopK, DType::kS32,  -1,      {},         plan_f32,
                        nullptr,   &kTopKF32Run, nullptr, DType::kF32};

}  // namespace intaglio

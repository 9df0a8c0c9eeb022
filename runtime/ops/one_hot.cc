// Indices of s32 to rows of FP32 along one more axis: `on` at the index, `off` elsewhere. An index that does not exist
// gives a row of `off`.
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

Error plan(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kS32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  const Shape in = node.input_shape(0), out = node.output_shape();
  const int32_t axis = node.options<OneHotOptions>().axis;
  if (axis < 0 || axis > in.rank) return node.error(Status::kBadAxis, axis, in.rank + 1);
  ITG_TRY(check_output_rank(node, in.rank + 1));
  for (int32_t i = 0; i < in.rank; ++i)
    if (out[i < axis ? i : i + 1] != in[i])
      return node.output_error(Status::kShapeMismatch, 0, out[i < axis ? i : i + 1], in[i]);
  return kNoError;
}

void run(const NodeView& node, const NodeRun& run) {
  const Shape out = node.output_shape();
  const OneHotOptions options = node.options<OneHotOptions>();
  const int32_t depth = out[options.axis];
  const auto inner = static_cast<size_t>(out.elements(options.axis + 1, out.rank));
  const auto* const x = run.input<int32_t>(node, 0);
  auto* const y = run.output<float>(node);
  for_pieces(*run.executor, out.elements(), 1, [&](int32_t first, int32_t count) {
    for (int32_t i = first; i < first + count; ++i) {
      const size_t row = static_cast<size_t>(i) / inner, column = static_cast<size_t>(i) % inner;
      const auto place = static_cast<int32_t>(row % static_cast<size_t>(depth));
      int32_t index = x[row / static_cast<size_t>(depth) * inner + column];
      if (options.from_end && index < 0) index += depth;
      y[i] = index == place ? options.on : options.off;
    }
  });
}

}  // namespace

extern const OpRun kOneHotF32Run;
const OpRun kOneHotF32Run = {run};

extern const OpDef kOneHotF32;
const OpDef kOneHotF32 = {Op::kOneHot, DType::kF32,    -1,      {},         plan,
                          nullptr,     &kOneHotF32Run, nullptr, DType::kS32};

}  // namespace intaglio

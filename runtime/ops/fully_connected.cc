// Fully connected layer: x of rank 2 or more, read as [m, k]; weights [oc, k]. Codes to codes, reals to
// reals, or codes to reals. There the weights of a few rows are read in place and nothing is kept.
#include "kernels/gemm/gemm_s8_f32.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/conv_checks.h"
#include "runtime/ops/conv_gemm.h"
#include "runtime/ops/split.h"

namespace intaglio {

ConvGeometry fully_connected_geometry(const NodeView& node) {
  const int32_t* const w = node.input_shape(kWeightInput).dims;
  ConvGeometry g;
  g.ic = w[1];
  g.oc = w[0];
  g.images = static_cast<int32_t>(node.input_shape(0).elements()) / g.ic;
  return g;
}

bool reads_weights_in_place(const ConvGeometry& g) {
  constexpr int32_t kFewRows = 4;
  return !kPacksWeights || g.images <= kFewRows;
}

namespace {

constexpr auto geometry = fully_connected_geometry;

Error check_geometry(const NodeView& node) {
  const Shape in = node.input_shape(0), out = node.output_shape();
  if (in.rank < 2) return node.input_error(Status::kBadRank, 0, in.rank, 2);
  ITG_TRY(check_input_rank(node, kWeightInput, 2));
  if (out.rank < 2) return node.output_error(Status::kBadRank, 0, out.rank, 2);
  const Shape w = node.input_shape(kWeightInput);
  const auto elements = static_cast<int32_t>(in.elements());  // of a tensor: below 2^31
  if (elements % w[1] != 0) return node.input_error(Status::kShapeMismatch, kWeightInput, w[1], in.back(0));
  if (out.back(0) != w[0]) return node.output_error(Status::kShapeMismatch, 0, out.back(0), w[0]);
  const int32_t m = elements / w[1], out_m = static_cast<int32_t>(out.elements()) / w[0];
  return out_m == m ? kNoError : node.output_error(Status::kShapeMismatch, 0, out_m, m);
}

Error plan_s8(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 3));
  ITG_TRY(check_geometry(node));
  ITG_TRY(check_conv_s8(node, 0));
  return plan_gemm_s8(node, geometry(node), context, plan);
}

Error plan_s16(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 3));
  ITG_TRY(check_geometry(node));
  ITG_TRY(check_conv_s16(node, 0));
  return plan_gemm_s16(node, geometry(node), context, plan);
}

// Codes to reals: kernels of gemv_s8_f32 for a few rows, and where nothing packs; of gemm_s8_f32, numbered behind them, for
// more.
constexpr int32_t kFirstOfGemm = kFamilyNumbers;
bool is_gemm_s8_f32(uint16_t kernel) { return kPacksWeights && kernel >= kFirstOfGemm; }

Error plan_s8_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 3));
  ITG_TRY(check_geometry(node));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_no_clamp(node));
  if (!reads_weights_in_place(geometry(node))) {
    ITG_TRY(check_weights_s8(node, 0, 1.0f));
    ITG_TRY(plan_gemm_s8_f32(node, geometry(node), context, plan));
    plan->kernel = static_cast<uint16_t>(plan->kernel + kFirstOfGemm);
    return kNoError;
  }
  plan->kernel = static_cast<uint16_t>(gemv_s8_f32_select(context.isa));
  return check_weights_s8(node, 0, 1.0f);
}

Error plan_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 3));
  ITG_TRY(check_geometry(node));
  ITG_TRY(check_conv_f32(node, 0, false));
  return plan_gemm_f32(node, geometry(node), context, plan);
}

void prepare_s8(const NodeView& node, uint16_t kernel, uint8_t* persistent) {
  prepare_gemm_s8(node, geometry(node), kernel, persistent);
}
void prepare_s8_f32(const NodeView& node, uint16_t kernel, uint8_t* persistent) {
  if (is_gemm_s8_f32(kernel))
    prepare_gemm_s8_f32(node, geometry(node), static_cast<uint16_t>(kernel - kFirstOfGemm), persistent);
}
void prepare_s16(const NodeView& node, uint16_t kernel, uint8_t* persistent) {
  prepare_gemm_s16(node, geometry(node), kernel, persistent);
}
void prepare_f32(const NodeView& node, uint16_t kernel, uint8_t* persistent) {
  prepare_gemm_f32(node, geometry(node), kernel, persistent);
}
void run_s8(const NodeView& node, const NodeRun& run) {
  run_gemm_s8(node, geometry(node), run,
              {kPacksWeights ? point_at_rows_s8 : nullptr, nullptr, nullptr, nullptr, nullptr, nullptr});
}
void run_rows_s8_f32(const NodeView& node, const NodeRun& run) {
  NodeRun gemm = run;
  gemm.kernel = static_cast<uint16_t>(run.kernel - kFirstOfGemm);
  run_gemm_s8_f32(node, geometry(node), gemm,
                  {kPacksWeights ? point_at_rows_s8 : nullptr, nullptr, nullptr, nullptr, nullptr, nullptr});
}
// Threads take output channels, which are cut again so that their weights stay near for the other rows.
void run_s8_f32(const NodeView& node, const NodeRun& run) {
  if (is_gemm_s8_f32(run.kernel)) return run_rows_s8_f32(node, run);
  constexpr int32_t kNearBytes = 16384;
  const ConvGeometry g = geometry(node);
  const auto* const x = run.input<int8_t>(node, 0);
  const auto* const w = run.input<int8_t>(node, kWeightInput);
  auto* const y = run.output<float>(node);
  const Requantization& requantization = node.options<Requantization>();
  GemvS8F32* const gemv = gemv_s8_f32_kernel(run.kernel).function;
  const int32_t near = g.images == 1 ? g.oc : kNearBytes / g.ic + 1;
  for_pieces(*run.executor, g.oc, int64_t{g.images} * g.ic, [&](int32_t first, int32_t count) {
    for (int32_t c = first; c < first + count; c += near) {
      const int32_t columns = first + count - c < near ? first + count - c : near;
      for (int32_t row = 0; row < g.images; ++row)
        gemv(x + static_cast<ptrdiff_t>(row) * g.ic, w + static_cast<ptrdiff_t>(c) * g.ic,
             requantization.folded_bias.data + c, requantization.multiplier.data + c,
             y + static_cast<ptrdiff_t>(row) * g.oc + c, columns, g.ic);
    }
  });
}
void run_s16(const NodeView& node, const NodeRun& run) { run_gemm_s16(node, geometry(node), run); }
void run_f32(const NodeView& node, const NodeRun& run) { run_gemm_f32(node, geometry(node), run); }

const char* name_s8_f32(uint16_t kernel) {
  return is_gemm_s8_f32(kernel) ? gemm_s8_f32_name(static_cast<uint16_t>(kernel - kFirstOfGemm))
                                : gemv_s8_f32_kernel(kernel).name;
}

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.weight_input = kWeightInput;
  rule.weight_axis = 0;
  rule.bias_input = kBiasInput;
  return rule;
}

}  // namespace

extern const OpRun kFullyConnectedS8Run, kFullyConnectedS16Run, kFullyConnectedF32Run,
    kFullyConnectedS8F32Run;
const OpRun kFullyConnectedS8Run = {run_s8}, kFullyConnectedS16Run = {run_s16},
            kFullyConnectedF32Run = {run_f32}, kFullyConnectedS8F32Run = {run_s8_f32};

extern const OpDef kFullyConnectedS8, kFullyConnectedS16, kFullyConnectedF32, kFullyConnectedS8F32;
const OpDef kFullyConnectedS8 = {Op::kFullyConnected,   DType::kS8,  -1, quant_rule(), plan_s8, prepare_s8,
                                 &kFullyConnectedS8Run, gemm_s8_name};
const OpDef kFullyConnectedS16 = {Op::kFullyConnected,    DType::kS16,  -1,
                                  quant_rule(),           plan_s16,     prepare_s16,
                                  &kFullyConnectedS16Run, gemm_s16_name};
const OpDef kFullyConnectedF32 = {Op::kFullyConnected,    DType::kF32,  -1,
                                  quant_rule(),           plan_f32,     prepare_f32,
                                  &kFullyConnectedF32Run, gemm_f32_name};
const OpDef kFullyConnectedS8F32 = {Op::kFullyConnected,
                                    DType::kF32,
                                    -1,
                                    quant_rule(),
                                    plan_s8_f32,
                                    kPacksWeights ? prepare_s8_f32 : nullptr,
                                    &kFullyConnectedS8F32Run,
                                    name_s8_f32,
                                    DType::kS8};

}  // namespace intaglio

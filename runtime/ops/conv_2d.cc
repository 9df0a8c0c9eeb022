// Convolution, NHWC, weights [oc, kh, kw, ic / groups], with an optional residual input.
#include "runtime/ops/conv_2d.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/conv_checks.h"
#include "runtime/ops/conv_gemm.h"

namespace intaglio {
namespace {

__attribute__((cold)) Error check_geometry(const NodeView& node) {
  ITG_TRY(check_input_rank(node, 0, 4));
  ITG_TRY(check_input_rank(node, kWeightInput, 4));
  ITG_TRY(check_output_rank(node, 4));
  const Shape in = node.input_shape(0), w = node.input_shape(kWeightInput), out = node.output_shape();
  const Conv2dOptions& o = node.options<Conv2dOptions>();
  if (o.groups < 1 || in[3] % o.groups != 0) return node.error(Status::kBadGroups, o.groups, in[3]);
  if (w[0] % o.groups != 0) return node.error(Status::kBadGroups, o.groups, w[0]);
  const int32_t expected[4] = {w[0], o.window.kernel_h, o.window.kernel_w, in[3] / o.groups};
  for (int32_t i = 1; i < 4; ++i)
    if (w[i] != expected[i]) return node.input_error(Status::kShapeMismatch, kWeightInput, w[i], expected[i]);
  if (out[0] != in[0]) return node.output_error(Status::kShapeMismatch, 0, out[0], in[0]);
  if (out[3] != w[0]) return node.output_error(Status::kShapeMismatch, 0, out[3], w[0]);
  return check_window(node, in[1], in[2], out[1], out[2]);
}

__attribute__((cold)) Error plan_s8(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 4));
  ITG_TRY(check_geometry(node));
  ITG_TRY(check_conv_ends_s8(node));
  float out_scale = node.output().quantization.scales[0];
  if (node.has_input(kResidualInput)) {
    ITG_TRY(check_residual_s8(node));
    out_scale = node.options<Conv2dOptions>().intermediate.scale;
  }
  ITG_TRY(check_weights_s8(node, 0, out_scale));
  return plan_gemm_s8(node, conv_2d_geometry(node), context, plan);
}

__attribute__((cold)) Error plan_s8_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 3));
  ITG_TRY(check_geometry(node));
  ITG_TRY(check_conv_s8_f32(node, 0));
  return plan_gemm_s8_f32(node, conv_2d_geometry(node), context, plan);
}

ConvGeometry geometry_s16(const NodeView& node) {
  ConvGeometry g = conv_2d_geometry(node);
  g.allows_im2col = false;
  return g;
}

__attribute__((cold)) Error plan_s16(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 3));
  ITG_TRY(check_geometry(node));
  ITG_TRY(check_conv_s16(node, 0));
  return plan_gemm_s16(node, geometry_s16(node), context, plan);
}

__attribute__((cold)) Error plan_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 4));
  ITG_TRY(check_geometry(node));
  ITG_TRY(check_conv_f32(node, 0, true));
  return plan_gemm_f32(node, conv_2d_geometry(node), context, plan);
}

void prepare_s8(const NodeView& node, uint16_t kernel, uint8_t* persistent) {
  prepare_gemm_s8(node, conv_2d_geometry(node), kernel, persistent);
}
void prepare_s8_f32(const NodeView& node, uint16_t kernel, uint8_t* persistent) {
  prepare_gemm_s8_f32(node, conv_2d_geometry(node), kernel, persistent);
}
void prepare_s16(const NodeView& node, uint16_t kernel, uint8_t* persistent) {
  prepare_gemm_s16(node, geometry_s16(node), kernel, persistent);
}
void prepare_f32(const NodeView& node, uint16_t kernel, uint8_t* persistent) {
  prepare_gemm_f32(node, conv_2d_geometry(node), kernel, persistent);
}
__attribute__((always_inline)) inline GemmS8Windows windows_of(const NodeView& node, const ConvGeometry& g) {
  const Window2d& w = g.window;
  return {
      g.h,        g.w,        g.ic,         g.oh,         g.ow,      w.kernel_h, w.kernel_w,
      w.stride_h, w.stride_w, w.dilation_h, w.dilation_w, w.pad_top, w.pad_left, node.input_zero_point(0)};
}
void run_s8(const NodeView& node, const NodeRun& run) {
  const ConvGeometry g = conv_2d_geometry(node);
  const GemmS8Windows windows = windows_of(node, g);
  GemmVariantS8 variant{kPacksWeights ? fill_conv_rows_s8 : nullptr,
                        kPacksWeights ? fill_line_rows<int8_t> : nullptr,
                        g.pointwise() ? nullptr : &windows,
                        gemm_s8_windows(gemm_s8_kernel(run.kernel).isa),
                        nullptr,
                        nullptr};
  AddS8 add;
  if (node.has_input(kResidualInput)) {
    set_conv_2d_addition(node, &add);
    variant.residual = run.input<int8_t>(node, kResidualInput);
    variant.add = &add;
  }
  run_gemm_s8(node, g, run, variant);
}
void run_s8_f32(const NodeView& node, const NodeRun& run) {
  const ConvGeometry g = conv_2d_geometry(node);
  const GemmS8Windows windows = windows_of(node, g);
  run_gemm_s8_f32(node, g, run,
                  {kPacksWeights ? fill_conv_rows_s8 : nullptr,
                   kPacksWeights ? fill_line_rows<int8_t> : nullptr, &windows, nullptr, nullptr, nullptr});
}
void run_s16(const NodeView& node, const NodeRun& run) { run_gemm_s16(node, geometry_s16(node), run); }
void run_f32(const NodeView& node, const NodeRun& run) { run_gemm_f32(node, conv_2d_geometry(node), run); }

}  // namespace

extern const OpRun kConv2dS8Run, kConv2dS16Run, kConv2dF32Run, kConv2dS8F32Run;
const OpRun kConv2dS8Run = {run_s8}, kConv2dS16Run = {run_s16}, kConv2dF32Run = {run_f32},
            kConv2dS8F32Run = {run_s8_f32};

// The output may stand where the residual stands: each element is read before it is written.
extern const OpDef kConv2dS8, kConv2dS16, kConv2dF32, kConv2dS8F32;
const OpDef kConv2dS8 = {Op::kConv2d, DType::kS8, kResidualInput, conv_2d_rule(),
                         plan_s8,     prepare_s8, &kConv2dS8Run,  gemm_s8_name};
const OpDef kConv2dS16 = {Op::kConv2d, DType::kS16,    -1,           conv_2d_rule(), plan_s16,
                          prepare_s16, &kConv2dS16Run, gemm_s16_name};
const OpDef kConv2dF32 = {Op::kConv2d, DType::kF32, kResidualInput, conv_2d_rule(),
                          plan_f32,    prepare_f32, &kConv2dF32Run, gemm_f32_name};
const OpDef kConv2dS8F32 = {Op::kConv2d,      DType::kF32,      -1,
                            conv_2d_rule(),   plan_s8_f32,      prepare_s8_f32,
                            &kConv2dS8F32Run, gemm_s8_f32_name, DType::kS8};

}  // namespace intaglio

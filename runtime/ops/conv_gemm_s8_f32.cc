#include "kernels/gemm/gemm_s8_f32.h"
#include "runtime/ops/conv_gemm_rows_s8.h"

namespace intaglio {
namespace {

struct RealsEnd {
  using Kernel = GemmS8F32Kernel;
  using Args = GemmS8F32Args;
  using Element = float;

  static const GemmS8F32Kernel& kernel(uint16_t index) { return gemm_s8_f32_kernel(index); }

  static GemmS8F32Args shared_args(const NodeView& node, const ConvGeometry& g, const GemmVariantS8&) {
    GemmS8F32Args args{};
    args.y_stride = static_cast<size_t>(g.oc);
    args.clamp = fused_clamp(node);
    return args;
  }

  static void set_output(const GemmVariantS8&, float* y, ptrdiff_t at, GemmS8F32Args* args) {
    args->y = y + at;
  }

  static void run(const GemmS8F32Kernel& kernel, const GemmS8F32Args& args) { kernel.f32_function(args); }
  static void run_windows(const GemmS8F32Kernel& kernel, const GemmVariantS8&, const GemmS8F32Args& args) {
    kernel.f32_function(args);
  }
};

}  // namespace

__attribute__((cold)) Error plan_gemm_s8_f32(const NodeView& node, const ConvGeometry& g,
                                             const PlanContext& context, NodePlan* plan) {
  plan->kernel = static_cast<uint16_t>(gemm_s8_f32_select(context.isa));
  return size_gemm_rows_s8(node, g, gemm_s8_f32_kernel(plan->kernel), context, plan);
}

__attribute__((cold)) void prepare_gemm_s8_f32(const NodeView& node, const ConvGeometry& g, uint16_t kernel,
                                               uint8_t* persistent) {
  pack_gemm_rows_s8(node, g, gemm_s8_f32_kernel(kernel), persistent);
}

void run_gemm_s8_f32(const NodeView& node, const ConvGeometry& g, const NodeRun& run,
                     const GemmVariantS8& variant) {
  run_rows_s8<RealsEnd>(node, g, run, variant);
}

const char* gemm_s8_f32_name(uint16_t kernel) { return gemm_s8_f32_kernel(kernel).name; }

}  // namespace intaglio

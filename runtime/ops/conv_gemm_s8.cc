#include "runtime/ops/conv_gemm_rows_s8.h"

namespace intaglio {
namespace {

GemmS8Args make_codes_args(const NodeView& node, const ConvGeometry& g, const GemmVariantS8& variant) {
  const Clamp& clamp = node.options<Clamp>();
  GemmS8Args args{};
  args.output_stride = static_cast<size_t>(g.oc);
  args.residual_stride = static_cast<size_t>(g.oc);
  args.add = variant.add;
  args.requant = variant.residual != nullptr
                     ? make_output_s8(node.options<Intermediate>().zero_point, -128, 127)
                     : make_output_s8(node.output_zero_point(), clamp.lo, clamp.hi);
  return args;
}

struct CodesEnd {
  using Kernel = GemmS8Kernel;
  using Args = GemmS8Args;
  using Element = int8_t;

  static const GemmS8Kernel& kernel(uint16_t index) { return gemm_s8_kernel(index); }

  static GemmS8Args shared_args(const NodeView& node, const ConvGeometry& g, const GemmVariantS8& variant) {
    return make_codes_args(node, g, variant);
  }

  static void set_output(const GemmVariantS8& variant, int8_t* y, ptrdiff_t at, GemmS8Args* args) {
    args->output = y + at;
    args->residual = variant.residual != nullptr ? variant.residual + at : nullptr;
  }

  static void run(const GemmS8Kernel& kernel, const GemmS8Args& args) { kernel.function(args); }
  static void run_windows(const GemmS8Kernel&, const GemmVariantS8& variant, GemmS8Args& args) {
    variant.run_windows(args);
  }
};

// One row and one thread, a fully connected layer of one sample: there is nothing to split, to copy or to walk, which takes
// more than the products of a small layer. Counted on ARM; on x86 it is not worth its text, and a Cortex-M has weights in
// place.
#if defined(__x86_64__)
constexpr bool kRunsOneRow = false;
#else
constexpr bool kRunsOneRow = kPacksWeights;
#endif
bool is_one_row(const ConvGeometry& g, const NodeRun& run) {
  return g.pixels() == 1 && g.groups == 1 && g.pointwise() && executor_width(*run.executor) == 1;
}
void run_one_row_s8(const NodeView& node, const ConvGeometry& g, const NodeRun& run,
                    const GemmVariantS8& variant, const GemmS8Kernel& kernel) {
  const int8_t* const x = run.input<int8_t>(node, 0);
  GemmS8Args args = make_codes_args(node, g, variant);
  set_columns<CodesEnd>(node.options<Requantization>(), variant, run.output<int8_t>(node), g,
                        {0, 1, 0, 0, g.oc, LineWalk()}, &args);
  args.rows = &x;  // lhs_offset is 0: no other is read
  args.weights = run.persistent;
  args.scratch = run.scratch;
  args.taps = 1;
  args.k = g.ic;
  kernel.function(args);
}

}  // namespace

__attribute__((cold)) Error plan_gemm_s8(const NodeView& node, const ConvGeometry& g,
                                         const PlanContext& context, NodePlan* plan) {
  // A band has fewer rows than its layer, and runs with its layer's kernel.
  const int32_t index = kStreams && kPacksWeights && node.band != nullptr
                            ? plan->kernel
                            : gemm_s8_select(context.isa, kPacksWeights ? g.pixels() : INT32_MAX);
  const GemmS8Kernel& kernel = gemm_s8_kernel(index);
  plan->kernel = static_cast<uint16_t>(index);
  return size_gemm_rows_s8(node, g, kernel, context, plan);
}

__attribute__((cold)) void prepare_gemm_s8(const NodeView& node, const ConvGeometry& g, uint16_t kernel,
                                           uint8_t* persistent) {
  pack_gemm_rows_s8(node, g, gemm_s8_kernel(kernel), persistent);
}

void fill_conv_rows_s8(const ConvGeometry& g, const int8_t* x, const int8_t* padding, int32_t first,
                       int32_t count, int32_t mr, int8_t* patches, const int8_t** rows) {
  if (g.im2col()) return im2col_rows<int8_t>(g, x, padding, first, count, patches, rows);
  fill_rows<int8_t>(g, x, padding, first, count, 1, mr, g.merged() ? patches : nullptr, rows);
}

void point_at_rows_s8(const ConvGeometry& g, const int8_t* x, const int8_t*, int32_t first, int32_t count,
                      int32_t, int8_t*, const int8_t** rows) {
  x += static_cast<ptrdiff_t>(first) * g.ic;
  for (int32_t p = 0; p < count; ++p, x += g.ic) rows[p] = x;
}

void run_gemm_s8(const NodeView& node, const ConvGeometry& g, const NodeRun& run,
                 const GemmVariantS8& variant) {
  if (kRunsOneRow && is_one_row(g, run)) {
    const GemmS8Kernel& kernel = gemm_s8_kernel(run.kernel);
    if (kernel.packs) return run_one_row_s8(node, g, run, variant, kernel);
  }
  run_rows_s8<CodesEnd>(node, g, run, variant);
}

const char* gemm_s8_name(uint16_t kernel) { return gemm_s8_kernel(kernel).name; }

}  // namespace intaglio

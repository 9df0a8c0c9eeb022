// Depthwise convolution of int16 activations with int8 weights.
#include "kernels/arithmetic/constant_checks.h"
#include "kernels/dwconv/dwconv_s16.h"
#include "runtime/ops/conv_geometry.h"

namespace intaglio {
namespace {

constexpr int32_t kPixels = 16;  // of a call: rows are set up faster in long runs

ConvScratch scratch_of(const ConvGeometry& g) {
  return conv_scratch(g, int64_t{g.ic} * static_cast<int64_t>(sizeof(int16_t)), int64_t{g.taps()} * kPixels,
                      0, 0);
}

// Whether a kernel may hold every sum in 32 bits, and what else the narrow ones want.
bool is_narrow(const NodeView& node, const ConvGeometry& g) {
  if (g.oc != g.ic || g.ic < kDwconvS16MinChannels) return false;
  const auto* const w = reinterpret_cast<const int8_t*>(node.input(kWeightInput).constant.data);
  const Span<const int32_t> bias = node.options<Requantization>().folded_bias;
  for (int32_t c = 0; c < g.oc; ++c) {
    const int64_t b = bias[static_cast<size_t>(c)];
    int64_t most = b < 0 ? -b : b;
    for (int32_t t = 0; t < g.taps(); ++t)
      most += sum_weights(w + static_cast<ptrdiff_t>(t) * g.oc + c, 1).magnitude << 15;
    if (most > INT32_MAX) return false;
  }
  return true;
}

}  // namespace

__attribute__((cold)) Error size_depthwise_s16(const NodeView& node, const PlanContext& context,
                                               NodePlan* plan) {
  return set_sizes(node, 0, scratch_of(depthwise_geometry(node)).total(context.width), plan);
}

namespace {

__attribute__((cold)) Error plan(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 3));
  ITG_TRY(check_depthwise_geometry(node));
  ITG_TRY(check_conv_s16(node, kDepthwiseAxis));
  const ConvGeometry g = depthwise_geometry(node);
  plan->kernel = static_cast<uint16_t>(dwconv_s16_select(context.isa, is_narrow(node, g)));
  return size_depthwise_s16(node, context, plan);
}

void run(const NodeView& node, const NodeRun& run) {
  const ConvGeometry g = depthwise_geometry(node);
  const auto& options = node.options<DepthwiseConv2dOptions>();
  if (g.padded()) memset(run.scratch, 0, static_cast<size_t>(g.ic) * sizeof(int16_t));
  DwconvS16Args shared{};
  shared.weights = run.input<int8_t>(node, kWeightInput);
  shared.bias = options.requantization.folded_bias.data;
  shared.multiplier = options.requantization.multiplier.data;
  shared.output_stride = static_cast<size_t>(g.oc);
  shared.requant = make_output_s16(options.clamp.lo, options.clamp.hi);
  shared.taps = g.taps();
  shared.channels = g.ic;
  shared.depth_multiplier = g.oc / g.ic;
  auto* const y = run.output<int16_t>(node);
  const auto function = dwconv_s16_kernel(run.kernel).function;
  for_each_pixels(bytes_of_s16(g), run, scratch_of(g), kPixels, run.input<int8_t>(node, 0),
                  [&](const int8_t* const* rows, int32_t first, int32_t pixels, uint8_t*) {
                    DwconvS16Args args = shared;
                    args.rows = reinterpret_cast<const int16_t* const*>(rows);
                    args.output = y + static_cast<ptrdiff_t>(first) * g.oc;
                    args.pixels = pixels;
                    function(args);
                  });
}

const char* kernel_name(uint16_t kernel) { return dwconv_s16_kernel(kernel).name; }

}  // namespace

extern const OpRun kDepthwiseConv2dS16Run;
const OpRun kDepthwiseConv2dS16Run = {run};

extern const OpDef kDepthwiseConv2dS16;
const OpDef kDepthwiseConv2dS16 = {Op::kDepthwiseConv2d,    DType::kS16, -1, depthwise_rule(), plan, nullptr,
                                   &kDepthwiseConv2dS16Run, kernel_name};

}  // namespace intaglio

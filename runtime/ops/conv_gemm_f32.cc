#include "kernels/gemm/gemm_f32.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/conv_checks.h"
#include "runtime/ops/conv_gemm.h"

namespace intaglio {
namespace {

ConvScratch scratch_of(const ConvGeometry& g, const GemmF32Kernel& kernel) {
  return gemm_scratch(g, kernel.mr, sizeof(float), 0);
}

// Kernels take one depth after the other, however short a run is.
ConvGeometry in_lines(ConvGeometry g) {
  g.allows_im2col = false;
  return g;
}

}  // namespace

Error plan_gemm_f32(const NodeView& node, const ConvGeometry& whole, const PlanContext& context,
                    NodePlan* plan) {
  const ConvGeometry g = in_lines(whole);
  const int32_t index = gemm_f32_select(context.isa);
  const GemmF32Kernel& kernel = gemm_f32_kernel(index);
  plan->kernel = static_cast<uint16_t>(index);
  const int64_t packed = gemm_f32_packed_bytes(kernel, g.oc / g.groups, g.gemm_taps(), g.gemm_k());
  const LineLayout layout(g, kernel.mr, 0);
  ConvScratch scratch = scratch_of(g, kernel);
  if (kPacksWeights && layout.used)
    scratch.resize_patches(layout.elements(kernel.mr) * int64_t{sizeof(float)});
  return set_sizes(node, packed * g.groups, scratch.total(context.width), plan);
}

void prepare_gemm_f32(const NodeView& node, const ConvGeometry& whole, uint16_t kernel_index,
                      uint8_t* persistent) {
  const ConvGeometry g = in_lines(whole);
  const GemmF32Kernel& kernel = gemm_f32_kernel(kernel_index);
  const int32_t n = g.oc / g.groups, k = g.gemm_k(), taps = g.gemm_taps();
  const auto* const w = reinterpret_cast<const float*>(node.input(kWeightInput).constant.data);
  const int64_t packed = gemm_f32_packed_bytes(kernel, n, taps, k), plain = int64_t{n} * taps * k;
  for (int32_t group = 0; group < g.groups; ++group)
    gemm_f32_pack(kernel, w + group * plain, n, taps, k,
                  reinterpret_cast<float*>(persistent + group * packed));
}

void run_gemm_f32(const NodeView& node, const ConvGeometry& whole, const NodeRun& run) {
  const ConvGeometry g = in_lines(whole);
  const GemmF32Kernel& kernel = gemm_f32_kernel(run.kernel);
  const ClampF32 clamp = fused_clamp(node);
  const int32_t n = g.oc / g.groups, k = g.gemm_k(), taps = g.gemm_taps();

  const auto* const weights =
      kernel.packs ? reinterpret_cast<const float*>(run.persistent) : run.input<float>(node, kWeightInput);
  const int64_t column_floats = int64_t{taps} * k;
  const int64_t group_floats =
      kernel.packs ? gemm_f32_packed_bytes(kernel, n, taps, k) / 4 : int64_t{n} * column_floats;

  const auto* const x = run.input<float>(node, 0);
  const float* const bias = node.has_input(kBiasInput) ? run.input<float>(node, kBiasInput) : nullptr;
  const float* const residual =
      node.has_input(kResidualInput) ? run.input<float>(node, kResidualInput) : nullptr;
  auto* const y = run.output<float>(node);

  const LineLayout layout(g, kernel.mr, 0);
  ConvScratch scratch = scratch_of(g, kernel);
  const LineLayout* const lines = kPacksWeights && layout.used ? &layout : nullptr;
  if (lines != nullptr) scratch.resize_patches(layout.elements(kernel.mr) * int64_t{sizeof(float)});
  auto* const padding = reinterpret_cast<float*>(run.scratch);
  // conv_lines.h takes sixteen bytes at once.
  if (g.padded()) memset(padding, 0, static_cast<size_t>(lines != nullptr && k < 4 ? 4 : k) * 4);
  const GemmSplit split = gemm_split(g, kernel.nr, executor_width(*run.executor));
  for_gemm_items(*run.executor, g, split, kernel.mr, [&](int32_t slot, GemmItem& item) {
    uint8_t* const memory = run.scratch + scratch.padding_bytes + slot * scratch.slot_bytes;
    auto** const rows = reinterpret_cast<const float**>(memory);
    auto* const patches = reinterpret_cast<float*>(memory + scratch.patches_offset);
    if (kPacksWeights && lines != nullptr)
      fill_line_rows<float>(g, *lines, {x, padding, item.pixel, item.pixels, kernel.mr, patches, rows}, true,
                            &item.walk);
    else
      fill_rows<float>(g, x + static_cast<ptrdiff_t>(item.group) * k, padding, item.pixel, item.pixels, 1,
                       kernel.mr, g.merged() ? patches : nullptr, rows);
    const ptrdiff_t channel = static_cast<ptrdiff_t>(item.group) * n + item.column;
    const ptrdiff_t target = static_cast<ptrdiff_t>(item.pixel) * g.oc + channel;
    GemmF32Args args;
    args.rows = rows;
    args.weights = weights + item.group * group_floats + item.column * column_floats;
    args.bias = bias != nullptr ? bias + channel : nullptr;
    args.output = y + target;
    args.output_stride = static_cast<size_t>(g.oc);
    args.residual = residual != nullptr ? residual + target : nullptr;
    args.residual_stride = static_cast<size_t>(g.oc);
    args.clamp = clamp;
    args.m = item.pixels;
    args.n = item.columns;
    args.taps = taps;
    args.k = k;
    kernel.function(args);
  });
}

const char* gemm_f32_name(uint16_t kernel) { return gemm_f32_kernel(kernel).name; }

}  // namespace intaglio

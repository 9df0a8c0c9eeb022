#include "kernels/gemm/gemm_s16.h"
#include "runtime/ops/conv_checks.h"
#include "runtime/ops/conv_gemm.h"

namespace intaglio {

__attribute__((cold)) Error plan_gemm_s16(const NodeView& node, const ConvGeometry& g,
                                          const PlanContext& context, NodePlan* plan) {
  const int32_t index = gemm_s16_select(context.isa);
  const GemmS16Kernel& kernel = gemm_s16_kernel(index);
  plan->kernel = static_cast<uint16_t>(index);
  const int64_t packed = gemm_s16_packed_bytes(kernel, g.oc / g.groups, g.gemm_taps(), g.gemm_k());
  return set_sizes(node, packed * g.groups,
                   gemm_scratch(g, kernel.mr, sizeof(int16_t), 0).total(context.width), plan);
}

__attribute__((cold)) void prepare_gemm_s16(const NodeView& node, const ConvGeometry& g,
                                            uint16_t kernel_index, uint8_t* persistent) {
  const GemmS16Kernel& kernel = gemm_s16_kernel(kernel_index);
  const int32_t n = g.oc / g.groups, k = g.gemm_k(), taps = g.gemm_taps();
  const auto* const w = reinterpret_cast<const int8_t*>(node.input(kWeightInput).constant.data);
  const int32_t* const bias = node.options<Requantization>().folded_bias.data;
  const int64_t packed = gemm_s16_packed_bytes(kernel, n, taps, k), plain = int64_t{n} * taps * k;
  for (int32_t group = 0; group < g.groups; ++group)
    gemm_s16_pack(kernel, w + group * plain, bias + group * n, n, taps, k,
                  reinterpret_cast<int8_t*>(persistent) + group * packed);
}

void run_gemm_s16(const NodeView& node, const ConvGeometry& g, const NodeRun& run) {
  const GemmS16Kernel& kernel = gemm_s16_kernel(run.kernel);
  const Requantization& requantization = node.options<Requantization>();
  const Clamp& clamp = node.options<Clamp>();
  const int32_t n = g.oc / g.groups, k = g.gemm_k(), taps = g.gemm_taps();
  const auto* const weights =
      kernel.packs ? reinterpret_cast<const int8_t*>(run.persistent) : run.input<int8_t>(node, kWeightInput);
  const auto bytes_of = [&](int32_t columns) {
    return kernel.packs ? gemm_s16_packed_bytes(kernel, columns, taps, k) : int64_t{columns} * taps * k;
  };
  const int64_t group_bytes = bytes_of(n), panel_bytes = bytes_of(kernel.nr);
  const auto* const x = run.input<int16_t>(node, 0);
  auto* const y = run.output<int16_t>(node);
  const OutputS16 requant = make_output_s16(clamp.lo, clamp.hi);
  const ConvScratch scratch = gemm_scratch(g, kernel.mr, sizeof(int16_t), 0);
  auto* const padding = reinterpret_cast<int16_t*>(run.scratch);
  if (g.padded()) memset(padding, 0, static_cast<size_t>(k) * sizeof *padding);
  const ConvGeometry bytes = bytes_of_s16(g);
  const GemmSplit split = gemm_split(g, kernel.nr, executor_width(*run.executor));
  for_gemm_items(*run.executor, g, split, kernel.mr, [&](int32_t slot, GemmItem& item) {
    uint8_t* const memory = run.scratch + scratch.padding_bytes + slot * scratch.slot_bytes;
    auto** const rows = reinterpret_cast<const int16_t**>(memory);
    auto* const patches = reinterpret_cast<int8_t*>(memory + scratch.patches_offset);
    fill_rows<int8_t>(bytes, reinterpret_cast<const int8_t*>(x + static_cast<ptrdiff_t>(item.group) * k),
                      reinterpret_cast<const int8_t*>(padding), item.pixel, item.pixels, 1, kernel.mr,
                      g.merged() ? patches : nullptr, reinterpret_cast<const int8_t**>(rows));
    const ptrdiff_t channel = static_cast<ptrdiff_t>(item.group) * n + item.column;
    GemmS16Args args;
    args.rows = rows;
    args.weights = weights + item.group * group_bytes + item.column / kernel.nr * panel_bytes;
    args.bias = requantization.folded_bias.data + channel;
    args.multiplier = requantization.multiplier.data + channel;
    args.output = y + static_cast<ptrdiff_t>(item.pixel) * g.oc + channel;
    args.output_stride = static_cast<size_t>(g.oc);
    args.requant = requant;
    args.m = item.pixels;
    args.n = item.columns;
    args.taps = taps;
    args.k = k;
    kernel.function(args);
  });
}

const char* gemm_s16_name(uint16_t kernel) { return gemm_s16_kernel(kernel).name; }

}  // namespace intaglio

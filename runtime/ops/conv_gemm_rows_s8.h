// The rows of convolutions and fully connected layers over kernels that take them as gemm_s8.h says. End is how their results
// leave:
//
//   End::Kernel, End::Args, End::Element     the family's, and of the output
//   End::kernel(index)
//   End::shared_args(node, g, variant)       all but rows, and where columns and scratch start
//   End::set_output(variant, y, at, &args)   where an item's columns are written: from element `at` of the output y on
//   End::run(kernel, args)                   rows in `args`
//   End::run_windows(kernel, variant, args)  windows in `args`
#pragma once

#include "kernels/gemm/gemm_s8.h"
#include "runtime/ops/conv_checks.h"
#include "runtime/ops/conv_gemm.h"

namespace intaglio {
namespace {

// A kernel that takes the distances of taps, and rows where they stand, reads lines of more than a vector in place: copying them
// takes longer than the depths that complete a line's last four. With one to complete, packed weights of pack layout 3 could have
// this size and other bytes.
__attribute__((noinline)) ConvGeometry for_kernel(const ConvGeometry& layer, const GemmS8Kernel& kernel) {
  constexpr int32_t kVector = 16;
  ConvGeometry g = layer;
  const int32_t line = g.window.kernel_w * g.ic;
  if (kernel.lhs_bytes == 0 && g.oc <= kernel.tap_offsets_max_n && line > kVector && line % 4 != 3)
    g.allows_im2col = false;
  return g;
}

ConvScratch scratch_of(const ConvGeometry& g, const GemmS8Kernel& kernel) {
  return gemm_scratch(g, kernel.mr, sizeof(int8_t),
                      gemm_s8_scratch_bytes(kernel, g.pixels(), g.gemm_taps(), g.gemm_k()));
}

bool takes_tap_offsets(const ConvGeometry& g, const GemmS8Kernel& kernel) {
  return kPacksWeights && g.oc <= kernel.tap_offsets_max_n;
}

LineLayout line_layout(const ConvGeometry& g, const GemmS8Kernel& kernel) {
  return {g, kernel.mr, takes_tap_offsets(g, kernel) ? kernel.tap_offsets_max_channels : 0};
}

// A slot's scratch where weights are used in place.
int64_t in_place_scratch_bytes(const ConvGeometry& g, const GemmS8Kernel& kernel) {
  return gemm_s8_scratch_bytes(kernel, g.pixels(), g.taps(), g.ic / g.groups, g.padded());
}

// The memory of a node, and its weights.
inline Error size_gemm_rows_s8(const NodeView& node, const ConvGeometry& layer, const GemmS8Kernel& kernel,
                               const PlanContext& context, NodePlan* plan) {
  if (!kernel.packs) return set_sizes(node, 0, context.width * in_place_scratch_bytes(layer, kernel), plan);
  const ConvGeometry g = for_kernel(layer, kernel);
  const int64_t packed = gemm_s8_packed_bytes(kernel, g.oc / g.groups, g.gemm_taps(), g.gemm_k());
  const LineLayout layout = line_layout(g, kernel);
  ConvScratch scratch = scratch_of(g, kernel);
  if (kPacksWeights && layout.used) scratch.resize_patches(layout.elements(kernel.mr));
  return set_sizes(node, packed * g.groups, scratch.total(context.width), plan);
}

inline void pack_gemm_rows_s8(const NodeView& node, const ConvGeometry& layer, const GemmS8Kernel& kernel,
                              uint8_t* persistent) {
  const ConvGeometry g = for_kernel(layer, kernel);
  const Requantization& requantization = node.options<Requantization>();
  const int32_t n = g.oc / g.groups, k = g.gemm_k(), taps = g.gemm_taps();
  const auto* const w = reinterpret_cast<const int8_t*>(node.input(kWeightInput).constant.data);
  const int64_t packed = gemm_s8_packed_bytes(kernel, n, taps, k), plain = int64_t{n} * taps * k;
  for (int32_t group = 0; group < g.groups; ++group)
    gemm_s8_pack(kernel,
                 {w + group * plain, requantization.folded_bias.data + group * n,
                  requantization.multiplier.data + group * n, n, taps, k},
                 persistent + group * packed);
}

// Sets where an item's columns read and write, their weights apart.
template <typename End>
void set_columns(const Requantization& requantization, const GemmVariantS8& variant, typename End::Element* y,
                 const ConvGeometry& g, const GemmItem& item, typename End::Args* args) {
  const ptrdiff_t channel = static_cast<ptrdiff_t>(item.group) * (g.oc / g.groups) + item.column;
  const ptrdiff_t target = static_cast<ptrdiff_t>(item.pixel) * g.oc + channel;
  End::set_output(variant, y, target, args);
  args->folded_bias = requantization.folded_bias.data + channel;
  args->multiplier = requantization.multiplier.data + channel;
  args->m = item.pixels;
  args->n = item.columns;
}

// With weights in place: the kernel finds its rows itself, all of a range in one call.
template <typename End>
void run_in_place_s8(const NodeView& node, const ConvGeometry& g, const NodeRun& run,
                     const GemmVariantS8& variant, const typename End::Kernel& kernel) {
  const Requantization& requantization = node.options<Requantization>();
  const int32_t k = g.ic / g.groups, taps = g.taps();
  const auto* const weights = run.input<int8_t>(node, kWeightInput);
  const auto* const x = run.input<int8_t>(node, 0);
  auto* const y = run.output<typename End::Element>(node);
  const int64_t slot_bytes = in_place_scratch_bytes(g, kernel);
  const GemmSplit split = gemm_split(g, kernel.nr, executor_width(*run.executor));
  for_gemm_items(*run.executor, g, split, g.pixels(), [&](int32_t slot, const GemmItem& item) {
    typename End::Args args = End::shared_args(node, g, variant);
    set_columns<End>(requantization, variant, y, g, item, &args);
    args.first_row = x + static_cast<ptrdiff_t>(item.group) * k;
    args.weights =
        weights + (static_cast<ptrdiff_t>(item.group) * (g.oc / g.groups) + item.column) * taps * k;
    args.scratch = run.scratch + slot * slot_bytes;
    args.taps = taps;
    args.k = k;
    if (variant.windows != nullptr) {
      args.windows = variant.windows;
      args.first_window = item.pixel;
      return End::run_windows(kernel, variant, args);
    }
    args.first_row += static_cast<ptrdiff_t>(item.pixel) * g.ic;
    args.row_distance = g.ic;
    End::run(kernel, args);
  });
}

// Not in line: its frame is no concern of a row alone.
template <typename End>
__attribute__((noinline)) void run_rows_s8(const NodeView& node, const ConvGeometry& layer,
                                           const NodeRun& run, const GemmVariantS8& variant) {
  const typename End::Kernel& kernel = End::kernel(run.kernel);
  if (!kPacksWeights || !kernel.packs) return run_in_place_s8<End>(node, layer, run, variant, kernel);
  const ConvGeometry g = for_kernel(layer, kernel);
  const Requantization& requantization = node.options<Requantization>();
  const int32_t n = g.oc / g.groups, k = g.gemm_k(), taps = g.gemm_taps();
  const int32_t zero_point = g.padded() ? node.input_zero_point(0) : 0;
  const auto* const weights = reinterpret_cast<const int8_t*>(run.persistent);
  const int64_t group_bytes = g.groups == 1 ? 0 : gemm_s8_packed_bytes(kernel, n, taps, k);
  const auto* const x = run.input<int8_t>(node, 0);
  auto* const y = run.output<typename End::Element>(node);
  const typename End::Args shared = End::shared_args(node, g, variant);

  const bool im2col = g.im2col();
  const LineLayout layout = line_layout(g, kernel);
  ConvScratch scratch = scratch_of(g, kernel);
  const LineLayout* const lines = layout.used ? &layout : nullptr;
  if (lines != nullptr) scratch.resize_patches(layout.elements(kernel.mr));
  auto* const padding = reinterpret_cast<int8_t*>(run.scratch);
  // conv_lines.h takes sixteen bytes at once.
  if (g.padded()) memset(padding, zero_point, static_cast<size_t>(lines != nullptr && k < 16 ? 16 : k));
  const bool pads_zero = g.padded() && zero_point == -kernel.lhs_offset;
  const GemmSplit split = gemm_split(g, kernel.nr, executor_width(*run.executor));
  const int64_t panel_bytes = split.parts == 1 ? 0 : gemm_s8_packed_bytes(kernel, kernel.nr, taps, k);
  for_gemm_items(*run.executor, g, split, kernel.mr, [&](int32_t slot, GemmItem& item) {
    uint8_t* const memory = run.scratch + scratch.padding_bytes + slot * scratch.slot_bytes;
    auto** const rows = reinterpret_cast<const int8_t**>(memory);
    auto* const patches = reinterpret_cast<int8_t*>(memory + scratch.patches_offset);
    const ptrdiff_t* tap_offsets = nullptr;
    if (lines != nullptr)
      tap_offsets =
          variant.fill_lines(g, *lines, {x, padding, item.pixel, item.pixels, kernel.mr, patches, rows},
                             !takes_tap_offsets(g, kernel), &item.walk);
    else
      variant.fill(g, x + static_cast<ptrdiff_t>(item.group) * k, padding, item.pixel, item.pixels, kernel.mr,
                   patches, rows);
    const int32_t tables = tap_offsets != nullptr ? 1 : taps;
    for (int32_t p = item.pixels; p % kernel.row_multiple != 0; ++p)
      for (int32_t t = 0; t < tables; ++t) rows[t * kernel.mr + p] = rows[t * kernel.mr];
    typename End::Args args = shared;
    set_columns<End>(requantization, variant, y, g, item, &args);
    args.rows = rows;
    args.tap_offsets = tap_offsets;
    args.weights = weights + item.group * group_bytes + item.column / kernel.nr * panel_bytes;
    args.scratch = memory + scratch.kernel_offset;
    args.taps = taps;
    args.k = k;
    args.rows_padded = im2col || (lines != nullptr && lines->copies_lines);
    args.zero_row = pads_zero && tap_offsets == nullptr ? padding : nullptr;
    End::run(kernel, args);
  });
}

}  // namespace
}  // namespace intaglio

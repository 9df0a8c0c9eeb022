#include "kernels/gemm/gemm_s8.h"
#include "runtime/ops/conv_checks.h"
#include "runtime/ops/conv_gemm.h"

namespace intaglio {
namespace {

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

// All but rows, and where columns and scratch start.
GemmS8Args shared_args(const NodeView& node, const ConvGeometry& g, const GemmVariantS8& variant) {
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

// Sets where an item's columns read and write, their weights apart.
void set_columns(const Requantization& requantization, const GemmVariantS8& variant, int8_t* y,
                 const ConvGeometry& g, const GemmItem& item, GemmS8Args* args) {
  const ptrdiff_t channel = static_cast<ptrdiff_t>(item.group) * (g.oc / g.groups) + item.column;
  const ptrdiff_t target = static_cast<ptrdiff_t>(item.pixel) * g.oc + channel;
  args->folded_bias = requantization.folded_bias.data + channel;
  args->multiplier = requantization.multiplier.data + channel;
  args->output = y + target;
  args->residual = variant.residual != nullptr ? variant.residual + target : nullptr;
  args->m = item.pixels;
  args->n = item.columns;
}

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
  GemmS8Args args = shared_args(node, g, variant);
  set_columns(node.options<Requantization>(), variant, run.output<int8_t>(node), g,
              {0, 1, 0, 0, g.oc, LineWalk()}, &args);
  args.rows = &x;  // lhs_offset is 0: no other is read
  args.weights = run.persistent;
  args.scratch = run.scratch;
  args.taps = 1;
  args.k = g.ic;
  kernel.function(args);
}

// With weights in place: the kernel finds its rows itself, all of a range in one call.
void run_in_place_s8(const NodeView& node, const ConvGeometry& g, const NodeRun& run,
                     const GemmVariantS8& variant, const GemmS8Kernel& kernel) {
  const Requantization& requantization = node.options<Requantization>();
  const int32_t k = g.ic / g.groups, taps = g.taps();
  const auto* const weights = run.input<int8_t>(node, kWeightInput);
  const auto* const x = run.input<int8_t>(node, 0);
  auto* const y = run.output<int8_t>(node);
  const int64_t slot_bytes = in_place_scratch_bytes(g, kernel);
  const GemmSplit split = gemm_split(g, kernel.nr, executor_width(*run.executor));
  for_gemm_items(*run.executor, g, split, g.pixels(), [&](int32_t slot, const GemmItem& item) {
    GemmS8Args args = shared_args(node, g, variant);
    set_columns(requantization, variant, y, g, item, &args);
    args.first_row = x + static_cast<ptrdiff_t>(item.group) * k;
    args.weights =
        weights + (static_cast<ptrdiff_t>(item.group) * (g.oc / g.groups) + item.column) * taps * k;
    args.scratch = run.scratch + slot * slot_bytes;
    args.taps = taps;
    args.k = k;
    if (variant.windows != nullptr) {
      args.windows = variant.windows;
      args.first_window = item.pixel;
      return variant.run_windows(args);
    }
    args.first_row += static_cast<ptrdiff_t>(item.pixel) * g.ic;
    args.row_distance = g.ic;
    kernel.function(args);
  });
}

// Not in line: its frame is no concern of a row alone.
__attribute__((noinline)) void run_rows_s8(const NodeView& node, const ConvGeometry& g, const NodeRun& run,
                                           const GemmVariantS8& variant) {
  const GemmS8Kernel& kernel = gemm_s8_kernel(run.kernel);
  if (!kPacksWeights || !kernel.packs) return run_in_place_s8(node, g, run, variant, kernel);
  const Requantization& requantization = node.options<Requantization>();
  const int32_t n = g.oc / g.groups, k = g.gemm_k(), taps = g.gemm_taps();
  const int32_t zero_point = g.padded() ? node.input_zero_point(0) : 0;
  const auto* const weights = reinterpret_cast<const int8_t*>(run.persistent);
  const int64_t group_bytes = g.groups == 1 ? 0 : gemm_s8_packed_bytes(kernel, n, taps, k);
  const auto* const x = run.input<int8_t>(node, 0);
  auto* const y = run.output<int8_t>(node);
  const GemmS8Args shared = shared_args(node, g, variant);

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
    GemmS8Args args = shared;
    set_columns(requantization, variant, y, g, item, &args);
    args.rows = rows;
    args.tap_offsets = tap_offsets;
    args.weights = weights + item.group * group_bytes + item.column / kernel.nr * panel_bytes;
    args.scratch = memory + scratch.kernel_offset;
    args.taps = taps;
    args.k = k;
    args.rows_padded = im2col || (lines != nullptr && lines->copies_lines);
    args.zero_row = pads_zero && tap_offsets == nullptr ? padding : nullptr;
    kernel.function(args);
  });
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
  if (!kernel.packs) return set_sizes(node, 0, context.width * in_place_scratch_bytes(g, kernel), plan);
  const int64_t packed = gemm_s8_packed_bytes(kernel, g.oc / g.groups, g.gemm_taps(), g.gemm_k());
  const LineLayout layout = line_layout(g, kernel);
  ConvScratch scratch = scratch_of(g, kernel);
  if (kPacksWeights && layout.used) scratch.resize_patches(layout.elements(kernel.mr));
  return set_sizes(node, packed * g.groups, scratch.total(context.width), plan);
}

__attribute__((cold)) void prepare_gemm_s8(const NodeView& node, const ConvGeometry& g, uint16_t kernel_index,
                                           uint8_t* persistent) {
  const GemmS8Kernel& kernel = gemm_s8_kernel(kernel_index);
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
  run_rows_s8(node, g, run, variant);
}

const char* gemm_s8_name(uint16_t kernel) { return gemm_s8_kernel(kernel).name; }

}  // namespace intaglio

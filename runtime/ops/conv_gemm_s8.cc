// The rows of convolutions and fully connected layers over kernels that take them as gemm_s8.h says. End is how their results
// leave:
//
//   End::Kernel, End::Args, End::Element     the family's, and of the output
//   End::kernel(index)
//   End::shared_args(node, g, variant)       all but rows, and where columns and scratch start
//   End::set_output(variant, y, at, &args)   where an item's columns are written: from element `at` of the output y on
//   End::run(kernel, args)                   rows in `args`
//   End::run_windows(kernel, variant, args)  windows in `args`

#include "kernels/gemm/gemm_s8.h"
#include "kernels/gemm/gemm_s8_f32.h"
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

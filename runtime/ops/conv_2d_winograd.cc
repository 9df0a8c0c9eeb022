// Convolution of int8 by Winograd's tiles where that is faster, and else by the direct sum (conv_2d.cc). A variant of its own: a
// program whose list of operators names kConv2dS8 links nothing of it. int8_ops() and all_ops() have this one, compact_ops() not.
#include "kernels/winograd/winograd_s8.h"
#include "runtime/ops/conv_2d.h"
#include "runtime/ops/conv_checks.h"

namespace intaglio {

extern const OpDef kConv2dS8;
extern const OpRun kConv2dS8Run;

namespace {

// Numbers of kernels: those of gemm_s8, then those of winograd_s8.
constexpr int32_t kFirstOfWinograd = kFamilyNumbers;
bool is_winograd(uint16_t kernel) { return kernel >= kFirstOfWinograd; }

int32_t tiles_of(const ConvGeometry& g) {
  constexpr int32_t kTile = kWinogradTile;
  return (g.oh + kTile - 1) / kTile * ((g.ow + kTile - 1) / kTile);
}

// Work of the threads: of an image a few tiles, which a kernel multiplies at once, by a part of the columns.
struct WinogradSplit {
  static constexpr int32_t kTiles = 4;

  WinogradSplit(const ConvGeometry& g, int32_t nr, int32_t width)
      : tiles(tiles_of(g)), groups((tiles + kTiles - 1) / kTiles) {
    const int32_t all = g.images * groups, panels = g.oc / nr, wanted = (width + all - 1) / all;
    parts = wanted < panels ? wanted : panels;
    part_columns = (panels + parts - 1) / parts * nr;
    parts = (g.oc + part_columns - 1) / part_columns;
  }

  int32_t tiles, groups, parts, part_columns;
};

// The kernel for a node that has been checked; -1: the direct sum.
__attribute__((cold)) int32_t select_tiles(const NodeView& node, const ConvGeometry& g,
                                           const PlanContext& context) {
  const Window2d& w = g.window;
  const bool fits = g.groups == 1 && w.kernel_h == 3 && w.kernel_w == 3 && w.stride_h == 1 &&
                    w.stride_w == 1 && w.dilation_h == 1 && w.dilation_w == 1;
  if (!fits) return -1;
  for (const float multiplier : node.options<Requantization>().multiplier)
    if (!(multiplier < 1.0f)) return -1;
  return winograd_s8_select(context.isa, {g.oh, g.ow, g.ic, g.oc});
}

__attribute__((cold)) Error plan_either(const NodeView& node, const PlanContext& context, NodePlan* to) {
  const bool by_rows = node.band != nullptr || to->kernel == kRunsByRows;
  ITG_TRY(kConv2dS8.plan(node, context, to));
  const ConvGeometry g = conv_2d_geometry(node);
  const int32_t index = by_rows ? -1 : select_tiles(node, g, context);
  if (index < 0) return kNoError;
  const WinogradS8Kernel& kernel = winograd_s8_kernel(index);
  to->kernel = static_cast<uint16_t>(kFirstOfWinograd + index);
  return set_sizes(node, winograd_s8_packed_bytes(kernel, g.ic, g.oc),
                   context.width * winograd_s8_scratch_bytes(kernel, g.ic), to);
}

__attribute__((cold)) void prepare_either(const NodeView& node, uint16_t kernel, uint8_t* persistent) {
  if (!is_winograd(kernel)) return kConv2dS8.prepare(node, kernel, persistent);
  const ConvGeometry g = conv_2d_geometry(node);
  const Requantization& requantization = node.options<Requantization>();
  winograd_s8_pack(winograd_s8_kernel(kernel - kFirstOfWinograd),
                   reinterpret_cast<const int8_t*>(node.input(kWeightInput).constant.data),
                   requantization.folded_bias.data, requantization.multiplier.data, g.ic, g.oc, persistent);
}

void run_tiles(const NodeView& node, const NodeRun& run) {
  const ConvGeometry g = conv_2d_geometry(node);
  const WinogradS8Kernel& kernel = winograd_s8_kernel(run.kernel - kFirstOfWinograd);
  const Clamp& clamp = node.options<Clamp>();
  const bool adds = node.has_input(kResidualInput);
  const auto* const x = run.input<int8_t>(node, 0);
  const auto* const residual = adds ? run.input<int8_t>(node, kResidualInput) : nullptr;
  auto* const y = run.output<int8_t>(node);
  AddS8 add{};
  if (adds) set_conv_2d_addition(node, &add);
  WinogradS8Args shared{};
  shared.packed = run.persistent;
  shared.add = &add;
  shared.requant = adds ? make_output_s8(node.options<Intermediate>().zero_point, -128, 127)
                        : make_output_s8(node.output_zero_point(), clamp.lo, clamp.hi);
  shared.zero_point = node.input_zero_point(0);
  shared.h = g.h;
  shared.w = g.w;
  shared.oh = g.oh;
  shared.ow = g.ow;
  shared.ic = g.ic;
  shared.oc = g.oc;
  shared.pad_top = g.window.pad_top;
  shared.pad_left = g.window.pad_left;
  const WinogradSplit split(g, kernel.nr, executor_width(*run.executor));
  const int64_t slot_bytes = winograd_s8_scratch_bytes(kernel, g.ic);
  const ptrdiff_t in_map = static_cast<ptrdiff_t>(g.h) * g.w * g.ic,
                  out_map = static_cast<ptrdiff_t>(g.oh) * g.ow * g.oc;
  const int64_t items = int64_t{g.images} * split.groups * split.parts;
  for_ranges(*run.executor, items, [&](int32_t slot, int32_t item, int32_t last) {
    WinogradS8Args args = shared;
    args.scratch = run.scratch + slot * slot_bytes;
    while (item < last) {
      const int32_t group = item / split.parts, image = group / split.groups, in_image = group % split.groups;
      // With all columns, tiles up to the range's end or the image's are one call.
      int32_t count = 1;
      if (split.parts == 1)
        count = last - item < split.groups - in_image ? last - item : split.groups - in_image;
      args.first_tile = in_image * WinogradSplit::kTiles;
      args.past_tile = (in_image + count) * WinogradSplit::kTiles;
      if (args.past_tile > split.tiles) args.past_tile = split.tiles;
      args.first_column = item % split.parts * split.part_columns;
      args.past_column = args.first_column + split.part_columns;
      if (args.past_column > g.oc) args.past_column = g.oc;
      args.input = x + image * in_map;
      args.output = y + image * out_map;
      args.residual = residual != nullptr ? residual + image * out_map : nullptr;
      kernel.function(args);
      item += count;
    }
  });
}

void run_either(const NodeView& node, const NodeRun& run) {
  (is_winograd(run.kernel) ? run_tiles : kConv2dS8Run.run)(node, run);
}

const char* name_either(uint16_t kernel) {
  return is_winograd(kernel) ? winograd_s8_kernel(kernel - kFirstOfWinograd).name
                             : kConv2dS8.kernel_name(kernel);
}

}  // namespace

extern const OpRun kConv2dS8WinogradRun;
const OpRun kConv2dS8WinogradRun = {run_either};

extern const OpDef kConv2dS8Winograd;
const OpDef kConv2dS8Winograd = {Op::kConv2d, DType::kS8,     kResidualInput,        conv_2d_rule(),
                                 plan_either, prepare_either, &kConv2dS8WinogradRun, name_either};

}  // namespace intaglio

// Depthwise convolution, NHWC, weights [kh, kw, c * m]: output channel c * m + j reads input channel c.
#include "kernels/dwconv/dwconv_3x3_s8.h"
#include "kernels/dwconv/dwconv_f32.h"
#include "kernels/dwconv/dwconv_map_s8.h"
#include "kernels/dwconv/dwconv_s8.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/conv_geometry.h"
#include "runtime/ops/pixel_runs.h"

namespace intaglio {
namespace {

ConvScratch scratch_of(const ConvGeometry& g, const DwconvS8Kernel& kernel) {
  return conv_scratch(g, g.ic, int64_t{g.taps()} * kernel.pixels, 0,
                      dwconv_s8_scratch_bytes(kernel, g.taps()));
}

ConvScratch scratch_of(const ConvGeometry& g, const DwconvF32Kernel& kernel) {
  return conv_scratch(g, int64_t{g.ic} * 4, int64_t{g.taps()} * kernel.pixels, 0, 0);
}

// Numbers of kernels: those of dwconv_s8 or dwconv_f32, then those of dwconv_3x3_s8 or dwconv_lines_f32, then those of
// dwconv_map_s8.
constexpr int32_t kFirstOfLines = kFamilyNumbers, kFirstOfMaps = 2 * kFamilyNumbers;

bool is_map_s8(int32_t kernel) { return kListsDwconvMapS8 && kernel >= kFirstOfMaps; }
bool is_3x3_s8(int32_t kernel) {
  return kListsDwconv3x3S8 && kernel >= kFirstOfLines && kernel < kFirstOfMaps;
}
bool is_of_lines_f32(uint16_t kernel) { return kListsDwconvLinesF32 && kernel >= kFirstOfLines; }

// The side of a square window that kernels of lines may take; 0 for another.
__attribute__((noinline)) int32_t side_of_lines(const ConvGeometry& g) {
  const Window2d& w = g.window;
  const bool fits = w.kernel_h == w.kernel_w && w.dilation_h == 1 && w.dilation_w == 1 &&
                    w.stride_h == w.stride_w && w.stride_h <= 2 && g.oc == g.ic;
  return fits ? w.kernel_h : 0;
}

// Without padding, too: kernels take several columns of output at once, and read it for those that are not
// there.
int64_t padding_bytes_of_lines(const ConvGeometry& g, int64_t element_bytes) {
  return (g.ic * element_bytes + 63) & ~int64_t{63};
}

// The arguments that both kinds of kernels for 3 x 3 share.
bool is_plain_3x3_s8(const NodeView& node, const ConvGeometry& g) {
  if (side_of_lines(g) != 3) return false;
  for (const float multiplier : node.options<Requantization>().multiplier)
    if (!(multiplier < 1.0f)) return false;
  return true;
}

int32_t select_s8(const NodeView& node, const ConvGeometry& g, IsaMask isa) {
  if ((kListsDwconvMapS8 || kListsDwconv3x3S8) && is_plain_3x3_s8(node, g)) {
    const int32_t of_map = kListsDwconvMapS8 ? dwconv_map_s8_select(isa, g.ow, g.oh, g.ic) : -1;
    if (of_map >= 0) return kFirstOfMaps + of_map;
    const int32_t of_3x3 =
        kListsDwconv3x3S8 && g.ic >= kDwconv3x3MinChannels ? dwconv_3x3_s8_select(isa) : -1;
    const auto* const w = reinterpret_cast<const int8_t*>(node.input(kWeightInput).constant.data);
    if (of_3x3 >= 0 && dwconv_3x3_s8_fits(dwconv_3x3_s8_kernel(of_3x3), w, g.ic))
      return kFirstOfLines + of_3x3;
  }
  return dwconv_s8_select(isa, g.oc / g.ic);
}

int32_t select_lines_f32(const ConvGeometry& g, IsaMask isa) {
  const int32_t side = kListsDwconvLinesF32 ? side_of_lines(g) : 0;
  return dwconv_lines_fit(side, g.window.stride_w) ? dwconv_lines_f32_select(isa, g.ic) : -1;
}

int64_t map_scratch_bytes(const ConvGeometry& g) {
  return dwconv_map_s8_scratch_bytes(g.ow, g.oh, g.window.stride_w);
}

// In line, as part of the cold code of a plan: among the code of run() it costs a Cortex-M cycles.
__attribute__((always_inline)) inline Error size_s8(const NodeView& node, const ConvGeometry& g,
                                                    int32_t kernel, int32_t width, NodePlan* plan) {
  int64_t persistent = 0, scratch;
  if (is_map_s8(kernel)) {
    scratch = width * map_scratch_bytes(g);
  } else if (is_3x3_s8(kernel)) {
    persistent = dwconv_3x3_s8_packed_bytes(dwconv_3x3_s8_kernel(kernel - kFirstOfLines), g.ic);
    scratch = padding_bytes_of_lines(g, 1);
  } else {
    scratch = scratch_of(g, dwconv_s8_kernel(kernel)).total(width);
  }
  return set_sizes(node, persistent, scratch, plan);
}

__attribute__((cold)) Error plan_s8(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 3));
  ITG_TRY(check_depthwise_geometry(node));
  ITG_TRY(check_conv_s8(node, kDepthwiseAxis));
  const ConvGeometry g = depthwise_geometry(node);
  // A band is lower than its layer, and runs with its layer's kernel.
  const int32_t kernel = kStreams && node.band != nullptr ? plan->kernel : select_s8(node, g, context.isa);
  plan->kernel = static_cast<uint16_t>(kernel);
  return size_s8(node, g, kernel, context.width, plan);
}

__attribute__((always_inline)) inline Error size_s8_f32(const NodeView& node, const ConvGeometry& g,
                                                        const PlanContext& context, NodePlan* plan) {
  const int32_t kernel = dwconv_s8_f32_select(context.isa, g.oc / g.ic);
  plan->kernel = static_cast<uint16_t>(kernel);
  return set_sizes(node, 0, scratch_of(g, dwconv_s8_f32_kernel(kernel)).total(context.width), plan);
}

__attribute__((cold)) Error plan_s8_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 3));
  ITG_TRY(check_depthwise_geometry(node));
  ITG_TRY(check_conv_s8_f32(node, kDepthwiseAxis));
  return size_s8_f32(node, depthwise_geometry(node), context, plan);
}

__attribute__((cold)) Error plan_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 3));
  ITG_TRY(check_depthwise_geometry(node));
  ITG_TRY(check_conv_f32(node, kDepthwiseAxis, false));
  const ConvGeometry g = depthwise_geometry(node);
  const int32_t of_lines = select_lines_f32(g, context.isa);
  if (of_lines >= 0) {
    plan->kernel = static_cast<uint16_t>(kFirstOfLines + of_lines);
    return set_sizes(node, 0, padding_bytes_of_lines(g, sizeof(float)), plan);
  }
  const int32_t kernel = dwconv_f32_select(context.isa, g.oc / g.ic);
  plan->kernel = static_cast<uint16_t>(kernel);
  return set_sizes(node, 0, scratch_of(g, dwconv_f32_kernel(kernel)).total(context.width), plan);
}

__attribute__((cold)) void prepare_s8(const NodeView& node, uint16_t kernel, uint8_t* persistent) {
  if (!is_3x3_s8(kernel)) return;
  const Requantization& requantization = node.options<Requantization>();
  dwconv_3x3_s8_pack(dwconv_3x3_s8_kernel(kernel - kFirstOfLines),
                     reinterpret_cast<const int8_t*>(node.input(kWeightInput).constant.data),
                     requantization.folded_bias.data, requantization.multiplier.data,
                     depthwise_geometry(node).ic, persistent);
}

// Calls `kernel` for the output lines that it takes at once. `shared` has all that is not geometry.
template <typename T, typename Args>
void for_each_lines(const ConvGeometry& g, const NodeRun& run, const T* x, T* y, Args shared,
                    void (*kernel)(const Args& args)) {
  shared.w = g.w;
  shared.ow = g.ow;
  shared.channels = g.ic;
  shared.pad_left = g.window.pad_left;
  shared.stride = g.window.stride_w;
  const auto* const padding = shared.padding;
  constexpr bool kOnly3x3 = sizeof shared.lines / sizeof shared.lines[0] == 4;
  const int32_t side = kOnly3x3 ? 3 : g.window.kernel_h, lines = dwconv_lines_at_once(side, shared.stride),
                items = (g.oh + lines - 1) / lines;
  const ptrdiff_t in_line = static_cast<ptrdiff_t>(g.w) * g.ic,
                  out_line = static_cast<ptrdiff_t>(g.ow) * g.ic;
  for_ranges(*run.executor, int64_t{g.images} * items, [&](int32_t, int32_t first, int32_t last) {
    Args args = shared;
    for (int32_t i = first; i < last; ++i) {
      const int32_t image = i / items, out_y = i % items * lines;
      for (int32_t j = 0; j < side + lines - 1; ++j) {
        const int32_t in_y = input_y(g.window, out_y, 0) + j;
        const bool inside = in_y >= 0 && in_y < g.h;
        args.lines[j] = inside ? x + (static_cast<ptrdiff_t>(image) * g.h + in_y) * in_line : padding;
        args.steps[j] = inside ? g.ic : 0;
      }
      // 3 x 3: the fourth line is multiplied by nothing where it is not of the window, and may not exist.
      if (side == 3 && (lines == 1 || out_y + 1 == g.oh)) {
        args.lines[3] = args.lines[2];
        args.steps[3] = args.steps[2];
      }
      args.output[0] = y + (static_cast<ptrdiff_t>(image) * g.oh + out_y) * out_line;
      args.output[1] = lines == 2 && out_y + 1 < g.oh ? args.output[0] + out_line : nullptr;
      kernel(args);
    }
  });
}

void run_3x3_s8(const NodeView& node, const NodeRun& run) {
  const ConvGeometry g = depthwise_geometry(node);
  const Dwconv3x3S8Kernel& kernel = dwconv_3x3_s8_kernel(run.kernel - kFirstOfLines);
  const auto& options = node.options<DepthwiseConv2dOptions>();
  auto* const padding = reinterpret_cast<int8_t*>(run.scratch);
  if (g.padded()) memset(padding, node.input_zero_point(0), static_cast<size_t>(g.ic));
  Dwconv3x3S8Args args{};
  args.padding = padding;
  args.packed = run.persistent;
  args.requant = make_output_s8(node.output_zero_point(), options.clamp.lo, options.clamp.hi);
  for_each_lines(g, run, run.input<int8_t>(node, 0), run.output<int8_t>(node), args, kernel.function);
}

void run_map_s8(const NodeView& node, const NodeRun& run) {
  const ConvGeometry g = depthwise_geometry(node);
  const DwconvMapS8Kernel& kernel = dwconv_map_s8_kernel(run.kernel - kFirstOfMaps);
  const auto& options = node.options<DepthwiseConv2dOptions>();
  const auto* const x = run.input<int8_t>(node, 0);
  auto* const y = run.output<int8_t>(node);
  DwconvMapS8Args shared{};
  shared.weights = run.input<int8_t>(node, kWeightInput);
  shared.folded_bias = options.requantization.folded_bias.data;
  shared.multiplier = options.requantization.multiplier.data;
  shared.requant = make_output_s8(node.output_zero_point(), options.clamp.lo, options.clamp.hi);
  shared.zero_point = node.input_zero_point(0);
  shared.h = g.h;
  shared.w = g.w;
  shared.oh = g.oh;
  shared.ow = g.ow;
  shared.channels = g.ic;
  shared.pad_top = g.window.pad_top;
  shared.pad_left = g.window.pad_left;
  shared.stride = g.window.stride_w;
  const ptrdiff_t in_map = static_cast<ptrdiff_t>(g.h) * g.w * g.ic,
                  out_map = static_cast<ptrdiff_t>(g.oh) * g.ow * g.ic;
  const int32_t groups = g.ic / kDwconvMapChannels;
  for_ranges(*run.executor, int64_t{g.images} * groups, [&](int32_t slot, int32_t first, int32_t past) {
    DwconvMapS8Args args = shared;
    args.scratch = run.scratch + slot * map_scratch_bytes(g);
    for (; first < past; first += (args.last - args.first) / kDwconvMapChannels) {
      const int32_t image = first / groups, group = first % groups;
      args.input = x + image * in_map;
      args.output = y + image * out_map;
      args.first = group * kDwconvMapChannels;
      args.last = (group + past - first < groups ? group + past - first : groups) * kDwconvMapChannels;
      kernel.function(args);
    }
  });
}

void run_lines_f32(const NodeView& node, const NodeRun& run) {
  const ConvGeometry g = depthwise_geometry(node);
  auto* const padding = reinterpret_cast<float*>(run.scratch);
  if (g.padded()) memset(padding, 0, static_cast<size_t>(g.ic) * sizeof(float));
  DwconvLinesF32Args args{};
  args.padding = padding;
  args.weights = run.input<float>(node, kWeightInput);
  args.bias = node.has_input(kBiasInput) ? run.input<float>(node, kBiasInput) : nullptr;
  args.clamp = fused_clamp(node);
  args.side = g.window.kernel_h;
  for_each_lines(g, run, run.input<float>(node, 0), run.output<float>(node), args,
                 dwconv_lines_f32_kernel(run.kernel - kFirstOfLines).function);
}

// For kernels without scratch.
void run_lines_of_pixels(const ConvGeometry& g, const NodeRun& run, const int8_t* x, int8_t* y,
                         const DwconvS8Kernel& kernel, const DwconvS8Args& shared) {
  const ConvScratch scratch = scratch_of(g, kernel);
  const auto* const padding = reinterpret_cast<const int8_t*>(run.scratch);
  for_ranges(*run.executor, PixelRuns::lines(g), [&](int32_t slot, int32_t line, int32_t last) {
    auto** const rows =
        reinterpret_cast<const int8_t**>(run.scratch + scratch.padding_bytes + slot * scratch.slot_bytes);
    DwconvS8Args args = shared;
    for (; line < last; ++line) {
      PixelRuns runs(g, x, padding, line, kernel.pixels, rows);
      for (PixelRun each; runs.next(&each);) {
        args.rows = each.rows;
        args.pixel_step = each.pixel_step;
        args.pixels = each.count;
        args.output = y + static_cast<ptrdiff_t>(each.first) * g.oc;
        args.output_stride = static_cast<size_t>(each.stride) * shared.output_stride;
        kernel.function(args);
      }
    }
  });
}

void run_s8(const NodeView& node, const NodeRun& run) {
  if (kRunsDwconvMapS8 && is_map_s8(run.kernel)) return run_map_s8(node, run);
  if (is_3x3_s8(run.kernel)) return run_3x3_s8(node, run);
  const ConvGeometry g = depthwise_geometry(node);
  const DwconvS8Kernel& kernel = dwconv_s8_kernel(run.kernel);
  const auto& options = node.options<DepthwiseConv2dOptions>();
  const int32_t in_zero_point = node.input_zero_point(0);
  if (g.padded()) memset(run.scratch, in_zero_point, static_cast<size_t>(g.ic));
  DwconvS8Args shared{};
  shared.weights = run.input<int8_t>(node, kWeightInput);
  shared.folded_bias = options.requantization.folded_bias.data;
  shared.multiplier = options.requantization.multiplier.data;
  shared.output_stride = static_cast<size_t>(g.oc);
  shared.requant = make_output_s8(node.output_zero_point(), options.clamp.lo, options.clamp.hi);
  shared.taps = g.taps();
  shared.channels = g.ic;
  shared.depth_multiplier = g.oc / g.ic;
  const auto* const x = run.input<int8_t>(node, 0);
  auto* const y = run.output<int8_t>(node);
  if (!kPacksWeights || kernel.tap_bytes == 0) return run_lines_of_pixels(g, run, x, y, kernel, shared);
  for_each_pixels(g, run, scratch_of(g, kernel), kernel.pixels, x,
                  [&](const int8_t* const* rows, int32_t first, int32_t pixels, uint8_t* scratch) {
                    DwconvS8Args args = shared;
                    args.rows = rows;
                    args.output = y + static_cast<ptrdiff_t>(first) * g.oc;
                    args.scratch = scratch;
                    args.pixels = pixels;
                    kernel.function(args);
                  });
}

void run_s8_f32(const NodeView& node, const NodeRun& run) {
  const ConvGeometry g = depthwise_geometry(node);
  const DwconvS8F32Kernel& kernel = dwconv_s8_f32_kernel(run.kernel);
  if (g.padded()) memset(run.scratch, node.input_zero_point(0), static_cast<size_t>(g.ic));
  const Requantization& requantization = node.options<Requantization>();
  DwconvS8F32Args shared{};
  shared.weights = run.input<int8_t>(node, kWeightInput);
  shared.folded_bias = requantization.folded_bias.data;
  shared.multiplier = requantization.multiplier.data;
  shared.y_stride = static_cast<size_t>(g.oc);
  shared.clamp = fused_clamp(node);
  shared.taps = g.taps();
  shared.channels = g.ic;
  shared.depth_multiplier = g.oc / g.ic;
  auto* const y = run.output<float>(node);
  for_each_pixels(g, run, scratch_of(g, kernel), kernel.pixels, run.input<int8_t>(node, 0),
                  [&](const int8_t* const* rows, int32_t first, int32_t pixels, uint8_t* scratch) {
                    DwconvS8F32Args args = shared;
                    args.rows = rows;
                    args.y = y + static_cast<ptrdiff_t>(first) * g.oc;
                    args.scratch = scratch;
                    args.pixels = pixels;
                    kernel.f32_function(args);
                  });
}

void run_f32(const NodeView& node, const NodeRun& run) {
  if (is_of_lines_f32(run.kernel)) return run_lines_f32(node, run);
  const ConvGeometry g = depthwise_geometry(node);
  const DwconvF32Kernel& kernel = dwconv_f32_kernel(run.kernel);
  if (g.padded()) memset(run.scratch, 0, static_cast<size_t>(g.ic) * 4);
  DwconvF32Args shared{};
  shared.weights = run.input<float>(node, kWeightInput);
  shared.bias = node.has_input(kBiasInput) ? run.input<float>(node, kBiasInput) : nullptr;
  shared.output_stride = static_cast<size_t>(g.oc);
  shared.clamp = fused_clamp(node);
  shared.taps = g.taps();
  shared.channels = g.ic;
  shared.depth_multiplier = g.oc / g.ic;
  auto* const y = run.output<float>(node);
  for_each_pixels(g, run, scratch_of(g, kernel), kernel.pixels, run.input<float>(node, 0),
                  [&](const float* const* rows, int32_t first, int32_t pixels, uint8_t*) {
                    DwconvF32Args args = shared;
                    args.rows = rows;
                    args.output = y + static_cast<ptrdiff_t>(first) * g.oc;
                    args.pixels = pixels;
                    kernel.function(args);
                  });
}

const char* name_s8(uint16_t kernel) {
  if (is_map_s8(kernel)) return dwconv_map_s8_kernel(kernel - kFirstOfMaps).name;
  return is_3x3_s8(kernel) ? dwconv_3x3_s8_kernel(kernel - kFirstOfLines).name
                           : dwconv_s8_kernel(kernel).name;
}
const char* name_f32(uint16_t kernel) {
  return is_of_lines_f32(kernel) ? dwconv_lines_f32_kernel(kernel - kFirstOfLines).name
                                 : dwconv_f32_kernel(kernel).name;
}

const char* name_s8_f32(uint16_t kernel) { return dwconv_s8_f32_kernel(kernel).name; }

}  // namespace

__attribute__((cold)) Error size_depthwise_s8(const NodeView& node, DType written, const PlanContext& context,
                                              NodePlan* plan) {
  const ConvGeometry g = depthwise_geometry(node);
  if (written == DType::kF32) return size_s8_f32(node, g, context, plan);
  // Which of them it is depends on the weights.
  int32_t kernels[] = {dwconv_s8_select(context.isa, g.oc / g.ic), -1, -1};
  const bool is_3x3 = side_of_lines(g) == 3;
  if (kListsDwconvMapS8 && is_3x3) kernels[1] = dwconv_map_s8_select(context.isa, g.ow, g.oh, g.ic);
  if (kListsDwconv3x3S8 && is_3x3 && g.ic >= kDwconv3x3MinChannels)
    kernels[2] = dwconv_3x3_s8_select(context.isa);
  for (int32_t i = 0; i < 3; ++i) {
    if (kernels[i] < 0) continue;
    NodePlan one;
    const int32_t first = i == 0 ? 0 : i == 1 ? kFirstOfMaps : kFirstOfLines;
    ITG_TRY(size_s8(node, g, first + kernels[i], context.width, &one));
    if (one.persistent_bytes > plan->persistent_bytes) plan->persistent_bytes = one.persistent_bytes;
    if (one.scratch_bytes > plan->scratch_bytes) plan->scratch_bytes = one.scratch_bytes;
  }
  return kNoError;
}

extern const OpRun kDepthwiseConv2dS8Run, kDepthwiseConv2dF32Run, kDepthwiseConv2dS8F32Run;
const OpRun kDepthwiseConv2dS8Run = {run_s8}, kDepthwiseConv2dF32Run = {run_f32},
            kDepthwiseConv2dS8F32Run = {run_s8_f32};

extern const OpDef kDepthwiseConv2dS8, kDepthwiseConv2dF32, kDepthwiseConv2dS8F32;
const OpDef kDepthwiseConv2dS8 = {Op::kDepthwiseConv2d,   DType::kS8, -1,
                                  depthwise_rule(),       plan_s8,    prepare_s8,
                                  &kDepthwiseConv2dS8Run, name_s8};
const OpDef kDepthwiseConv2dF32 = {Op::kDepthwiseConv2d,    DType::kF32, -1,
                                   depthwise_rule(),        plan_f32,    nullptr,
                                   &kDepthwiseConv2dF32Run, name_f32};
const OpDef kDepthwiseConv2dS8F32 = {Op::kDepthwiseConv2d,      DType::kF32, -1,
                                     depthwise_rule(),          plan_s8_f32, nullptr,
                                     &kDepthwiseConv2dS8F32Run, name_s8_f32, DType::kS8};

__attribute__((cold)) Error check_depthwise_geometry(const NodeView& node) {
  ITG_TRY(check_input_rank(node, 0, 4));
  ITG_TRY(check_input_rank(node, kWeightInput, 3));
  ITG_TRY(check_output_rank(node, 4));
  const Shape in = node.input_shape(0), w = node.input_shape(kWeightInput), out = node.output_shape();
  const Window2d& window = node.options<Window2d>();
  if (w[0] != window.kernel_h)
    return node.input_error(Status::kShapeMismatch, kWeightInput, w[0], window.kernel_h);
  if (w[1] != window.kernel_w)
    return node.input_error(Status::kShapeMismatch, kWeightInput, w[1], window.kernel_w);
  if (w[2] % in[3] != 0) return node.input_error(Status::kShapeMismatch, kWeightInput, w[2], in[3]);
  if (out[0] != in[0]) return node.output_error(Status::kShapeMismatch, 0, out[0], in[0]);
  if (out[3] != w[2]) return node.output_error(Status::kShapeMismatch, 0, out[3], w[2]);
  return check_window(node, in[1], in[2], out[1], out[2]);
}

ConvGeometry depthwise_geometry(const NodeView& node) {
  const Shape in = node.input_shape(0), out = node.output_shape();
  ConvGeometry g;
  g.images = in[0];
  g.h = in[1];
  g.w = in[2];
  g.ic = in[3];
  g.oh = out[1];
  g.ow = out[2];
  g.oc = out[3];
  g.window = node.options<Window2d>();
  return g;
}

}  // namespace intaglio

#include "tools/node_work.h"

#include <algorithm>
#include <cmath>

#include "intaglio/describe.h"
#include "kernels/dwconv/dwconv_map_s8.h"
#include "kernels/gemm/gemm_s8.h"
#include "runtime/op_search.h"
#include "runtime/ops/conv_2d.h"
#include "runtime/ops/conv_gemm.h"

namespace intaglio::tools {
namespace {

constexpr int32_t kFour = 4;  // rows of a tile, and codes of a word

// How a node's output windows lie in its input.
struct WindowCounts {
  int64_t outside = 0;        // windows with taps outside
  int64_t fours_outside = 0;  // four windows in a row of which that is so, or that do not stand in one line
  int64_t taps_inside = 0;    // of all windows
  int64_t lines_outside = 0;  // likewise
};

bool is_within(int32_t first, int32_t taps, int32_t dilation, int32_t size) {
  return first >= 0 && first + (taps - 1) * dilation < size;
}

int64_t taps_within(int32_t first, int32_t taps, int32_t dilation, int32_t size) {
  int64_t count = 0;
  for (int32_t i = 0; i < taps; ++i) count += first + i * dilation >= 0 && first + i * dilation < size;
  return count;
}

WindowCounts count_windows(const ConvGeometry& g) {
  const Window2d& w = g.window;
  WindowCounts counts;
  int64_t number = 0;
  bool four_inside = true;
  for (int32_t y = 0; y < g.oh; ++y) {
    const int32_t top = y * w.stride_h - w.pad_top;
    const bool line_inside = is_within(top, w.kernel_h, w.dilation_h, g.h);
    const int64_t lines = taps_within(top, w.kernel_h, w.dilation_h, g.h);
    for (int32_t x = 0; x < g.ow; ++x) {
      const int32_t left = x * w.stride_w - w.pad_left;
      const bool inside = line_inside && is_within(left, w.kernel_w, w.dilation_w, g.w);
      counts.outside += !inside;
      counts.lines_outside += w.kernel_h - lines;
      counts.taps_inside += lines * taps_within(left, w.kernel_w, w.dilation_w, g.w);
      if (number % kFour == 0) four_inside = g.ow - x >= kFour;
      four_inside = four_inside && inside;
      if (++number % kFour == 0) counts.fours_outside += !four_inside;
    }
  }
  counts.outside *= g.images;
  counts.fours_outside *= g.images;
  counts.taps_inside *= g.images;
  counts.lines_outside *= g.images;
  return counts;
}

// Of a layer or a pool: where a pool's outputs are, a depthwise layer's would be.
ConvGeometry geometry_of(const NodeView& node) {
  if (node.info.op == Op::kFullyConnected) return fully_connected_geometry(node);
  return node.info.op == Op::kConv2d ? conv_2d_geometry(node) : depthwise_geometry(node);
}

// How often b goes into a.
double whole_of(int32_t a, int32_t b) {
  const int32_t times = a / b;
  return times;
}

// Whether codes are clamped behind the sums.
bool is_narrow(const NodeInfo& node) {
  const auto clamp = node.options.value<Clamp>();
  return clamp.lo != -128 || clamp.hi != 127;
}

// gemm_s8_dsp.cc, loop by loop: the numbers of its rows, columns and blocks of four depths.
class DspProducts {
 public:
  DspProducts(const ConvGeometry& g, bool windows, bool residual, bool narrow)
      : windows_(windows),
        residual_(residual),
        narrow_(narrow),
        m_(g.pixels()),
        n_(whole_of(g.oc, g.groups)),
        k_(g.ic / g.groups),
        depth_(g.taps() * k_),
        taps_(g.taps()),
        lines_(g.window.kernel_h),
        is_whole_line_(g.window.dilation_w == 1 && g.groups == 1),
        run_bytes_(is_whole_line_ ? g.window.kernel_w * k_ : k_),
        runs_(is_whole_line_ ? 1 : g.window.kernel_w),
        blocks_(whole_of(depth_ + kFour - 1, kFour)) {
    if (windows_) counts_ = count_windows(g);
    const double left = depth_ < kFour ? 0 : products_of_many(g);
    if (depth_ < kFour) part(kScalarOutputs) = m_ * n_, part(kScalarProducts) = m_ * n_ * depth_;
    const double single = std::fmod(left, kFour);
    rows_alone(single);
    fours((left - single) / kFour);
    part(kWeights) = n_ * depth_;
    for (double& amount : amounts_) amount *= g.groups;
    amounts_[kCalls] = g.groups;
  }

  std::vector<double> amounts(bool is_convolution) && {
    amounts_[kNode] = 1;
    amounts_[kConvolution] = is_convolution;
    return std::move(amounts_);
  }

 private:
  enum Part {
    kNode,
    kConvolution,
    kCalls,
    kScalarOutputs,
    kScalarProducts,
    kTiles,
    kTileBlocks,
    kTilesOutside,
    kTileCalls,
    kTileColumns,
    kTileColumnBlocks,
    kTileSums,
    kTileProducts,
    kCopies,
    kCopiedLines,
    kCopiedWords,
    kPieces,
    kPieceLines,
    kPieceWords,
    kPieceCodes,
    kFilledLines,
    kPairCalls,
    kPairColumns,
    kPairColumnBlocks,
    kPairSums,
    kPairBlocks,
    kPairPasses,
    kRows,
    kRowBlocks,
    kRowOctets,
    kRowOctetBlocks,
    kRowPasses,
    kRowOutputs,
    kPlainBlocks,
    kPlainRests,
    kFours,
    kFourRuns,
    kFourBlocks,
    kFoursOutside,
    kFourTaps,
    kFourTapBlocks,
    kFourSums,
    kFourProducts,
    kFourPasses,
    kFourSingles,
    kClampCalls,
    kClamped,
    kAdded,
    kWeights,
    kParts
  };

  double& part(Part which) { return amounts_[which]; }
  static double ceil_of(double a, double b) { return std::ceil(a / b); }

  // Adds what many rows take at once, and gives how many are left.
  double products_of_many(const ConvGeometry& g) {
    constexpr int32_t kFewRows = 12;
    const Window2d& w = g.window;
    const bool by_pairs = std::fmod(n_, 2) == 0 && !residual_;
    if (!windows_) {
      if (m_ < kFewRows || depth_ % kFour != 0 || !by_pairs) return m_;
      pairs(1, m_ - std::fmod(m_, 2));
      return std::fmod(m_, 2);
    }
    const bool nine = g.taps() == 9 && k_ % kFour == 0;
    const bool tiles = nine && w.kernel_w == 3 && w.stride_w == 1 && w.dilation_w == 1 && g.ow % kFour == 0;
    const double most = tiles ? (gemm_s8_dsp_lines_bytes(depth_) - 2 * depth_) / (4 * depth_ + 16) : 0;
    if (most > 1) {
      of_tiles(m_ / kFour, ceil_of(m_ / kFour, most));
      return 0;
    }
    double copies = 0;
    if (k_ % kFour != 0)
      copies = kGemmS8DspRows;
    else if (nine && is_whole_line_)
      copies = (gemm_s8_dsp_lines_bytes(depth_) / depth_ - 4) & ~1;
    if (copies < kFewRows || m_ < kFewRows || !by_pairs) return m_;
    const double rows = m_ - std::fmod(m_, 2);
    copies_of(rows, static_cast<double>(counts_.outside));
    pairs(ceil_of(rows, copies), rows);
    return std::fmod(m_, 2);
  }

  // Windows that are copied, of which some are outside in parts.
  void copies_of(double windows, double outside) {
    if (!is_whole_line_ || run_bytes_ < kFour) outside = windows;
    const double inside = windows - outside;
    part(kCopies) += windows;
    part(kPieces) += outside;
    part(kCopiedLines) += inside * lines_;
    part(kCopiedWords) += inside * lines_ * whole_of(run_bytes_, kFour);
    const double filled = static_cast<double>(counts_.lines_outside) * windows / m_;
    const double pieces = std::max(outside * lines_ - filled, 0.0) * runs_;
    part(kFilledLines) += filled;
    part(kPieceLines) += pieces;
    part(run_bytes_ < kFour ? kPieceCodes : kPieceWords) +=
        pieces * (run_bytes_ < kFour ? run_bytes_ : run_bytes_ / kFour);
  }

  void of_tiles(double tiles, double calls) {
    part(kTiles) = tiles;
    part(kTileBlocks) = tiles * blocks_;
    part(kTilesOutside) = static_cast<double>(counts_.fours_outside);
    part(kTileCalls) = calls;
    part(kTileColumns) = calls * n_;
    part(kTileColumnBlocks) = calls * n_ * blocks_;
    part(kTileSums) = tiles * n_;
    part(kTileProducts) = tiles * n_ * blocks_;
    outputs(tiles * n_ * kFour);
  }

  void pairs(double calls, double rows) {
    const double columns = n_ / 2;
    part(kPairCalls) = calls;
    part(kPairColumns) = calls * columns;
    part(kPairColumnBlocks) = calls * columns * blocks_;
    part(kPairSums) = rows / 2 * columns;
    part(kPairBlocks) = rows / 2 * columns * blocks_;
    part(kPairPasses) = rows / 2 * columns * ceil_of(blocks_, 8);
    outputs(rows * n_);
  }

  void rows_alone(double rows) {
    part(kRows) = rows;
    if (windows_ && lines_ * runs_ > 1) copies_of(rows, 0);
    if (n_ >= 8 && !residual_ && depth_ % kFour == 0) {
      const double halves = 2 * ceil_of(n_, 8);
      part(kRowBlocks) = rows * blocks_;
      part(kRowOctets) = rows * halves;
      part(kRowOctetBlocks) = rows * halves * blocks_;
      part(kRowPasses) = rows * halves * ceil_of(blocks_, 5);
    } else {
      part(kRowOutputs) = rows * n_;
      part(kPlainBlocks) = rows * n_ * whole_of(depth_, kFour);
      part(kPlainRests) = rows * n_ * (depth_ % kFour);
    }
    outputs(rows * n_);
  }

  void fours(double tiles) {
    const double outside = windows_ ? std::min(tiles, static_cast<double>(counts_.fours_outside)) : 0;
    const bool one_run = lines_ * runs_ == 1;
    const double apart = one_run || run_bytes_ % kFour == 0 ? outside : tiles;
    part(kFours) = tiles;
    part(kFourRuns) = (tiles - apart) * lines_ * runs_;
    part(kFourBlocks) = tiles * blocks_;
    part(kFoursOutside) = apart;
    if (k_ % kFour == 0)
      part(kFourTaps) = apart * taps_, part(kFourTapBlocks) = apart * blocks_;
    else
      copies_of(apart * kFour, outside * kFour);
    part(kFourSums) = tiles * n_;
    part(kFourProducts) = tiles * n_ * blocks_;
    if (depth_ % kFour == 0)
      part(kFourPasses) = tiles * n_ * ceil_of(blocks_, 8);
    else
      part(kFourSingles) = tiles * n_ * blocks_;
    outputs(tiles * n_ * kFour);
  }

  void outputs(double count) {
    if (narrow_ && count > 0) part(kClamped) += count, part(kClampCalls) += n_;
    if (residual_) part(kAdded) += count;
  }

  const bool windows_, residual_, narrow_;
  const double m_, n_;
  const int32_t k_, depth_, taps_, lines_;
  const bool is_whole_line_;
  const int32_t run_bytes_, runs_;  // of a window's line
  const double blocks_;
  WindowCounts counts_;
  std::vector<double> amounts_ = std::vector<double>(kParts);
};

// Outputs that are requantized in software floating point where a core has none: their multiplier is outside of what
// requant_soft.h computes in integers.
double outputs_by_floats(const NodeInfo& node, double pixels) {
  int32_t channels = 0;
  const auto requantization = node.options.value<Requantization>();
  for (const float multiplier : requantization.multiplier)
    channels += !(multiplier >= 0x1p-23f && multiplier < 0x1p9f);
  return pixels * channels;
}

// In how many pieces gemm_s8_columns.h reads the windows that it does not read line by line.
int64_t pieces_of(const ConvGeometry& g) {
  constexpr int32_t kPadding = 32;
  const Window2d& w = g.window;
  const int32_t k = g.ic / g.groups;
  const bool whole_lines = w.dilation_w == 1 && g.groups == 1;
  const int32_t taps = whole_lines ? w.kernel_w : 1, runs = whole_lines ? 1 : w.kernel_w;
  const auto filled = [&](int32_t count) { return int64_t{(count * k + kPadding - 1) / kPadding}; };
  int64_t pieces = 0;
  for (int32_t out_y = 0; out_y < g.oh; ++out_y)
    for (int32_t out_x = 0; out_x < g.ow; ++out_x) {
      const int32_t top = out_y * w.stride_h - w.pad_top, left = out_x * w.stride_w - w.pad_left;
      if (runs == 1 && is_within(top, w.kernel_h, w.dilation_h, g.h) &&
          is_within(left, w.kernel_w, w.dilation_w, g.w))
        continue;
      for (int32_t y = top, ky = 0; ky < w.kernel_h; ++ky, y += w.dilation_h) {
        if (y < 0 || y >= g.h) {
          pieces += filled(taps * runs);
          continue;
        }
        for (int32_t x = left, run = 0; run < runs; ++run, x += w.dilation_w) {
          const int32_t first = std::max(-x, 0), past = std::min(g.w - x, taps);
          pieces += first >= past ? filled(taps) : filled(first) + 1 + filled(taps - past);
        }
      }
    }
  return pieces * g.images;
}

// Other products: by outputs and products, with what rows, groups of columns and borders take besides.
std::vector<double> products(const ConvGeometry& g, const NodeInfo& node, bool windows, bool residual) {
  const double m = g.pixels(), n = whole_of(g.oc, g.groups), depth = g.taps() * whole_of(g.ic, g.groups),
               lines = g.window.kernel_h;
  const double fours = std::ceil(n / 4), sixteens = std::ceil(n / 16);
  const double outside = windows ? static_cast<double>(count_windows(g).outside) : 0;
  const double pieces = windows ? static_cast<double>(pieces_of(g)) : 0;
  std::vector<double> amounts = {m,
                                 m * depth,
                                 m * fours,
                                 m * fours * depth,
                                 m * sixteens,
                                 m * sixteens * lines,
                                 m * fours * lines,
                                 m * fours * lines * std::fmod(depth / lines, 4),
                                 m * n,
                                 m * n * depth,
                                 m * n * std::fmod(depth, 4),
                                 outside,
                                 outside * depth,
                                 outside * g.taps(),
                                 outside * sixteens * g.taps(),
                                 pieces * sixteens,
                                 pieces * fours,
                                 n * depth,
                                 residual ? m * n : 0};
  for (double& amount : amounts) amount *= g.groups;
  amounts.insert(amounts.end(), {1, node.op == Op::kConv2d ? 1.0 : 0.0, static_cast<double>(g.groups),
                                 outputs_by_floats(node, m)});
  return amounts;
}

// dwconv_map_s8_dsp.cc: four channels' lines are widened, then a line of output is computed channel by channel.
std::vector<double> depthwise_map(const ConvGeometry& g, bool narrow) {
  const bool turned = dwconv_map_s8_turned(g.ow, g.oh);
  const double fours = g.images * whole_of(g.ic, kFour), lines = turned ? g.ow : g.oh,
               columns = turned ? g.oh : g.ow;
  const double pairs = dwconv_map_s8_pairs(g.ow, g.oh, g.window.stride_w);
  const double widened = (lines - 1) * g.window.stride_w + 3;
  const bool by_pairs = g.window.stride_w == 1 && columns > 1;
  const double outputs = fours * kFour * lines;
  const auto if_pairs = [by_pairs](double amount) { return by_pairs ? amount : 0; };
  return {1,
          fours,
          fours * pairs,
          fours * widened,
          fours * widened * pairs,
          fours * lines,
          if_pairs(outputs),
          if_pairs(outputs * std::floor(columns / 2)),
          if_pairs(outputs * std::fmod(columns, 2)),
          by_pairs ? 0 : outputs,
          by_pairs ? 0 : outputs * columns,
          narrow ? outputs * columns : 0,
          narrow ? outputs : 0,
          9.0 * g.ic};
}

std::vector<double> depthwise(const ConvGeometry& g, const NodeInfo& node) {
  const double pixels = g.pixels(), taps = g.taps(), fours = std::floor(g.oc / 4.0), rest = g.oc % kFour;
  const auto outside = static_cast<double>(count_windows(g).outside);
  const bool multiplies = g.oc != g.ic;
  return {1,
          pixels,
          pixels * taps,
          pixels * fours,
          pixels * fours * taps,
          pixels * std::ceil(g.oc / 4.0),
          pixels * std::ceil(g.oc / 4.0) * taps,
          pixels * std::ceil(g.oc / 16.0),
          pixels * rest,
          pixels * rest * taps,
          outside,
          outside * taps,
          static_cast<double>(g.images) * g.oh,
          multiplies ? pixels * g.oc : 0,
          multiplies ? pixels * g.oc * taps : 0,
          taps * g.oc,
          outputs_by_floats(node, pixels)};
}

// Whether an operator on elements works as cycle_table.py's nodes do: means of maps, slices without steps, one table of a function.
bool is_usual(const Model& model, const NodeInfo& node) {
  const Shape in = model.tensor(node.inputs[0]).shape;
  if (const auto* const reduce = node.options.get<ReduceOptions>())
    return in.rank == 4 && reduce->axes.size == 2 && reduce->axes[0] == 1 && reduce->axes[1] == 2;
  if (const auto* const slice = node.options.get<StridedSliceOptions>())
    return std::all_of(slice->strides.begin(), slice->strides.end(), [](int32_t step) { return step == 1; });
  return node.op != Op::kLookup || model.tensor(node.inputs[1]).shape.rank == 1;
}

// Elements moved or computed one by one.
std::vector<double> element_by_element(const Model& model, const NodeInfo& node) {
  const TensorInfo out = model.tensor(node.outputs[0]);
  const auto outputs = static_cast<double>(out.shape.elements());
  int64_t side_by_side = 1;
  int32_t axis = std::max(out.shape.rank - 1, 0);
  if (const auto* const concat = node.options.get<ConcatOptions>()) axis = concat->axis;
  while (node.op == Op::kTranspose && axis > 0 && out.shape[axis] == 1) --axis;
  for (; axis < out.shape.rank; ++axis) side_by_side *= out.shape[axis];
  const auto last = static_cast<double>(side_by_side);
  double inputs = 0, input_rows = 0, rows_again = 0, elements_again = 0;
  for (const int32_t t : node.inputs) {
    if (t < 0) continue;
    const TensorInfo info = model.tensor(t);
    const auto count = static_cast<double>(info.shape.elements());
    const bool is_operand = node.op == Op::kAdd || node.op == Op::kSub || node.op == Op::kMul;
    if (is_operand || !info.is_constant()) {
      inputs += count;
      input_rows += count / (info.shape.rank == 0 ? 1 : info.shape[info.shape.rank - 1]);
    }
    if (info.shape.elements() == out.shape.elements()) continue;
    // One operand repeats: each of its rows, or each of its elements along a row.
    const bool by_rows =
        info.shape.rank > 0 && info.shape[info.shape.rank - 1] == out.shape[out.shape.rank - 1];
    (by_rows ? rows_again : elements_again) = outputs;
  }
  return {1,
          static_cast<double>(node.inputs.size),
          outputs,
          outputs / last,
          inputs,
          input_rows,
          rows_again,
          rows_again / last,
          elements_again,
          elements_again / last,
          is_usual(model, node) ? 0 : outputs};
}

std::vector<double> pool(const ConvGeometry& g) {
  const double pixels = g.pixels(), c = g.oc;
  const auto taps = static_cast<double>(count_windows(g).taps_inside);
  return {1, pixels, taps, pixels * c, taps * c};
}

}  // namespace

NodeWork work_of(const Model& model, int32_t index, const Target& target) {
  const NodeInfo node = model.node(index);
  const NodeView view{index, node, &model};
  const OpDef* const def = find_op(all_ops(), model, node);
  NodeWork work{std::string(op_name(node.op)) + " " + dtype_name(model.tensor(node.outputs[0]).dtype), {}};
  if (def == nullptr) return work;
  PlanContext context;
  context.isa = target.plan_target().kernels();
  NodePlan plan;
  if (def->kernel_name != nullptr && def->plan(view, context, &plan).ok())
    work.kernel = def->kernel_name(plan.kernel);
  const bool narrow = is_narrow(node);
  switch (node.op) {
    case Op::kConv2d:
    case Op::kFullyConnected: {
      const ConvGeometry g = geometry_of(view);
      const bool convolves = node.op == Op::kConv2d;
      const bool windows =
          convolves && (!g.pointwise() || model.tensor(node.outputs[0]).dtype == DType::kF32);
      const bool residual = convolves && node.inputs.size > 3 && node.inputs[3] >= 0;
      if (work.kernel == "gemm_s8_dsp") {
        work.amounts = DspProducts(g, windows, residual, narrow).amounts(convolves);
      } else {
        work.amounts = products(g, node, windows, residual);
        if (windows) work.kernel += " windows";
      }
      break;
    }
    case Op::kDepthwiseConv2d: {
      const ConvGeometry g = geometry_of(view);
      work.amounts = work.kernel == "dwconv_map_s8_dsp" ? depthwise_map(g, narrow) : depthwise(g, node);
      break;
    }
    case Op::kAvgPool2d:
    case Op::kMaxPool2d:
      work.amounts = pool(geometry_of(view));
      work.kernel = std::string(op_name(node.op)) + " " + work.kernel;
      break;
    case Op::kReshape: {  // where the input stands already, nothing is copied
      const bool stays = model.activation_offset(node.inputs[0]) == model.activation_offset(node.outputs[0]);
      work.amounts = {1, stays ? 0 : static_cast<double>(model.tensor(node.outputs[0]).shape.elements())};
      break;
    }
    default:
      work.amounts = element_by_element(model, node);
      if (def->kernel_name != nullptr) work.kernel = std::string(op_name(node.op)) + " " + work.kernel;
      if (const auto* const resize = node.options.get<ResizeOptions>())
        if (resize->interpolation == Interpolation::kBilinear) work.kernel += " bilinear";
      if (const auto* const transpose = node.options.get<TransposeOptions>()) {
        const Shape in = model.tensor(node.inputs[0]).shape;
        int32_t last = 0, greatest = 0;  // of the axes with more than one index
        for (const int32_t axis : transpose->permutation)
          if (in[axis] > 1) last = axis, greatest = std::max(greatest, axis);
        if (last == greatest) work.kernel += " of rows";
      }
  }
  return work;
}

}  // namespace intaglio::tools

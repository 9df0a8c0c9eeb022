// The shape of a convolution as kernels with indirection take it, and how its work is split.
#pragma once

#include <cstring>

#include "platforms/parallel.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/conv_checks.h"
#include "runtime/window.h"

namespace intaglio {

// NHWC [images, h, w, ic] to [images, oh, ow, oc]. A fully connected layer is one with h = w = oh = ow = 1.
struct ConvGeometry {
  int32_t images = 0, h = 1, w = 1, ic = 0;
  int32_t oh = 1, ow = 1, oc = 0;
  int32_t groups = 1;
  Window2d window;
  bool allows_im2col = true;

  int32_t taps() const { return window.kernel_h * window.kernel_w; }
  int32_t pixels() const { return images * oh * ow; }
  bool padded() const {
    return (window.pad_top | window.pad_left | window.pad_bottom | window.pad_right) != 0;
  }

  // One tap, which stands where its output stands.
  bool pointwise() const { return taps() == 1 && window.stride_h == 1 && window.stride_w == 1 && !padded(); }

  // With few channels (a first layer) taps are merged: the same products in the same order, in longer runs.
  // Those of a window's line lie side by side already. With at most four channels whole windows are copied, a
  // tile at a time (im2col), where a kernel takes several depths at once.
  bool merged() const {
    constexpr int32_t kFewChannels = 16;
    return groups == 1 && window.kernel_w > 1 && window.dilation_w == 1 && ic <= kFewChannels;
  }
  bool im2col() const { return allows_im2col && merged() && ic <= 4; }
  int32_t gemm_taps() const { return im2col() ? 1 : merged() ? window.kernel_h : taps(); }
  int32_t gemm_k() const { return im2col() ? taps() * ic : merged() ? window.kernel_w * ic : ic / groups; }
  // From one copied window to the next: what completes any kernel's depth interleave may be read, too.
  int32_t im2col_step() const { return (gemm_k() + 15) & ~15; }
};

// Fills `rows`, an indirection buffer, for output pixels [first, first + count): the row that tap t of pixel p reads goes
// to rows[p * pixel_step + t * tap_step]. A tap outside the input gets `padding`. With `patches`,
// [count][kernel_h][kernel_w * ic], the lines of a window are merged, t < kernel_h, and one that is partly outside is
// put together there; otherwise nullptr. T: int8_t, float. No struct: a Cortex-M pays for one at each tile of four rows.
template <typename T>
void fill_rows(const ConvGeometry& g, const T* x, const T* padding, int32_t first, int32_t count,
               int32_t pixel_step, int32_t tap_step, T* patches, const T** rows);

// Copies whole windows to `patches`, [count][im2col_step()], and fills rows[p].
template <typename T>
void im2col_rows(const ConvGeometry& g, const T* x, const T* padding, int32_t first, int32_t count,
                 T* patches, const T** rows);

// The same geometry over the bytes of int16 elements: fill_rows<int8_t>() serves both, and nobody pays for a third.
inline ConvGeometry bytes_of_s16(ConvGeometry g) {
  g.ic *= static_cast<int32_t>(sizeof(int16_t));
  return g;
}

inline int32_t executor_width(const Executor& executor) {
  return executor.parallel_for == nullptr ? 1 : executor.width;
}

// Cuts [0, items), items below 2^31, into at most `width` ranges and calls body(slot, first, last) for each;
// each range has a slot of scratch of its own, whatever threads run it. The cut changes no result.
template <typename Body>
void for_ranges(const Executor& executor, int64_t items, Body body) {
  const int32_t width = executor_width(executor), count = static_cast<int32_t>(items);
  const int32_t ranges = count < width ? count : width;
  parallel_for(executor, ranges, [&](int32_t slot) {
    const int32_t each = count / ranges, longer = count % ranges;  // so many have one more
    const int32_t first = slot * each + (slot < longer ? slot : longer);
    body(slot, first, first + each + (slot < longer ? 1 : 0));
  });
}

// Scratch memory: one padding row, then a slot a range, each [pointer table | patches | the kernel's own]. A
// table entry counts as 8 bytes on every machine, so that a host's figure holds for all.
struct ConvScratch {
  int64_t padding_bytes, patches_offset, kernel_offset, slot_bytes;

  int64_t total(int32_t width) const { return padding_bytes + width * slot_bytes; }

  // The slots' patches with another size.
  void resize_patches(int64_t bytes) {
    const int64_t kernel_bytes = slot_bytes - kernel_offset;
    kernel_offset = patches_offset + ((bytes + 63) & ~int64_t{63});
    slot_bytes = kernel_offset + kernel_bytes;
  }
};

inline ConvScratch conv_scratch(const ConvGeometry& g, int64_t row_bytes, int64_t table_entries,
                                int64_t patch_bytes, int64_t kernel_bytes) {
  constexpr int64_t kTableEntryBytes = 8;
  const auto aligned = [](int64_t bytes) { return (bytes + 63) & ~int64_t{63}; };
  ConvScratch s;
  s.padding_bytes = g.padded() ? aligned(row_bytes) : 0;
  s.patches_offset = aligned(table_entries * kTableEntryBytes);
  s.kernel_offset = s.patches_offset + aligned(patch_bytes);
  s.slot_bytes = s.kernel_offset + aligned(kernel_bytes);
  return s;
}

// Scratch of a gemm with row tiles of mr, over elements of this size.
inline ConvScratch gemm_scratch(const ConvGeometry& g, int32_t mr, int64_t element_bytes,
                                int64_t kernel_bytes) {
  const int64_t row_bytes = g.gemm_k() * element_bytes, entries = int64_t{g.gemm_taps()} * mr;
  const bool patches = g.merged() && (g.window.pad_left | g.window.pad_right) != 0;
  const int64_t patch_bytes = g.im2col() ? g.im2col_step() * element_bytes * mr
                              : patches  ? entries * row_bytes
                                         : 0;
  return conv_scratch(g, row_bytes, entries, patch_bytes, kernel_bytes);
}

// Sizes within what a session can hold.
inline Error set_sizes(const NodeView& node, int64_t persistent, int64_t scratch, NodePlan* plan) {
  constexpr int64_t kMaxBytes = int64_t{1} << 31;
  const int64_t larger = persistent > scratch ? persistent : scratch;
  if (larger > kMaxBytes) return node.input_error(Status::kTensorTooLarge, 1, larger, kMaxBytes);
  plan->persistent_bytes = static_cast<uint32_t>(persistent);
  plan->scratch_bytes = static_cast<uint32_t>(scratch);
  return kNoError;
}

// Parts that all variants of a depthwise convolution share: NHWC, weights [kh, kw, c * m]; output channel c * m + j reads input
// channel c.

inline constexpr int32_t kDepthwiseAxis = 2;  // of the weights

ConvGeometry depthwise_geometry(const NodeView& node);
Error check_depthwise_geometry(const NodeView& node);
// The most memory that the versions for codes take, whatever the weights. written: kS8 or kF32.
Error size_depthwise_s8(const NodeView& node, DType written, const PlanContext& context, NodePlan* plan);
Error size_depthwise_s16(const NodeView& node, const PlanContext& context, NodePlan* plan);

// Calls body(rows, first, pixels, kernel_scratch) for runs of at most `step` output pixels.
template <typename T, typename Body>
void for_each_pixels(const ConvGeometry& g, const NodeRun& run, const ConvScratch& scratch, int32_t step,
                     const T* x, Body body) {
  const auto* const padding = reinterpret_cast<const T*>(run.scratch);
  const int32_t pixels = g.pixels(), taps = g.taps();
  for_ranges(*run.executor, pixels / step + (pixels % step != 0 ? 1 : 0),
             [&](int32_t slot, int32_t first, int32_t last) {
               uint8_t* const memory = run.scratch + scratch.padding_bytes + slot * scratch.slot_bytes;
               auto** const rows = reinterpret_cast<const T**>(memory);
               for (int32_t i = first; i < last; ++i) {
                 const int32_t pixel = i * step;
                 const int32_t count = pixels - pixel < step ? pixels - pixel : step;
                 fill_rows<T>(g, x, padding, pixel, count, taps, 1, nullptr, rows);
                 body(rows, pixel, count, memory + scratch.kernel_offset);
               }
             });
}

constexpr QuantRule depthwise_rule() {
  QuantRule rule;
  rule.weight_input = kWeightInput;
  rule.weight_axis = kDepthwiseAxis;
  rule.bias_input = kBiasInput;
  return rule;
}

}  // namespace intaglio

// The shape of a convolution as kernels with indirection take it, and how its work is split.
#pragma once

#include <cstring>

#include "platforms/parallel.h"
#include "runtime/window.h"

namespace intaglio {

// NHWC [images, h, w, ic] to [images, oh, ow, oc]. A fully connected layer is one with h = w = oh = ow = 1.
struct ConvGeometry {
  int32_t images = 0, h = 1, w = 1, ic = 0;
  int32_t oh = 1, ow = 1, oc = 0;
  int32_t groups = 1;
  Window2d window;

  int32_t taps() const { return window.kernel_h * window.kernel_w; }
  int32_t pixels() const { return images * oh * ow; }
  bool padded() const {
    return (window.pad_top | window.pad_left | window.pad_bottom | window.pad_right) != 0;
  }

  // One tap, which stands where its output stands.
  bool pointwise() const { return taps() == 1 && window.stride_h == 1 && window.stride_w == 1 && !padded(); }

  // With few channels (a first layer) the taps of a window's line, which lie side by side, are one tap of
  // kernel_w * ic channels: the same products in the same order, in longer runs.
  bool merged() const {
    constexpr int32_t kFewChannels = 16;
    return groups == 1 && window.kernel_w > 1 && window.dilation_w == 1 && ic <= kFewChannels;
  }
  int32_t gemm_taps() const { return merged() ? window.kernel_h : taps(); }
  int32_t gemm_k() const { return merged() ? window.kernel_w * ic : ic / groups; }
};

// Fills `rows` for output pixels [first, first + count): the row that tap t of pixel p reads goes to
// rows[p * pixel_step + t * tap_step]. A tap outside the input gets `padding`.
template <typename T>
void fill_rows(const ConvGeometry& g, const T* x, const T* padding, int32_t first, int32_t count,
               int32_t pixel_step, int32_t tap_step, const T** rows) {
  if (g.pointwise()) {
    const T* row = x + static_cast<ptrdiff_t>(first) * g.ic;
    for (int32_t p = 0; p < count; ++p, row += g.ic) rows[static_cast<ptrdiff_t>(p) * pixel_step] = row;
    return;
  }
  // Divisions cost more than a pixel's products do: one set a call.
  int32_t out_x = first % g.ow, out_y = first / g.ow % g.oh, image = first / g.ow / g.oh;
  for (int32_t p = 0; p < count; ++p, ++out_x) {
    if (out_x == g.ow) {
      out_x = 0;
      if (++out_y == g.oh) {
        out_y = 0;
        ++image;
      }
    }
    const T** row = rows + static_cast<ptrdiff_t>(p) * pixel_step;
    for (int32_t ky = 0; ky < g.window.kernel_h; ++ky) {
      const int32_t y = input_y(g.window, out_y, ky);
      const bool y_inside = y >= 0 && y < g.h;
      const ptrdiff_t line_start = (static_cast<ptrdiff_t>(image) * g.h + y) * g.w;
      for (int32_t kx = 0; kx < g.window.kernel_w; ++kx, row += tap_step) {
        const int32_t column = input_x(g.window, out_x, kx);
        *row = y_inside && column >= 0 && column < g.w ? x + (line_start + column) * g.ic : padding;
      }
    }
  }
}

// The same with merged taps: rows[t * tap_step + p], t < kernel_h. A line of a window that is partly outside
// is put together in `patches`, [count][kernel_h][kernel_w * ic].
template <typename T>
void fill_merged_rows(const ConvGeometry& g, const T* x, const T* padding, int32_t first, int32_t count,
                      int32_t tap_step, T* patches, const T** rows) {
  const auto ic = static_cast<size_t>(g.ic);
  int32_t out_x = first % g.ow, out_y = first / g.ow % g.oh, image = first / g.ow / g.oh;
  for (int32_t p = 0; p < count; ++p, ++out_x) {
    if (out_x == g.ow) {
      out_x = 0;
      if (++out_y == g.oh) {
        out_y = 0;
        ++image;
      }
    }
    const int32_t start = input_x(g.window, out_x, 0);
    const bool inside = start >= 0 && start + g.window.kernel_w <= g.w;
    for (int32_t ky = 0; ky < g.window.kernel_h; ++ky) {
      const int32_t y = input_y(g.window, out_y, ky);
      const T*& row = rows[static_cast<ptrdiff_t>(ky) * tap_step + p];
      row = padding;
      if (y < 0 || y >= g.h) continue;
      const ptrdiff_t line_start = (static_cast<ptrdiff_t>(image) * g.h + y) * g.w;
      if (inside) {
        row = x + (line_start + start) * g.ic;
        continue;
      }
      T* const patch = patches + (static_cast<ptrdiff_t>(p) * g.window.kernel_h + ky) * g.gemm_k();
      for (int32_t kx = 0; kx < g.window.kernel_w; ++kx) {
        const int32_t column = start + kx;
        const T* const from = column >= 0 && column < g.w ? x + (line_start + column) * g.ic : padding;
        memcpy(patch + static_cast<size_t>(kx) * ic, from, ic * sizeof(T));
      }
      row = patch;
    }
  }
}

inline int32_t executor_width(const Executor& executor) {
  return executor.parallel_for == nullptr ? 1 : executor.width;
}

// Cuts [0, items) into at most `width` ranges and calls body(slot, first, last) for each; each range has a
// slot of scratch of its own, whatever threads run it. The cut changes no result.
template <typename Body>
void for_ranges(const Executor& executor, int64_t items, Body body) {
  const int64_t width = executor_width(executor);
  const auto ranges = static_cast<int32_t>(items < width ? items : width);
  parallel_for(executor, ranges, [&](int32_t slot) {
    body(slot, static_cast<int32_t>(items * slot / ranges),
         static_cast<int32_t>(items * (slot + 1) / ranges));
  });
}

// Scratch memory: one padding row, then a slot a range, each [pointer table | patches | the kernel's own]. A
// table entry counts as 8 bytes on every machine, so that a host's figure holds for all.
struct ConvScratch {
  int64_t padding_bytes, patches_offset, kernel_offset, slot_bytes;

  int64_t total(int32_t width) const { return padding_bytes + width * slot_bytes; }
};

inline ConvScratch conv_scratch(const ConvGeometry& g, int64_t row_bytes, int64_t table_entries,
                                int64_t patch_bytes, int64_t kernel_bytes) {
  constexpr int64_t kTableEntryBytes = 8;
  const auto aligned = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
  ConvScratch s;
  s.padding_bytes = g.padded() ? aligned(row_bytes) : 0;
  s.patches_offset = aligned(table_entries * kTableEntryBytes);
  s.kernel_offset = s.patches_offset + aligned(patch_bytes);
  s.slot_bytes = s.kernel_offset + aligned(kernel_bytes);
  return s;
}

// Of a gemm with row tiles of mr, over elements of this size.
inline ConvScratch gemm_scratch(const ConvGeometry& g, int32_t mr, int64_t element_bytes,
                                int64_t kernel_bytes) {
  const int64_t row_bytes = g.gemm_k() * element_bytes, entries = int64_t{g.gemm_taps()} * mr;
  const bool patches = g.merged() && (g.window.pad_left | g.window.pad_right) != 0;
  return conv_scratch(g, row_bytes, entries, patches ? entries * row_bytes : 0, kernel_bytes);
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

}  // namespace intaglio

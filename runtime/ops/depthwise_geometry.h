// What the variants of a depthwise convolution share: NHWC, weights [kh, kw, c * m]; output channel c * m + j reads input
// channel c.
#pragma once

#include "runtime/ops/checks.h"
#include "runtime/ops/conv_checks.h"
#include "runtime/ops/conv_geometry.h"

namespace intaglio {

inline constexpr int32_t kDepthwiseAxis = 2;  // of the weights

ConvGeometry depthwise_geometry(const NodeView& node);
Error check_depthwise_geometry(const NodeView& node);

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

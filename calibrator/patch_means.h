// Mean inputs of layers with weights, tap by tap: a layer's mean output is linear in them, which gives the
// error that quantization adds to each output channel exactly, borders included.
#pragma once

#include "calibrator/arena.h"
#include "intaglio/session.h"
#include "runtime/op.h"

namespace intaglio {

// Means over the output positions of what each tap reads; padding reads as real zero.
//   conv       [taps, input channels]
//   depthwise  [taps, input channels]
//   fully connected  [k]
size_t patch_size(const Model& model, const NodeInfo& node);

// Of the values that stand in the node's first input, as reals (zero point and scale removed).
void patch_means(const Session& session, int32_t node, Span<double> means);

// Mean of output channel `c` without bias, from a layer's weights (real, or codes) and its patch means.
template <typename Weight>
double mean_output(const NodeInfo& node, const Shape& weights_shape, const Weight* weights, int32_t c,
                   Span<const double> means) {
  double sum = 0.0;
  if (weights_shape.rank == 2) {
    const int64_t k = weights_shape[1];
    for (int64_t i = 0; i < k; ++i)
      sum += static_cast<double>(weights[c * k + i]) * means[static_cast<size_t>(i)];
    return sum;
  }
  if (weights_shape.rank == 3) {  // depthwise [kh, kw, c * multiplier]
    const int64_t taps = int64_t{weights_shape[0]} * weights_shape[1], outputs = weights_shape[2];
    const auto channels = static_cast<int64_t>(means.size) / taps;
    const int64_t from = c / (outputs / channels);
    for (int64_t tap = 0; tap < taps; ++tap)
      sum +=
          static_cast<double>(weights[tap * outputs + c]) * means[static_cast<size_t>(tap * channels + from)];
    return sum;
  }
  const int64_t taps = int64_t{weights_shape[1]} * weights_shape[2], depth = weights_shape[3];
  const int64_t group = c / (weights_shape[0] / node.options.groups), channels = depth * node.options.groups;
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t i = 0; i < depth; ++i)
      sum += static_cast<double>(weights[(c * taps + tap) * depth + i]) *
             means[static_cast<size_t>(tap * channels + group * depth + i)];
  return sum;
}

}  // namespace intaglio

// Mean inputs of layers with weights, tap by tap: a layer's mean output is linear in them, which gives the
// error that quantization adds to each output channel exactly, borders included.
#pragma once

#include "calibrator/observe/observer.h"
#include "intaglio/calibrator.h"
#include "kernels/observe/patch_sums.h"
#include "runtime/op.h"

namespace intaglio {

// Means over the output positions of what each tap reads; padding reads as real zero.
//   conv       [taps, input channels]
//   depthwise  [taps, input channels]
//   fully connected  [k]
size_t patch_size(const Model& model, const NodeInfo& node);

// How many of them are kept of a node; 0 where it has no weights or stays in FP32.
size_t mean_count(const Model& model, int32_t node, const CalibratorOptions& options);

// The means of the values in the node's first input, as reals (zero point and scale removed).
void patch_means(const Session& session, int32_t node, const PatchSumsKernel& kernel, Span<double> means);

// The same of an FP32 node, in one pass with the observer of its input's values, which is finished. Returns
// whether all of them are finite; where not, the means are of no use. Not for every window.
bool can_observe_by_rows(const Model& model, const NodeInfo& node);
bool observe_with_means(const Session& session, int32_t node, const PatchSumsKernel& kernel, TensorPass& pass,
                        Span<double> means);

// Mean inputs of several samples as order-free sums: one fixed-point number for each sample's mean.
inline constexpr double kMeanUnit = 0x1p-28;
inline constexpr double kLargestMean = 0x1p22;
inline constexpr int32_t kAllMeanBits = 51;  // of the largest mean
// Those that are saved: the largest of a sample's means of a layer has so many bits, and the others are multiples of its last one. A
// layer's codes round 256 times as much, and a state is small.
inline constexpr int32_t kSavedMeanBits = 16;

// sums[i] += means[i], for as many as there are means, of one sample.
void add_means(int64_t* sums, Span<const double> means, int32_t bits = kAllMeanBits);
double mean_of(int64_t sum, uint32_t samples);

inline constexpr int32_t kMeanLanes = 8;

// Means of the output channels [first, first + count) without bias, count at most kMeanLanes, from a layer's
// weights (real, or codes) and its patch means. Each is one chain of sums, by taps, then inputs.
template <typename Weight>
void mean_outputs(const NodeInfo& node, const Shape& weights_shape, const Weight* weights, int32_t first,
                  int32_t count, Span<const double> means, double* outputs) {
  double sums[kMeanLanes] = {};
  if (weights_shape.rank == 3) {  // depthwise [kh, kw, c * multiplier]
    const int64_t taps = int64_t{weights_shape[0]} * weights_shape[1], channels_out = weights_shape[2];
    const auto channels = static_cast<int64_t>(means.size) / taps, multiplier = channels_out / channels;
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int32_t l = 0; l < count; ++l)
        sums[l] += static_cast<double>(weights[tap * channels_out + first + l]) *
                   means[static_cast<size_t>(tap * channels + (first + l) / multiplier)];
  } else {
    const bool windowed = weights_shape.rank > 2;
    const int64_t taps = windowed ? int64_t{weights_shape[1]} * weights_shape[2] : 1;
    const int64_t depth = weights_shape.back(0),
                  groups = windowed ? node.options.value<Conv2dOptions>().groups : 1;
    const int64_t channels = depth * groups, per_group = weights_shape[0] / groups;
    const Weight* rows[kMeanLanes];
    const double* patches[kMeanLanes];
    for (int32_t l = 0; l < kMeanLanes; ++l) {  // lanes past the last channel repeat it
      const int64_t c = first + (l < count ? l : count - 1);
      rows[l] = weights + c * taps * depth;
      patches[l] = means.data + c / per_group * depth;
    }
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t i = 0; i < depth; ++i)
        for (int32_t l = 0; l < kMeanLanes; ++l)
          sums[l] += static_cast<double>(rows[l][tap * depth + i]) * patches[l][tap * channels + i];
  }
  for (int32_t l = 0; l < count; ++l) outputs[l] = sums[l];
}

}  // namespace intaglio

#include "importers/passes/quantize_weights.h"

#include <algorithm>
#include <cmath>

#include "importers/draft/quantized_tables.h"
#include "importers/passes/folding.h"
#include "runtime/quantization_range.h"

namespace intaglio::importers {
namespace {

// Scales that the format cannot hold, or with which the bias would leave its 32 bits, as channels without weights have
// them, are raised; the number of these. A scale that is only so much too small as rounding made it stays. `most` is
// the largest code of a bias.
int32_t raise_scales(DraftTensor& weights, const std::vector<float>& bias, double in, double most,
                     int32_t axis) {
  constexpr double kRounding = 1.0 + 0x1p-20;
  std::vector<float> scales;
  int32_t raised = 0;
  for (size_t c = 0; c < bias.size(); ++c) {
    const float own = weights.scales[weights.scales.size() == 1 ? 0 : c];
    const double least =
        std::max(std::fabs(static_cast<double>(bias[c])) / (in * most), std::ldexp(1.0, -40));
    scales.push_back(own * kRounding < least ? static_cast<float>(least)
                                             : std::max(own, std::ldexp(1.0f, -40)));
    raised += scales.back() != own;
  }
  if (raised == 0) return 0;
  weights.scales = scales;
  weights.axis = scales.size() > 1 ? axis : -1;
  return raised;
}

}  // namespace

bool quantize_weights(Draft& draft, DraftNode& node, int32_t input) {
  if (!has_float_weights(draft, node)) return false;
  DraftTensor weights = draft.tensor(node.inputs[1]);
  DraftTensor bias = draft.tensor(node.inputs[2]);
  const int32_t axis = node.op == Op::kDepthwiseConv2d ? 2 : 0;
  const int32_t channels = output_channels(draft, node);
  if (weights.scales.empty() || (weights.axis >= 0 && weights.axis != axis)) return false;
  const auto w = values_of<float>(weights);
  const auto b = values_of<float>(bias);
  const auto is_finite = [](float v) { return std::isfinite(v); };
  if (!std::all_of(w.begin(), w.end(), is_finite) || !std::all_of(b.begin(), b.end(), is_finite))
    return false;  // named when the graph is made
  const double in = draft.tensor(input).scales[0];
  // Sums of 16 bits have 64: a bias may have all of its 32.
  const double most = draft.tensor(input).dtype == DType::kS16 ? 0x1p31 - 1 : 0x1p30;
  const int32_t coarser = raise_scales(weights, b, in, most, axis);
  std::vector<int32_t> weight_codes(w.size()), sums;
  for (int32_t c = 0; c < channels; ++c) {
    const double scale = weights.scales[weights.scales.size() == 1 ? 0 : static_cast<size_t>(c)];
    const ChannelWeights part = channel_weights(draft, node, c);
    for (size_t i = 0; i < part.count; ++i) {
      const size_t at = part.first + i * part.step;
      weight_codes[at] = static_cast<int32_t>(std::nearbyint(std::clamp(w[at] / scale, -1e6, 1e6)));
    }
    const double sum = std::nearbyint(b[static_cast<size_t>(c)] / (in * scale));
    sums.push_back(static_cast<int32_t>(std::clamp(sum, -2147483647.0, 2147483647.0)));
  }
  const auto is_8_bits = [](int32_t code) { return code >= -255 && code <= 255; };  // less a zero point
  if (!std::all_of(weight_codes.begin(), weight_codes.end(), is_8_bits)) return false;
  const int32_t moved = set_weight_codes(weights, weight_codes, axis, sums);
  if (!std::all_of(weights.scales.begin(), weights.scales.end(), is_scale)) return false;  // a huge bias
  if (coarser > 0)
    draft.notes.push_back(text(label(node), ": ", coarser, " of ", channels,
                               " channels have a scale too small for their bias; they got a coarser one"));
  if (moved > 0)
    draft.notes.push_back(text(label(node), ": ", moved, " of ", channels,
                               " channels hold weights beyond int8; they got a coarser scale of their own"));
  bias.dtype = DType::kS32;
  bias.scales.clear();
  bias.axis = -1;
  set_values(bias, sums);
  draft.tensors.push_back(std::move(weights));
  node.inputs[1] = static_cast<int32_t>(draft.tensors.size()) - 1;
  draft.tensors.push_back(std::move(bias));
  node.inputs[2] = static_cast<int32_t>(draft.tensors.size()) - 1;
  return true;
}

}  // namespace intaglio::importers

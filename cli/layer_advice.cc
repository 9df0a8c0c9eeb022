#include "cli/layer_advice.h"

#include <cmath>

#include "cli/layer_comparison.h"

namespace intaglio::cli {
namespace {

constexpr double kMuchClipped = 0.01, kSoundAlone = 30.0, kFewCodes = 48.0;

// Mean squared error of rounding to the output's own steps, and the share of the layer's error that it
// explains.
double rounding_share(const LayerFacts& facts) {
  const LayerReport& layer = *facts.report;
  if (facts.values <= 0 || !(layer.noise_alone > 0) || facts.output.quantization.scales.size != 1) return 0;
  const auto step = static_cast<double>(facts.output.quantization.scales[0]);
  return step * step / 12 * static_cast<double>(facts.values) / layer.noise_alone;
}

}  // namespace

LayerAdvice advise(const LayerFacts& facts) {
  const LayerReport& layer = *facts.report;
  const double alone = sqnr_alone_db(layer);
  LayerAdvice advice;
  if (!facts.is_int8) {
    advice.reason = facts.reads_int8
                        ? "It reads codes and gives the answer in FP32; its error comes from its "
                          "weights' codes and from the layers before it."
                        : "It runs in FP32; its error comes from the layers before it.";
    advice.sound = true;
  } else if (alone >= kSoundAlone || std::isnan(alone)) {
    advice.reason = "It is exact enough; what is wrong at its output comes from the layers before it.";
    advice.sound = true;
  } else if (layer.clipped > kMuchClipped) {
    advice.reason =
        decimal(100 * layer.clipped, 1) +
        " % of its values lie beyond the chosen range and are cut off. More samples keep them, or a "
        "range as wide as the values seen (--method minmax).";
  } else if (facts.used_codes < kFewCodes) {
    advice.reason = "A few far values stretch its range: nearly all others share " +
                    decimal(facts.used_codes, 0) + " of the 256 codes. In FP32 this layer loses nothing.";
  } else if (facts.has_weights && rounding_share(facts) < 0.5) {
    advice.reason =
        "Its rounded weights make most of the error, not the codes of its output. Recoveries choose them so that "
        "the output suffers least (--recover all).";
  } else {
    advice.reason = "256 codes are few for what it puts out. In FP32 this layer loses nothing.";
  }
  return advice;
}

}  // namespace intaglio::cli

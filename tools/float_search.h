// Which layers get 16 bits or FP32: searched for, and proposed.
#pragma once

#include <optional>
#include <vector>

#include "tools/calibration_samples.h"
#include "tools/class_scores.h"
#include "tools/json.h"
#include "tools/work.h"

namespace intaglio::tools {

// The layers that need 16 bits or FP32, found by calibrating.
struct FloatSearchChoice {
  std::optional<double> min_sqnr;  // dB
  std::optional<double> max_drop;  // points of top1
  LabelChoice labels;              // for max_drop
  bool no_fpu = false;

  bool asked() const { return min_sqnr || max_drop; }
};

// A model on the samples that judge.
struct Judgement {
  double sqnr = 0.0;              // dB, of the worst part of the outputs, before a final softmax
  double top1 = 0.0, drop = 0.0;  // points; only with labels
};

struct FloatSearchResult {
  std::vector<int32_t> nodes;            // of the FP32 model, to be kept in FP32
  std::vector<SlotSetting> slots;        // those of the options, then layers of 16 bits
  std::vector<std::string> layers;       // in FP32: their names, a layer each
  std::vector<std::string> wide_layers;  // likewise, of 16 bits
  size_t layer_count = 0;                // of the int8 model
  size_t judges = 0;
  bool held_out = false;
  Judgement before, after;
  double time = 1.0;  // of the int8 model's, estimated
  size_t bytes_before = 0, bytes_after = 0;
};

// Calibrates with `options` and more and more nodes in 16 bits or FP32, until what is asked for holds on the samples
// held out, or on all where none are. The samples' hold_out() has been called.
Outcome<FloatSearchResult> search_float_layers(const LoadedModel& file, LoadedSession& fp32,
                                               CalibrationSamples& samples, const FloatSearchChoice& choice,
                                               const CalibratorOptions& options, Work& work);

Json json_of(const FloatSearchChoice& choice, const FloatSearchResult& result);

// Layers to be FP32, by what each was measured to cost.
struct LayerProposal {
  std::vector<int32_t> float_nodes;  // of the FP32 model, ascending, without those that are in FP32 anyway
  size_t layers = 0;                 // that they make
  double share = 0.0;                // of the outputs' error, as it adds up
};

// The layers that should take away so many dB of error, or fewer dB where these would cost too much: of all that FP32 costs more than
// int8, by counted products and elements, at most half. No layers where none are fit for it. `samples`: by how many they are
// measured; each takes half as many FP32 runs as the model has layers.
Outcome<LayerProposal> propose_layers(const LoadedModel& fp32, const Model& int8, CalibrationSamples& samples,
                                      size_t count, double gain, const CalibratorOptions& options,
                                      const SessionOptions& execution, Work& work);

}  // namespace intaglio::tools

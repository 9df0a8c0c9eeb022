// Which layers get 16 bits or FP32: searched for, and advised in a report.
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
  // Asked for by the page's advice instead: dB more than without, in at most so many calibrations; else the best
  // of them.
  std::optional<double> gain;
  int attempts = 8;

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

// Which layers to keep in FP32, and what that would gain and cost, measured on the network itself.
struct FloatAdvice {
  std::vector<int32_t> nodes;  // of the FP32 model, ascending, without those that are kept anyway
  size_t layers = 0;           // that they make
  double sqnr_gain = 0.0;      // dB that the output gains: calibrated so, on the calibration samples
  double time = 1.0;   // of a run, over that of the int8 model: layer by layer, as both ran on this machine
  double bytes = 1.0;  // of the file, likewise
};

// Calibrates up to four times with `options` and more nodes in FP32. Nothing where no few layers gain half a decibel.
Outcome<std::optional<FloatAdvice>> advise_float_layers(const LoadedModel& fp32, const Model& int8,
                                                        CalibrationSamples& samples,
                                                        const CalibratorOptions& options,
                                                        const SessionOptions& execution, Work& work);

}  // namespace intaglio::tools

// calibrate --min-sqnr and --max-drop: the layers that need 16 bits or FP32, found by calibrating.
#pragma once

#include <optional>
#include <vector>

#include "cli/calibration_samples.h"
#include "cli/options.h"
#include "cli/output.h"

namespace intaglio::cli {

struct FloatSearchArguments {
  std::optional<double> min_sqnr;  // dB
  std::optional<double> max_drop;  // points of top1
  std::string labels, names;
  bool no_fpu = false;
  // What is asked for by the page's advice instead: dB more than without, in at most so many calibrations; else the best
  // of them.
  std::optional<double> gain;
  int attempts = 8;

  bool asked() const { return min_sqnr || max_drop; }
};
// --min-sqnr, --max-drop, --labels, --names, --no-fpu
void add_float_search_options(CLI::App& app, FloatSearchArguments& arguments);

// A model on the samples that judge.
struct Judgement {
  double sqnr = 0.0;              // dB, before a final softmax
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
                                               CalibrationSamples& samples,
                                               const FloatSearchArguments& arguments,
                                               const CalibratorOptions& options, ProgressLine& progress);

void print_float_search(const FloatSearchArguments& arguments, const FloatSearchResult& result);
Json json_of(const FloatSearchArguments& arguments, const FloatSearchResult& result);

}  // namespace intaglio::cli

// The options of 'calibrate' and 'simulate' that say how slots are quantized.
#pragma once

#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"
#include "cli/loaded_model.h"
#include "cli/options.h"
#include "intaglio/calibrator.h"

namespace intaglio::cli {

struct QuantizationArguments {
  std::string method = "auto", compat = "none", keep_float;
  double percentile = 0.9999;
  bool symmetric = false, power_of_two = false, safe_pairs = false, int8_answers = false;
  int32_t weight_bits = 8;
  std::vector<std::string> set;  // SLOT:KEY=VALUE,...
};
// --method and --percentile, which choose ranges by samples
void add_range_options(CLI::App& app, QuantizationArguments& arguments);
// The others, which hold for parameters that are known, too.
void add_quantization_options(CLI::App& app, QuantizationArguments& arguments);

// Owns what CalibratorOptions point to.
struct QuantizationLists {
  std::vector<int32_t> float_nodes;
  std::vector<SlotSetting> settings;
  std::vector<SlotRange> ranges;
};
// Sets the part of `options` that the arguments are about. A node that the model does not have, and a setting
// that cannot be read, are failures.
Outcome<Done> read_quantization(const QuantizationArguments& arguments, const LoadedModel& file,
                                QuantizationLists& lists, CalibratorOptions& options);

// The recoveries of `calibrate --recover`.

// "method, bias, ..."
std::string recovery_names();
// Of "default", "none", "all" or a list of names with commas between them.
Outcome<RecoveryMask> parse_recover(const std::string& list);

// Sets options.recover by such a list, and the other options. "default" adds equalization where normalizations of the network have
// factors, and where both halves of so many samples can judge it; `samples`: that can be had again.
Outcome<Done> set_recover(const std::string& list, const Model& fp32, size_t samples,
                          CalibratorOptions& options);

}  // namespace intaglio::cli

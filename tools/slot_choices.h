// How slots are quantized, and which recoveries run: as a user says it, and as the calibrator takes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"
#include "intaglio/calibrator.h"
#include "tools/loaded_model.h"
#include "tools/work.h"

namespace intaglio::tools {

// A setting of slots that a user calls by name.
struct NamedSetting {
  std::string text;  // as it was written
  std::string slot;  // all, activations, weights, NODE, NODE/in0, NODE/out or NODE/weights
  SlotSetting setting;
  SlotRange range;
  bool has_lo = false, has_hi = false;
};
// "SLOT:bits=4,lo=-8,hi=7,rounding=half-up,policy=per-tensor+linear+symmetric,observer=kl"
Outcome<NamedSetting> parse_setting(const std::string& text);

struct QuantizationChoice {
  RangeMethod method = RangeMethod::kAuto;
  Compat compat = Compat::kNone;
  double percentile = 0.9999;
  bool symmetric = false, power_of_two = false, safe_pairs = false, int8_answers = false;
  int32_t weight_bits = 8;
  std::vector<NamedSetting> set;
  std::vector<std::string> keep_float;  // nodes, by their numbers or names
};
std::vector<std::string> range_method_names();
std::vector<std::string> compat_names();
// The method of a name; a failure lists those that there are.
Outcome<RangeMethod> range_method_of(const std::string& name);
Outcome<Compat> compat_of(const std::string& name);

// Owns what CalibratorOptions point to.
struct QuantizationLists {
  std::vector<int32_t> float_nodes, float_results;
  std::vector<SlotSetting> settings;
  std::vector<SlotRange> ranges;
};
// Sets the part of `options` that the choice is about. A node or a slot that the model does not have is a failure.
Outcome<Done> set_quantization(const QuantizationChoice& choice, const LoadedModel& file, const Work& work,
                               QuantizationLists& lists, CalibratorOptions& options);

// "method, bias, ..."
std::string recovery_names();
// The mask of "none", or of a list of names with commas between them, of which "default" is the usual ones; nothing for it alone.
Outcome<std::optional<RecoveryMask>> parse_recover(const std::string& list);

// The words of --profile: whose defaults hold.
enum class Profile : uint8_t { kHost, kDevice };
std::vector<std::string> profile_names();

// Sets options.recover, once the other options are; those of a device have it. Where nothing was chosen these are the default ones, and equalization where
// normalizations of the network have factors, and where both halves of so many samples can judge it; `samples`: that can be had
// again.
void set_recover(std::optional<RecoveryMask> chosen, const Model& fp32, size_t samples,
                 CalibratorOptions& options);

}  // namespace intaglio::tools

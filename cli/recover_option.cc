#include "cli/recover_option.h"

#include <algorithm>

#include "calibrator/recover/equalization.h"
#include "calibrator/recover/recovery.h"

namespace intaglio::cli {

std::string recovery_names() {
  std::string names;
  for (const RecoveryRule& rule : recovery_rules())
    names += std::string(names.empty() ? "" : ", ") + rule.name;
  return names;
}

Outcome<RecoveryMask> parse_recover(const std::string& list) {
  if (list == "default") return recovery::kDefault;
  if (list == "none") return recovery::kNone;
  if (list == "all") return recovery::kAll;
  RecoveryMask mask = recovery::kNone;
  for (size_t start = 0; start <= list.size();) {
    const size_t comma = std::min(list.find(',', start), list.size());
    const std::string name = list.substr(start, comma - start);
    RecoveryMask bit = recovery::kNone;
    for (const RecoveryRule& rule : recovery_rules())
      if (name == rule.name) bit = rule.bit;
    if (name == "default" || name == "all" || name == "none")
      return Failure{"--recover: '" + name + "' cannot be combined; without it there are " +
                     recovery_names()};
    if (bit == recovery::kNone)
      return Failure{"--recover: '" + name + "' is no recovery; there are " + recovery_names() +
                     ", and, each alone, default, all and none"};
    mask |= bit;
    start = comma + 1;
  }
  return mask;
}

Outcome<Done> set_recover(const std::string& list, const Model& fp32, size_t samples,
                          CalibratorOptions& options) {
  constexpr size_t kEnough = 8;
  const auto mask = parse_recover(list);
  if (!mask) return mask.failure();
  options.recover = *mask;
  const bool scales_are_free = options.known.empty() && options.compat == Compat::kNone;
  if (list == "default" && scales_are_free && samples >= kEnough && has_factors(fp32))
    options.recover |= recovery::kEqualization;
  return Done{};
}

}  // namespace intaglio::cli

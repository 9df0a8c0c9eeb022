#include "cli/calibration_estimate.h"

#include <array>
#include <optional>
#include <vector>

namespace intaglio::cli {
namespace {

// What is left takes so many times as long as each stage took. Least squares over nine networks with 4 to 32 samples:
// benchmarks/results/calibration_time.md.
struct Law {
  RecoveryMask recover;
  double observing, baking, replaying;
};
constexpr std::array<Law, 3> kLaws = {{
    {recovery::kNone, 0.5, 5.6, 0.0},
    {recovery::kBiasCorrection, 1.1, 6.7, 0.0},
    {recovery::kDefault, 1.7, 6.2, 3.4},
}};
constexpr double kLayers = 2.2;  // times the time of observing

std::optional<double> seconds_in_all(const Law& law, bool layers, const std::vector<StageTime>& stages) {
  double seconds = 0;
  for (const StageTime& stage : stages) {
    seconds += stage.seconds;
    if (stage.name == "calibrating") seconds += stage.seconds * (law.observing + (layers ? kLayers : 0));
    if (stage.name == "bake") seconds += stage.seconds * law.baking;
    if (stage.name == "first replay") return seconds + stage.seconds * law.replaying;
  }
  return std::nullopt;
}

}  // namespace

TimeEstimate estimate_of(RecoveryMask recover, bool layers) {
  for (const Law& law : kLaws)
    if (law.recover == recover)
      return [&law, layers](const std::vector<StageTime>& stages) {
        return seconds_in_all(law, layers, stages);
      };
  return nullptr;
}

}  // namespace intaglio::cli

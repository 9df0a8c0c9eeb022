#include "calibrator/host/calibration_facts.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "calibrator/calibration.h"
#include "calibrator/host/system/files.h"
#include "calibrator/quantization/slot_map.h"

namespace intaglio {
namespace {

const Calibration& parts_of(const Calibrator& calibrator) {
  return Calibration::of(const_cast<Calibrator&>(calibrator));
}

}  // namespace

int32_t steps_done(const Calibrator& calibrator) { return parts_of(calibrator).finished.steps_done; }

const CalibrationState& samples_seen(const Calibrator& calibrator) { return parts_of(calibrator).seen; }

Outcome<std::vector<int32_t>> missing_params(const Model& model, CalibratorOptions options) {
  std::vector<KnownParams> known(options.known.begin(), options.known.end());
  std::vector<int32_t> missing;
  known.reserve(known.size() + static_cast<size_t>(model.tensor_count()));
  const auto needs = Calibrator::measure(model, options);
  if (!needs) return Failure{"the model cannot be calibrated"};
  FileBytes memory(needs->total());
  auto calibrator = Calibrator::create(model, {memory.data(), memory.size()}, options);
  if (!calibrator) return Failure{"the model cannot be calibrated"};
  Calibration& calibration = Calibration::of(*calibrator);
  options = calibration.options;
  // Each one that is found is given some scale, and the next one sought: of the tensor first, then of the nodes that read
  // it in their own way.
  std::set<std::tuple<int32_t, int32_t, int32_t>> given;
  for (size_t tries = 0; tries <= slot_count(model); ++tries) {
    options.known = {known.data(), known.size()};
    const Error error = choose_params({calibration.fp32, options, calibration.observing, calibration.seen},
                                      options.method, kBothHalves, calibration.memory.slots);
    if (error.status != Status::kQuantizationMissing) break;
    if (std::find(missing.begin(), missing.end(), error.tensor) == missing.end())
      missing.push_back(error.tensor);
    KnownParams some{error.tensor, 1.0f, 0, {}, -1, -1, 0, 0};
    for (int32_t n = -1;
         !given.insert({error.tensor, some.node, some.input}).second && n + 1 < model.node_count();) {
      const NodeInfo node = model.node(++n);
      for (size_t i = 0; i < node.inputs.size; ++i)
        if (node.inputs[i] == error.tensor) some.node = n, some.input = static_cast<int32_t>(i);
    }
    known.push_back(some);
  }
  return missing;
}

}  // namespace intaglio

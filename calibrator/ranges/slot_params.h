// From what has been seen to the parameters of every slot.
#pragma once

#include "calibrator/observe/observe_sample.h"
#include "calibrator/quantization/slot_map.h"
#include "calibrator/ranges/function_behind.h"
#include "calibrator/state/calibration_state.h"

namespace intaglio {

inline constexpr int32_t kBothHalves = -1;

// What parameters are chosen from.
struct ParamSource {
  const FloatModel& fp32;
  const CalibratorOptions& options;  // its method is the one that was asked for
  const Observing& observing;
  const CalibrationState& seen;
};

// The slots of a model and the memory that they are made in, anew by each choose_params().
struct Slots {
  Arena memory;
  SlotMap map;
  Span<FunctionBehind> behind;  // one a lane, where has_functions()
};

// Whether the model has an operator that is a function of one variable.
bool has_functions(const Model& model);

// Makes slots.map anew, with parameters for every root that is no weight or bias (those get theirs when
// they are baked); then Concats, and with Compat::kPpq additions, share theirs. `method` chooses the ranges.
// With a `half`, 0 or 1, from the samples with an even or an odd digest alone.
Error choose_params(const ParamSource& source, RangeMethod method, int32_t half, Slots& slots);

}  // namespace intaglio

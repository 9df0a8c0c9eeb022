// From what has been seen to the parameters of every slot.
#pragma once

#include "calibrator/observe/observe_sample.h"
#include "calibrator/quantization/slot_map.h"
#include "calibrator/ranges/ranges.h"
#include "calibrator/ranges/slot_facts.h"
#include "calibrator/state/calibration_state.h"

namespace intaglio {

inline constexpr int32_t kBothHalves = -1;

// The inputs of the choice of parameters.
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
  Span<FunctionBehind> behind;  // one a lane, where looks_behind()
};

// Whether ranges are chosen by what a function of one variable makes of its input: the model has one, and kAuto was asked for.
bool looks_behind(const Model& model, const CalibratorOptions& options);

// Makes slots.map anew, with parameters for every root that is no weight or bias (those get theirs when
// they are baked); then Concats, and with Compat::kPpq additions, share theirs. `method` chooses the ranges.
// With a `half`, 0 or 1, from the samples with an even or an odd digest alone.
Error choose_params(const ParamSource& source, RangeMethod method, int32_t half, Slots& slots);

// Parameters that several tensors share, once each has its own range: Concats, and with Compat::kPpq additions.

// Every root of `map` has parameters.
Error share_params(const Model& model, const CalibratorOptions& options, const SlotFacts& facts,
                   SlotMap& map);

// Ranges of what goes into the Softmax of an attention.

// Sets the range of each sum of scores (adds_to_scores) that becomes an int8 node, and of the mask or bias that it adds (is_mask). A sum's
// range is the sum of its operands' ranges. A mask is as low as -3e38, where e^x is 0: it reaches as far as it takes to make the
// largest score less than e^-24 times the least one that is not masked, and no further.
Error set_score_ranges(const ParamSource& source, const SlotFacts& facts, SlotMap& map);

}  // namespace intaglio

// Scales with which every Add and Sub can be computed exactly, and means as other runtimes compute them.
#pragma once

#include "calibrator/quantization/slot_map.h"

namespace intaglio {

// An exact addition takes scales of its inputs up to 2^14 times the output's (runtime/add_params.h). Where
// nearly nothing is left of the operands (a - a), the output gets a wider scale, 2^-12 of the larger input's:
// still far finer than one code of the operands, which is all that int8 can tell apart there. A mean of values that cancel (behind an
// instance normalization) gets 2^-8 of its input's: onnxruntime refuses to run finer ones. `known`
// parameters, which the caller gave, stay. The slots of `map` have parameters.
Error widen_sums(const Model& model, Span<const KnownParams> known, SlotMap& map);

}  // namespace intaglio

// Parameters that several tensors share, once each has its own range: Concats, and with Compat::kPpq additions.
#pragma once

#include "calibrator/ranges/slot_facts.h"

namespace intaglio {

// Every root of `map` has parameters.
Error share_params(const Model& model, const CalibratorOptions& options, const SlotFacts& facts,
                   SlotMap& map);

}  // namespace intaglio

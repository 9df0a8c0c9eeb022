// Ranges of what goes into the Softmax of an attention.
#pragma once

#include "calibrator/ranges/slot_facts.h"
#include "calibrator/ranges/slot_params.h"

namespace intaglio {

// Of each sum of scores (adds_to_scores) that becomes an int8 node, and of the mask or bias that it adds (is_mask). A sum's
// range is the sum of its operands' ranges. A mask is as low as -3e38, where e^x is 0: it reaches as far as it takes to make the
// largest score less than e^-24 times the least one that is not masked, and no further.
Error set_score_ranges(const ParamSource& source, const SlotFacts& facts, SlotMap& map);

}  // namespace intaglio

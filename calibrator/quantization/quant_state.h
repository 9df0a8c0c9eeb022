// The states of a quantization config as a machine: the legal steps are a table, and every other is an error.
#pragma once

#include "intaglio/quant_config.h"

namespace intaglio {

bool is_legal(QuantState from, QuantState to);

// Takes a config to another state. Refused, with nothing changed: kStateTransition for a step that the table
// does not have, or from kDequantized to another state than was saved; kConfigWithoutScale for kActivated and
// kPassive where scales are not above 0 and finite or the offset is outside the codes.
Error set_state(QuantConfig& config, QuantState to);

// Whether a model may be baked with a config in this state.
bool is_finished(QuantState state);

}  // namespace intaglio

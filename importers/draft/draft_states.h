// States that the user names: an input of the network takes what one of its outputs gave in the run before.
#pragma once

#include "importers/draft/read_options.h"

namespace intaglio::importers {

// The user's words become states of the draft, which then no longer counts their ends among the model's. Throws where
// words name no ends, where the ends differ in shape, type or scale, where an end is named twice, or where no input or
// no output is left.
void join_states(const std::vector<StateWords>& states, const std::vector<StateStart>& starts, Draft& draft);

}  // namespace intaglio::importers

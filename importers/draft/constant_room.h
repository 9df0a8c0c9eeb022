// A bound for constants that the importers make themselves, which a small file may ask for often.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

// Throws where the draft's constants and one more of so many elements of 4 bytes are larger than a model may be.
void check_constant_room(const Draft& draft, int64_t elements);

}  // namespace intaglio::importers

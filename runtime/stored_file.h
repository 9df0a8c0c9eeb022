// The store of two slots from within: what update_model() looks at before it writes.
#pragma once

#include "intaglio/model_store.h"

namespace intaglio {

// Empty: it is refused.
Span<const uint8_t> verified_model(const Flash& flash, Span<const uint8_t> file);
// Bytes of a slot for a file; 0: the flash is described wrongly.
size_t slot_room(const Flash& flash);
// store_model() of a file that fits and is verified.
bool store_verified(const Flash& flash, Span<const uint8_t> file);

}  // namespace intaglio

// A file for the store of two slots: what of it is the model, and how large it may be.
#pragma once

#include "intaglio/model_store.h"

namespace intaglio {

// Empty: it is refused.
Span<const uint8_t> verified_model(const Flash& flash, Span<const uint8_t> file);
// Bytes of a slot for a file; 0: the flash is described wrongly.
size_t slot_room(const Flash& flash);

}  // namespace intaglio

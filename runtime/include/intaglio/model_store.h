// Two slots of flash that hold a model: a new one is written beside the old one and counts from the moment
// its last word is there. Whenever power fails, the old or the new model is found, whole.
//
// A slot: [header | commit word | model]. The header has the model's size and CRC-32, a sequence number that
// says which slot is newer, and its own CRC-32; the commit word is programmed last, after both have been read
// back. Header, commit word and model start at multiples of 64, so that the model can be used in place.
#pragma once

#include "intaglio/span.h"

namespace intaglio {

// Memory-mapped flash, erased to 0xff. Slots start at multiples of 64 and share no erase unit.
struct Flash {
  const uint8_t* slots[2] = {};
  size_t slot_bytes = 0;
  size_t program_bytes = 4;  // the unit of programming: a power of two, 1 to 64
  // Both return false where it failed. `program` gets whole units, at a multiple of one, erased before.
  bool (*erase)(void* context, int32_t slot) = nullptr;
  bool (*program)(void* context, int32_t slot, size_t offset, const uint8_t* bytes, size_t size) = nullptr;
  void* context = nullptr;
};

inline constexpr size_t kModelStoreOverhead = 128;  // bytes of a slot that hold no model

// The newest whole model; empty where there is none. Model::open() still has to check it.
Span<const uint8_t> stored_model(const Flash& flash);

// Puts a model into the slot that stored_model() does not use. False where it does not fit or the flash
// failed: then stored_model() is what it was. The model must not stand in that slot.
bool store_model(const Flash& flash, Span<const uint8_t> model);

}  // namespace intaglio

// Two slots of flash that hold a model. A new model is written to the slot that the old one does not use. It counts
// from the moment its last word is written. If power fails at any time, the old or the new model is there, whole.
//
// A slot is [header | commit word | model]. The header has the model's size and CRC-32, a sequence number that says
// which slot is newer, and a CRC-32 of its own. The commit word is programmed last, after the rest has been read
// back. All three start at multiples of 64, so that the model can be used in place.
#pragma once

#include "intaglio/span.h"

namespace intaglio {

// Memory-mapped flash, and how to write it. Erased bytes are 0xff.
struct Flash {
  const uint8_t* slots[2] = {};  // at multiples of 64; no erase unit belongs to both
  size_t slot_bytes = 0;         // of each slot
  size_t program_bytes = 4;      // the unit of programming: a power of two, 1 to 64
  // Erases a slot. Returns false if that failed.
  bool (*erase)(void* context, int32_t slot) = nullptr;
  // Programs erased bytes: whole units, at a multiple of a unit from the slot's start. Returns false if that failed.
  bool (*program)(void* context, int32_t slot, size_t offset, const uint8_t* bytes, size_t size) = nullptr;
  void* context = nullptr;  // is given to both functions
};

inline constexpr size_t kModelStoreOverhead = 128;  // bytes of a slot that are not for the model

// The newest whole model, in its slot; empty where there is none. Model::open() still has to check it.
Span<const uint8_t> stored_model(const Flash& flash);

// Writes a model into the slot that stored_model() does not use. The bytes given must not stand in that slot, and no session
// may run from it: after an update, start sessions anew from stored_model(). Returns
// whether stored_model() is this model now. False: it does not fit or the flash failed, and stored_model() is what it was.
bool store_model(const Flash& flash, Span<const uint8_t> model);

}  // namespace intaglio

// Two slots of flash that hold a model. A new model is written to the slot that the old one does not use. It counts
// from the moment its last word is written. If power fails at any time, the old or the new model is there, whole.
//
// A slot is [header | commit word | model]. The header has the model's size and CRC-32, a sequence number that says
// which slot is newer, and a CRC-32 of its own. The commit word is programmed last, after the rest has been read
// back. All three start at multiples of 64, so that the model can be used in place.
//
// What is stored may be more than a model: a signed file is a model with its signature behind it. Flash::verify says then
// what of it is the model.
#pragma once

#include "intaglio/session.h"

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
  void* context = nullptr;  // is given to the functions
  // Optional: says whether a file's signature is good, before anything of the file is read, and whenever a slot is looked at. Returns how
  // many of the first of its `size` bytes are the model; 0: it is refused, and a slot that holds it does not count.
  size_t (*verify)(void* context, const uint8_t* bytes, size_t size) = nullptr;
};

inline constexpr size_t kModelStoreOverhead = 128;  // bytes of a slot that are not for the model

// The newest whole model that is verified, in its slot; empty where there is none. Model::open() still has to check it.
Span<const uint8_t> stored_model(const Flash& flash);

// Writes a file into the slot that stored_model() does not use. The bytes given must not stand in that slot, and no session
// may run from it: after an update, start sessions anew from stored_model(). Returns whether stored_model() is this file's model
// now. False: it is not verified, does not fit or the flash failed, and stored_model() is what it was.
bool store_model(const Flash& flash, Span<const uint8_t> file);

// store_model() of what this machine can run within its ceiling of memory. `file` starts at a multiple of kModelAlignment. `ops` and
// `options` are those that sessions of the model are created with.
//
// Errors, in this order; with each of them stored_model() is what it was, and before the last nothing is erased:
//   kNotVerified    Flash::verify refuses the file
//   kSlotTooSmall   the file's bytes, and how many a slot holds
//   those of Model::open() and Session::measure(); with kAboveCeiling it takes more than its own ceiling
//   kAboveCeiling   a session takes more bytes than Model::memory_ceiling() of the stored model
//   kCeilingRaised  its own ceiling is none, or above that one. What may raise a ceiling calls store_model()
//   kFlashFailed    the flash could not be written
Error update_model(const Flash& flash, Span<const uint8_t> file, OpList ops,
                   const SessionOptions& options = {});

}  // namespace intaglio

// The three spans of a session's memory: their sum, and what a session takes of those that it is given.
#pragma once

#include "intaglio/session.h"

namespace intaglio {

inline uint64_t align_up(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

inline uint64_t total_of(uint64_t persistent, uint64_t activations, uint64_t scratch) {
  return align_up(persistent, kMemoryAlignment) + align_up(activations, kMemoryAlignment) + scratch;
}

// Splits off `needs` bytes of each span, aligned, none over another. `to` is without memory as yet, and of no use after an error.
Error take_memory(const SessionMemory& given, const SessionNeeds& needs, SessionMemory* to);

}  // namespace intaglio

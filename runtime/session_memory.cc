#include "runtime/session_memory.h"

namespace intaglio {
namespace {

// The bytes that a session takes of one span: the bytes that it needs, apart from those that it took before.
bool take_span(const SessionMemory& taken, Span<uint8_t> given, size_t needed, Span<uint8_t>* to,
               Error* error) {
  if (needed == 0) return true;
  const auto start = reinterpret_cast<uintptr_t>(given.data);
  size_t value = start == 0 ? 0 : given.size, limit = needed;
  if (value >= needed) {
    error->status = Status::kMemoryMisaligned;
    value = start % kMemoryAlignment;
    limit = kMemoryAlignment;
    if (value == 0) {
      const auto overlaps = [&](const Span<uint8_t>& other) {
        const auto distance = start - reinterpret_cast<uintptr_t>(other.data);
        return distance < other.size || 0 - distance < needed;
      };
      error->status = Status::kMemoryOverlap;
      if (!overlaps(taken.persistent) && !overlaps(taken.activations)) {
        *to = {given.data, needed};
        return true;
      }
    }
  }
  error->value = static_cast<int64_t>(value);
  error->limit = static_cast<int64_t>(limit);
  return false;
}

}  // namespace

Error take_memory(const SessionMemory& given, const SessionNeeds& needs, SessionMemory* to) {
  Error error;
  error.status = Status::kPersistentTooSmall;
  if (!take_span(*to, given.persistent, needs.persistent_bytes, &to->persistent, &error)) return error;
  error.status = Status::kActivationsTooSmall;
  if (!take_span(*to, given.activations, needs.activation_bytes, &to->activations, &error)) return error;
  error.status = Status::kScratchTooSmall;
  if (take_span(*to, given.scratch, needs.scratch_bytes, &to->scratch, &error)) error.status = Status::kOk;
  return error;
}

size_t SessionNeeds::total() const {
  return static_cast<size_t>(total_of(persistent_bytes, activation_bytes, scratch_bytes));
}

SessionMemory Session::split(Span<uint8_t> block, const SessionNeeds& needs) {
  // In a block that is too small the last spans are: create() names the first of them.
  const auto part = [&](size_t begin, size_t bytes) -> Span<uint8_t> {
    if (begin >= block.size) return {};
    return {block.data + begin, bytes < block.size - begin ? bytes : block.size - begin};
  };
  const auto activations = static_cast<size_t>(align_up(needs.persistent_bytes, kMemoryAlignment));
  const auto scratch = activations + static_cast<size_t>(align_up(needs.activation_bytes, kMemoryAlignment));
  return {part(0, needs.persistent_bytes), part(activations, needs.activation_bytes),
          part(scratch, needs.scratch_bytes)};
}

}  // namespace intaglio

#include "importers/draft/import_budget.h"

#include <algorithm>

namespace intaglio::importers {
namespace {

// So much moves a number through decoding or folding.
constexpr uint64_t kWorkOfNumber = 8;
constexpr uint64_t kMostFileBytes = uint64_t{1} << 40;  // products stay within 64 bits

uint64_t product(uint64_t a, uint64_t b) {
  uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}

uint64_t sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

[[noreturn]] void refuse(uint64_t amount, uint64_t before, uint64_t limit, const char* unit, const char* what,
                         const char* option) {
  throw OverBudget(text(what, " takes ", amount, " ", unit, ", and what was done before took ", before,
                        "; together that is more than the limit of ", limit, ", which ", option, " raises"));
}

}  // namespace

ImportLimits ImportBudget::limits() const {
  ImportLimits limits = given_;
  const auto bytes = static_cast<int64_t>(std::min(file_bytes_, kMostFileBytes));
  if (limits.max_work == 0) limits.max_work = kLeastMaxWork + kMaxWorkOfFileByte * bytes;
  if (limits.max_memory == 0) limits.max_memory = kLeastMaxMemory + kMaxMemoryOfFileByte * bytes;
  return limits;
}

void ImportBudget::spend_work(uint64_t operations, const char* what) {
  const auto limit = static_cast<uint64_t>(limits().max_work);
  if (sum(spent_.work, operations) > limit)
    refuse(operations, spent_.work, limit, "operations", what, "--max-work");
  spent_.work += operations;
}

void ImportBudget::check_memory(uint64_t bytes, const char* what) const {
  const auto limit = static_cast<uint64_t>(limits().max_memory);
  if (sum(spent_.memory, bytes) > limit)
    refuse(bytes, spent_.memory, limit, "bytes of memory", what, "--max-memory");
}

void ImportBudget::spend_memory(uint64_t bytes, const char* what) {
  check_memory(bytes, what);
  spent_.memory += bytes;
}

void ImportBudget::spend_constant(uint64_t elements, uint64_t element_bytes) {
  constexpr uint64_t kItsOwn = 256;  // what a constant takes beside its numbers, about
  spend_memory(sum(product(elements, element_bytes), kItsOwn), "a constant");
  spend_work(product(elements, kWorkOfNumber), "a constant");
}

void ImportBudget::check_numbers(int64_t count) const {
  check_memory(product(static_cast<uint64_t>(std::max<int64_t>(count, 0)), 4), "a constant that it needs");
}

}  // namespace intaglio::importers

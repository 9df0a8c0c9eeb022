// Tells the memory sanitizer of bytes: nothing in other builds.
#pragma once

#include <cstddef>
#include <cstring>

#include "tests/support/sanitized.h"

namespace intaglio::fuzz {

// Ends the program where some of these bytes were written by nobody.
inline void check_written([[maybe_unused]] const void* data, [[maybe_unused]] size_t size) {
#ifdef ITG_MEMORY_SANITIZER
  __msan_check_mem_is_initialized(data, size);
#endif
}

// Memory for a session: of no value to the memory sanitizer, elsewhere of one that is seldom right.
inline void make_unwritten(void* data, size_t size) {
#ifdef ITG_MEMORY_SANITIZER
  __msan_allocated_memory(data, size);
#else
  std::memset(data, 0x5a, size);
#endif
}

}  // namespace intaglio::fuzz

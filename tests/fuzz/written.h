// In builds with the memory sanitizer: ends the program where some of these bytes were written by nobody.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define ITG_MEMORY_SANITIZER 1
#endif
#endif

namespace intaglio::fuzz {

inline void check_written([[maybe_unused]] const void* data, [[maybe_unused]] size_t size) {
#ifdef ITG_MEMORY_SANITIZER
  __msan_check_mem_is_initialized(data, size);
#endif
}

}  // namespace intaglio::fuzz

#pragma once

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define ITG_MEMORY_SANITIZER 1
#endif
#endif

namespace intaglio::test {

// Whether the address sanitizer looks on. It takes ten times as long: what compares figures or bytes is left to other builds.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// While it lives, the memory sanitizer believes what libstdc++, compiled without it, hands to C's functions.
class BelievedLibraries {
 public:
#ifdef ITG_MEMORY_SANITIZER
  BelievedLibraries() { __msan_scoped_disable_interceptor_checks(); }
  ~BelievedLibraries() { __msan_scoped_enable_interceptor_checks(); }
#else
  BelievedLibraries() {}
  ~BelievedLibraries() {}
#endif
  BelievedLibraries(const BelievedLibraries&) = delete;
  BelievedLibraries& operator=(const BelievedLibraries&) = delete;
};

}  // namespace intaglio::test

// Linked into the fuzzers of the memory sanitizer. Pugixml and the rest of libstdc++ are the system's, compiled without
// it: it does not see what they write. So the memory that they allocate counts as written. That of our own code does
// not. Which is which the linker says: it sends what this program's objects allocate through the functions below
// (--wrap, tests/fuzz/CMakeLists.txt), and what a shared library allocates past them.
#include <sanitizer/msan_interface.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace {

thread_local bool is_ours = false;

template <typename Allocate>
void* ours(const Allocate& allocate) {
  is_ours = true;
  void* const made = allocate();
  is_ours = false;
  return made;
}

// Whether this lies in a frame of a library that called us, not far up: of its own variables the shadow is what the last
// function of ours left there.
bool is_of_caller(const void* data) {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return reinterpret_cast<uintptr_t>(data) - here < size_t{1} << 16;
}

}  // namespace

// The sanitizer calls it with what it has allocated and marked as written by nobody.
extern "C" __attribute__((visibility("default"))) void __sanitizer_malloc_hook(const volatile void* data,
                                                                               size_t size) {
  if (!is_ours) __msan_unpoison(data, size);
}

#define ITG_OURS(name, parameters, arguments)             \
  extern "C" void* __real_##name parameters;              \
  extern "C" void* __wrap_##name parameters;              \
  extern "C" void* __wrap_##name parameters {             \
    return ours([&] { return __real_##name arguments; }); \
  }

ITG_OURS(malloc, (size_t size), (size))
ITG_OURS(realloc, (void* data, size_t size), (data, size))
ITG_OURS(_Znwm, (size_t size), (size))
ITG_OURS(_Znam, (size_t size), (size))
ITG_OURS(_ZnwmRKSt9nothrow_t, (size_t size, const std::nothrow_t& way), (size, way))
ITG_OURS(_ZnamRKSt9nothrow_t, (size_t size, const std::nothrow_t& way), (size, way))
ITG_OURS(_ZnwmSt11align_val_t, (size_t size, std::align_val_t align), (size, align))
ITG_OURS(_ZnamSt11align_val_t, (size_t size, std::align_val_t align), (size, align))

// Only libraries call these two: in our own code they are the sanitizer's.
#define ITG_COPY(name)                                                                                    \
  extern "C" void* __msan_##name(void* to, const void* from, size_t size);                                \
  extern "C" __attribute__((visibility("default"))) void* name(void* to, const void* from, size_t size) { \
    __msan_##name(to, from, size);                                                                        \
    if (is_of_caller(from)) __msan_unpoison(to, size);                                                    \
    return to;                                                                                            \
  }

ITG_COPY(memcpy)
ITG_COPY(memmove)

#include "platforms/parallel.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace intaglio {
namespace {

// The floating-point control word, and the part of it that results depend on: rounding and flushing.
#if defined(__SSE__)
constexpr uint64_t kModeBits = 0xe040;  // FZ, RC, DAZ
uint64_t read_mode() { return _mm_getcsr(); }
void write_mode(uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
#elif defined(__aarch64__)
constexpr uint64_t kModeBits = (uint64_t{1} << 25) | (uint64_t{3} << 22) | (uint64_t{1} << 24) |
                               (uint64_t{1} << 19) | 7;  // DN, RMode, FZ, FZ16, and FEAT_AFP's NEP, AH, FIZ
uint64_t read_mode() {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void write_mode(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
#elif defined(__arm__) && defined(__ARM_FP)
constexpr uint64_t kModeBits =
    (uint64_t{1} << 25) | (uint64_t{3} << 22) | (uint64_t{1} << 24);  // DN, RMode, FZ
uint64_t read_mode() {
  uint32_t mode;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(mode));
  return mode;
}
void write_mode(uint64_t mode) { __asm__ volatile("vmsr fpscr, %0" : : "r"(static_cast<uint32_t>(mode))); }
#else
constexpr uint64_t kModeBits = 0;  // software floating point: one mode
uint64_t read_mode() { return 0; }
void write_mode(uint64_t) {}
#endif

struct Work {
  void (*task)(void* argument, int32_t i);
  void* argument;
};

// One task on a thread of an executor, whose mode is anybody's.
void run_task(void* work, int32_t i) {
  const FloatMode mode;
  const Work& w = *static_cast<const Work*>(work);
  w.task(w.argument, i);
}

}  // namespace

FloatMode::FloatMode() : saved_(read_mode()) {
  if ((saved_ & kModeBits) != 0) write_mode(saved_ & ~kModeBits);
}

// Flags raised meanwhile stay raised, as after any other arithmetic.
FloatMode::~FloatMode() {
  if ((saved_ & kModeBits) != 0) write_mode((read_mode() & ~kModeBits) | (saved_ & kModeBits));
}

void parallel_for(const Executor& executor, int32_t count, void (*task)(void* argument, int32_t i),
                  void* argument) {
  if (executor.parallel_for != nullptr && executor.width > 1 && count > 1) {
    Work work{task, argument};
    executor.parallel_for(executor.context, count, run_task, &work);
    return;
  }
#ifdef NDEBUG
  for (int32_t i = 0; i < count; ++i) task(argument, i);
#else
  for (int32_t i = count - 1; i >= 0; --i) task(argument, i);
#endif
}

}  // namespace intaglio

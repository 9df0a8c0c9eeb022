// The serial path, an executor's tasks, the floating-point mode, and what cpu_isa() says.
#include "platforms/parallel.h"

#include <doctest/doctest.h>

#include <cfenv>
#include <vector>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace intaglio::test::parallel_test {
namespace {

struct Backwards {
  int32_t calls = 0;
  static void parallel_for(void* context, int32_t count, void (*task)(void* argument, int32_t i),
                           void* argument) {
    ++static_cast<Backwards*>(context)->calls;
    for (int32_t i = count - 1; i >= 0; --i) task(argument, i);
  }
};

// A quotient that the compiler must leave to the CPU: a parameter's own volatile is lost where the call is
// folded.
float third_of(float v) {
  const volatile float dividend = v;
  return dividend / 3.0f;
}

}  // namespace

TEST_CASE("each index once, whoever runs it") {
  Backwards backwards;
  const Executor executors[] = {
      {}, {&backwards, 1, Backwards::parallel_for}, {&backwards, 4, Backwards::parallel_for}};
  for (const Executor& executor : executors) {
    for (const int32_t count : {0, 1, 2, 100}) {
      std::vector<int32_t> seen(static_cast<size_t>(count));
      parallel_for(executor, count, [&](int32_t i) { ++seen[static_cast<size_t>(i)]; });
      for (const int32_t times : seen) REQUIRE(times == 1);
    }
  }
  CHECK(backwards.calls == 2);  // a width of 1, and a single task, need no threads
}

TEST_CASE("the floating-point mode is the contract's inside and the caller's after") {
  const float nearest = third_of(1.0f);
  REQUIRE(std::fesetround(FE_UPWARD) == 0);
  const float upward = third_of(-1.0f);
  {
    const FloatMode mode;
    CHECK(third_of(1.0f) == nearest);
    {
      const FloatMode inner;
      CHECK(third_of(1.0f) == nearest);
    }
    CHECK(third_of(1.0f) == nearest);
  }
  CHECK(std::fegetround() == FE_UPWARD);
  CHECK(third_of(-1.0f) == upward);

  Backwards backwards;
  parallel_for(Executor{&backwards, 2, Backwards::parallel_for}, 2,
               [&](int32_t) { REQUIRE(third_of(1.0f) == nearest); });
  CHECK(backwards.calls == 1);
  std::fesetround(FE_TONEAREST);
}

TEST_CASE("what arithmetic under a mode raises stays raised, and what was raised before") {
  for (const int rounding : {FE_TONEAREST, FE_UPWARD}) {
    REQUIRE(std::fesetround(rounding) == 0);
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_DIVBYZERO);
    {
      const FloatMode mode;
      [[maybe_unused]] const volatile float inexact = third_of(1.0f);
    }
    CHECK(std::fetestexcept(FE_INEXACT | FE_DIVBYZERO) == (FE_INEXACT | FE_DIVBYZERO));
    CHECK(std::fegetround() == rounding);
  }
  std::feclearexcept(FE_ALL_EXCEPT);
  std::fesetround(FE_TONEAREST);
}

#if defined(__SSE__)
TEST_CASE("subnormals live while a mode lives") {
  const volatile float tiny = 0x1p-140f;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush, and take subnormals as zero
  CHECK(tiny * 2.0f == 0.0f);
  {
    const FloatMode mode;
    CHECK(tiny * 2.0f == 0x1p-139f);
  }
  CHECK((_mm_getcsr() & 0x8040) == 0x8040);
  _mm_setcsr(before);
}

TEST_CASE("cpu_isa says what the compiler's own test says") {
  const IsaMask found = cpu_isa();
  CHECK(((found & isa::kAvx2) != 0) ==
        (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0));
  CHECK(((found & isa::kAvx512Vnni) != 0) == (__builtin_cpu_supports("avx512vnni") != 0));
  CHECK(((found & isa::kAvx512Vbmi) != 0) ==
        (__builtin_cpu_supports("avx512vnni") != 0 && __builtin_cpu_supports("avx512vbmi") != 0));
}
#endif

}  // namespace intaglio::test::parallel_test

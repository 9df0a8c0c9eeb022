// The room that kernel tests work in stops whoever steps past either end of it.
#include "tests/support/exact.h"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <csignal>

namespace intaglio::test::exact_test {

using intaglio::test::Exact;

namespace {

// Whether a process of its own that reads there is killed for it.
bool is_stopped(const int8_t* address) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    const volatile int8_t* const there = address;
    _exit(*there == 0 ? 0 : 0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

}  // namespace

TEST_CASE("a step past an end is stopped, at one end and then at the other") {
  const size_t page = intaglio::test::GuardedPages::page();
  for (const size_t count : {size_t{1}, size_t{63}, page, page + 1}) {
    CAPTURE(count);
    int32_t before = 0, after = 0;
    for (int32_t i = 0; i < 2; ++i) {
      Exact<int8_t> room(count);
      memset(room.data(), 1, count);
      CHECK(!is_stopped(room.data()));
      CHECK(!is_stopped(room.data() + count - 1));
      before += is_stopped(room.data() - 1) ? 1 : 0;
      after += is_stopped(room.data() + count) ? 1 : 0;
    }
    CHECK(before >= 1);
    CHECK(after >= 1);
  }
}

}  // namespace intaglio::test::exact_test

// Executors with a region: every index of every job once, in one region for many jobs. OpenMP's own, and the
// team that is behind it on the threads of the standard library, which the thread sanitizer understands.
#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <vector>

#include "platforms/parallel.h"
#include "tests/support/threads.h"

namespace intaglio::test::executor_test {
namespace {

struct Jobs {
  int32_t most = 0, wrong = 0;
};

// Jobs of many sizes, one after the other: an index that runs twice, not at all, or late is seen.
void run_jobs(void* argument, const Executor& ready) {
  Jobs& jobs = *static_cast<Jobs*>(argument);
  for (int32_t job = 0; job < 3000; ++job) {
    const int32_t count = job % 7 == 0 ? job % 40 : 1 + job % 5;
    std::vector<std::atomic<int32_t>> seen(static_cast<size_t>(count));
    parallel_for(ready, count, [&](int32_t i) { seen[static_cast<size_t>(i)].fetch_add(1); });
    for (const auto& times : seen) jobs.wrong += times.load() == 1 ? 0 : 1;
    jobs.most = count > jobs.most ? count : jobs.most;
  }
}

void check_region(const Executor& executor) {
  REQUIRE((executor.region != nullptr));
  Jobs jobs;
  executor.region(executor.context, run_jobs, &jobs);
  CHECK(jobs.wrong == 0);
  CHECK(jobs.most > 30);
}

}  // namespace

TEST_CASE("each index of each job once, in one region") {
  for (const int32_t threads : {2, 3, 8}) check_region(test::thread_executor(threads));
}

#if defined(ITG_HAVE_OPENMP)

TEST_CASE("and of OpenMP's") {
  for (const int32_t threads : {2, 3, 8}) {
    const Executor executor = openmp_executor(threads);
    REQUIRE(executor.width == threads);
    check_region(executor);
  }
}

TEST_CASE("and without a region") {
  Jobs jobs;
  run_jobs(&jobs, openmp_executor(3));
  CHECK(jobs.wrong == 0);
}

TEST_CASE("one thread never meets OpenMP; too many are cut") {
  for (const int32_t threads : {1, 0, -5}) {
    const Executor one = openmp_executor(threads);
    CHECK(one.width == 1);
    CHECK((one.parallel_for == nullptr && one.region == nullptr));
  }
  CHECK(openmp_executor(1000).width == Executor::kMaxWidth);
}

#else

TEST_CASE("openmp_executor: this build has no OpenMP" * doctest::skip()) {}

#endif

}  // namespace intaglio::test::executor_test

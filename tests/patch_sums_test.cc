// Sums of a row by the taps of a window: every kernel against plain loops, and all of them to the bit.
#include "kernels/observe/patch_sums.h"

#include <doctest/doctest.h>

#include <cmath>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "tests/support/exact.h"
#include "tests/support/random.h"

namespace intaglio::test::patch_sums_test {

using test::Exact;
using test::Random;

namespace {

struct PatchShape {
  int32_t width, channels, stride, kernel_w, rows;
  std::vector<PatchColumns> columns;
  std::vector<ptrdiff_t> taps;
  double zero_point;
};

PatchShape random_shape(Random& random) {
  PatchShape s{random.between(1, 20),
               random.between(1, 150),
               random.between(1, 6),
               random.between(1, 5),
               random.between(1, 3),
               {},
               {},
               0.0};
  for (int32_t kx = 0; kx < s.kernel_w; ++kx) {
    const int32_t first = random.between(0, s.width - 1), steps = (s.width - 1 - first) / s.stride;
    const bool is_empty = random.between(0, 9) == 0;
    s.columns.push_back({first, is_empty ? first - s.stride : first + s.stride * random.between(0, steps)});
  }
  for (int32_t ky = 0; ky < s.rows; ++ky)
    if (random.between(0, 3) > 0) s.taps.push_back(ptrdiff_t{ky} * s.kernel_w * s.channels);
  return s;
}

// Each row `ky` of the window once, in double.
template <typename T>
std::vector<double> expected_sums(const PatchShape& s, const Exact<T>& x, std::vector<double> sums) {
  for (const ptrdiff_t tap : s.taps)
    for (int32_t kx = 0; kx < s.kernel_w; ++kx)
      for (int32_t c = 0; c < s.channels; ++c)
        for (int32_t at = s.columns[static_cast<size_t>(kx)].first;
             at <= s.columns[static_cast<size_t>(kx)].last; at += s.stride)
          sums[static_cast<size_t>(tap + kx * s.channels + c)] +=
              static_cast<double>(x[static_cast<size_t>(at * s.channels + c)]) - s.zero_point;
  return sums;
}

template <typename T, typename Function>
void check_every_kernel(const PatchShape& s, const std::vector<T>& values, const std::vector<double>& before,
                        double tolerance, Function&& function) {
  const Exact<T> x(values);
  const std::vector<double> expected = expected_sums(s, x, before);
  std::vector<double> first;
  for (int32_t i = 0; i < patch_sums_count(); ++i) {
    const PatchSumsKernel& kernel = patch_sums_kernel(i);
    CAPTURE(kernel.name);
    if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) != 0) continue;
    Exact<double> sums(before);
    function(kernel)({x.data(), s.width, s.channels, s.stride, s.columns.data(), s.kernel_w, s.taps.data(),
                      static_cast<int32_t>(s.taps.size()), s.zero_point, sums.data()});
    if (first.empty()) first.assign(sums.data(), sums.data() + sums.size());
    REQUIRE(memcmp(first.data(), sums.data(), sums.size() * sizeof(double)) == 0);
  }
  REQUIRE(first.size() == expected.size());
  for (size_t k = 0; k < expected.size(); ++k) REQUIRE(std::abs(first[k] - expected[k]) <= tolerance);
}

}  // namespace

TEST_CASE("random rows: codes exactly, reals to the same bits") {
  Random random(31);
  const int32_t rounds = test::shape_count(400);
  for (int32_t round = 0; round < rounds; ++round) {
    PatchShape s = random_shape(random);
    CAPTURE(round);
    const auto elements = static_cast<size_t>(s.width * s.channels),
               sums = static_cast<size_t>(s.rows * s.kernel_w * s.channels);
    std::vector<double> before(sums);
    for (double& sum : before) sum = random.between(-1000, 1000);
    check_every_kernel(s, random.reals(elements, -3.0f, 5.0f), before, 1e-12,
                       [](const PatchSumsKernel& kernel) { return kernel.row_f32; });
    s.zero_point = random.between(-128, 127);
    check_every_kernel(s, random.codes(elements), before, 0.0,
                       [](const PatchSumsKernel& kernel) { return kernel.row_s8; });
  }
}

}  // namespace intaglio::test::patch_sums_test

// Extremes and bins of real values: every kernel against the definition.
#include "kernels/observe/observe_f32.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "tests/support/exact.h"
#include "tests/support/random.h"

namespace intaglio::test::observe_f32_test {

using test::Exact;
using test::Random;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename Look>
void with_every_kernel(Look&& look) {
  for (int32_t i = 0; i < observe_f32_count(); ++i) {
    const ObserveF32Kernel& kernel = observe_f32_kernel(i);
    CAPTURE(kernel.name);
    if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) == 0) look(kernel);
  }
}

// Values of many magnitudes; with zeros, as after an activation, and some that vanish when they are scaled.
std::vector<float> some_values(Random& random, size_t count) {
  std::vector<float> values(count);
  const float scale = std::ldexp(1.0f, random.between(-20, 20));
  const bool rectified = random.one_in(2);
  for (float& x : values) {
    x = random.real(-3.0f, 5.0f) * scale;
    if (rectified && x < 0.0f) x = random.one_in(2) ? 0.0f : -0.0f;
    if (random.one_in(20)) x = std::ldexp(random.real(-1.0f, 1.0f), -140);
  }
  return values;
}

}  // namespace

TEST_CASE(
    "extremes: zero included, also those seen before; what is not finite is noticed wherever it stands") {
  Random random(41);
  const int32_t rounds = test::shape_count(300);
  for (int32_t round = 0; round < rounds; ++round) {
    CAPTURE(round);
    std::vector<float> values = some_values(random, static_cast<size_t>(random.between(1, 300)));
    const int32_t bad = random.between(0, 5);
    const size_t at = static_cast<size_t>(random.between(0, static_cast<int32_t>(values.size()) - 1));
    if (bad == 1) values[at] = kInfinity;
    if (bad == 2) values[at] = -kInfinity;
    if (bad == 3) values[at] = std::numeric_limits<float>::quiet_NaN();
    if (bad == 4) values[at] = -std::numeric_limits<float>::quiet_NaN();
    const Exact<float> x(values);
    const float before = random.real(0.0f, 2.0f);
    with_every_kernel([&](const ObserveF32Kernel& kernel) {
      ExtremesF32 seen{-before, before, true};
      kernel.extremes(x.data(), x.size(), &seen);
      const bool finite = bad == 0 || bad == 5;
      REQUIRE(seen.finite == finite);
      if (!finite) return;
      float min = -before, max = before;
      for (const float v : values) {
        min = std::fmin(min, v);
        max = std::fmax(max, v);
      }
      REQUIRE(seen.min == min);
      REQUIRE(seen.max == max);
      seen.finite = false;
      kernel.extremes(x.data(), x.size(), &seen);
      REQUIRE(!seen.finite);
    });
  }
}

TEST_CASE("bins: the floor of the scaled value, at every length and stride") {
  constexpr int32_t kBins = 2048;
  Random random(43);
  const int32_t rounds = test::shape_count(300);
  for (int32_t round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const size_t stride = random.one_in(2) ? 1 : static_cast<size_t>(random.between(2, 9)),
                 n = static_cast<size_t>(random.between(1, 600));
    const Exact<float> x(some_values(random, (n - 1) * stride + 1));
    double most = 0.0;
    // gcc 12 cannot compile std::fmax here for AArch64.
    for (size_t i = 0; i < x.size(); ++i) most = std::max(most, std::fabs(static_cast<double>(x[i])));
    // A bin more than fits on either side, so that all bins are there; no narrower than a float can say.
    const int exponent = std::max(std::ilogb(most / (kBins / 2 - 1)) + 1, -100);
    const int32_t zero = kBins / 2;
    std::vector<uint32_t> expected(kBins, 1);
    for (size_t i = 0; i < n; ++i)
      ++expected[static_cast<size_t>(zero + static_cast<int32_t>(std::floor(
                                                std::ldexp(static_cast<double>(x[i * stride]), -exponent))))];
    with_every_kernel([&](const ObserveF32Kernel& kernel) {
      Exact<uint32_t> counts(std::vector<uint32_t>(kBins, 1)), more(std::vector<uint32_t>(kBins, 0));
      kernel.count(x.data(), n, stride,
                   {static_cast<float>(std::ldexp(1.0, -exponent)), zero, counts.data(), more.data()});
      for (size_t bin = 0; bin < kBins; ++bin) counts[bin] += more[bin];
      REQUIRE(memcmp(counts.data(), expected.data(), kBins * sizeof(uint32_t)) == 0);
    });
  }
}

}  // namespace intaglio::test::observe_f32_test

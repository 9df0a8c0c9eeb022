// Fake quantization's gradients: against differences of the function itself, with what rounding adds frozen,
// and against LSQ's formula.
#include "calibrator/recover/weights/weight_recoveries.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/random.h"

namespace intaglio::test::fake_quantize_test {
namespace {

double real(Random& random, double lo, double hi) { return lo + (hi - lo) * (random.bits() * 0x1p-32); }

// The function with the difference between round(u) and u kept as it was at `frozen`: a step of the rounding
// no longer hides the slope.
double frozen_quantize(const FakeQuantizer& q, const FakeQuantizer& frozen, double x) {
  const double high = frozen.low + frozen.range;
  const double clipped = std::fmin(std::fmax(x, frozen.low), high);
  const double u = (clipped - frozen.low) / frozen.step();
  const double residual = std::nearbyint(u) - u;
  const double now = std::fmin(std::fmax(x, q.low), q.low + q.range);
  return ((now - q.low) / q.step() + residual) * q.step() + q.low;
}

// So far from the ends that a small change of them does not carry x across.
bool clear_of_ends(const FakeQuantizer& q, double x) {
  return std::fabs(x - q.low) > 1e-4 * q.range && std::fabs(x - q.low - q.range) > 1e-4 * q.range;
}

}  // namespace

TEST_CASE("forward: codes of the grid stay, all else goes to the nearest one") {
  Random random(1);
  for (int32_t i = 0; i < 2000; ++i) {
    const FakeQuantizer q{real(random, -10, 0), real(random, 0.1, 20), random.between(2, 256)};
    const int32_t code = random.between(0, q.levels - 1);
    const double on_grid = code * q.step() + q.low;
    REQUIRE(fake_quantize(q, on_grid) == doctest::Approx(on_grid).epsilon(1e-12));
    const double x = real(random, q.low, q.low + q.range);
    REQUIRE(std::fabs(fake_quantize(q, x) - x) <= 0.5 * q.step() * (1 + 1e-9));
  }
  const FakeQuantizer byte{0, 255, 256};
  CHECK(fake_quantize(byte, 2.5) == 2.0);  // half to even
  CHECK(fake_quantize(byte, 3.5) == 4.0);
  CHECK(fake_quantize(byte, -7.0) == 0.0);
  CHECK(fake_quantize(byte, 300.0) == 255.0);
}

TEST_CASE("symmetric: zero is exact, the ends are first and last code") {
  const SymmetricQuantizer narrow{2.54, -127, 127}, full{2.54, -128, 127};
  CHECK(fake_quantize(narrow.quantizer(), 0.0) == doctest::Approx(0.0));
  CHECK(fake_quantize(narrow.quantizer(), -9.0) == doctest::Approx(-2.54));
  CHECK(fake_quantize(full.quantizer(), -9.0) == doctest::Approx(-2.56));
  CHECK(fake_quantize(full.quantizer(), 9.0) == doctest::Approx(2.54));
}

TEST_CASE("symmetric gradient equals differences with the rounding frozen, and LSQ's up to the last code") {
  Random random(3);
  for (const int32_t first : {-128, -127, -63, 0})
    for (int32_t i = 0; i < 5000; ++i) {
      const int32_t last = first == -63 ? 63 : (first == 0 ? 255 : 127);
      const SymmetricQuantizer s{real(random, 0.2, 9), first, last};
      const FakeQuantizer q = s.quantizer();
      const double x = real(random, q.low - 2, q.low + q.range + 2), h = 1e-6;
      if (!clear_of_ends(q, x)) continue;
      const double y = fake_quantize(q, x);
      const SymmetricGradient g = fake_quantize_gradient(s, x, y);
      SymmetricQuantizer more = s, less = s;
      more.scale += h;
      less.scale -= h;
      // Where zero is a code the residual of the code itself is frozen: x / step - code.
      const double slope =
          (frozen_quantize(more.quantizer(), q, x) - frozen_quantize(less.quantizer(), q, x)) / (2 * h);
      REQUIRE(std::fabs(g.scale - slope) < 1e-6);
      // LSQ: round(v) - v within, first or last code outside, v = x / step.
      const double step = s.scale / s.last, v = x / step;
      const double lsq = v < s.first ? s.first : (v > s.last ? s.last : std::nearbyint(v) - v);
      const bool tie = std::fabs(v - std::floor(v) - 0.5) < 1e-6;  // either neighbour is right
      if (!tie) REQUIRE(std::fabs(g.scale - lsq / s.last) < 1e-9);
    }
}

}  // namespace intaglio::test::fake_quantize_test

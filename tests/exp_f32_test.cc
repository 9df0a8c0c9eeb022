#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/arithmetic/functions_f32.h"
#include "tests/support/float_bits.h"

namespace intaglio::test::exp_f32_test {
namespace {

using test::bits_of;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr uint32_t kStride = 1009;  // of the sweep over all floats

// Calls visit(x) for floats in ascending order, from -106 to 90.
template <typename Visit>
void sweep(Visit visit) {
  for (uint32_t bits = bits_of(106.0f) / kStride * kStride; bits > 0; bits -= kStride)
    visit(f32_from_bits(bits | 0x80000000u));
  for (uint32_t bits = 0; bits <= bits_of(90.0f); bits += kStride) visit(f32_from_bits(bits));
}

// Distance from the exact value in units of the last place of a float near it.
double ulps(float found, long double exact) {
  const int exponent = std::ilogb(exact) < -126 ? -126 : std::ilogb(exact);
  return static_cast<double>(std::fabs(static_cast<long double>(found) - exact) /
                             std::ldexp(1.0L, exponent - 23));
}

TEST_CASE("within 1 ulp of the exact value, subnormal results too") {
  double worst = 0.0;
  sweep([&](float x) {
    const long double exact = std::exp(static_cast<long double>(x));
    if (exact >= 0x1.ffffffp127L) {
      REQUIRE(exp_f32(x) == kInf);
    } else {
      worst = std::max(worst, ulps(exp_f32(x), exact));
    }
  });
  MESSAGE("largest error: " << worst << " ulp");
  CHECK(worst < 1.0);
}

TEST_CASE("monotone") {
  float last = 0.0f;
  int32_t drops = 0;
  const auto visit = [&](float x) {
    const float y = exp_f32(x);
    if (!(y >= last)) ++drops;
    last = y;
  };
  sweep(visit);
  CHECK(drops == 0);
  // Float by float where a plain Horner chain drops: a step of x is smallest against one of the result.
  last = 0.0f;
  for (uint32_t bits = bits_of(-0.26f); bits >= bits_of(-0.24f); --bits) visit(f32_from_bits(bits));
  CHECK(drops == 0);
}

TEST_CASE("special values") {
  CHECK(bits_of(exp_f32(0.0f)) == bits_of(1.0f));
  CHECK(bits_of(exp_f32(-0.0f)) == bits_of(1.0f));
  CHECK(exp_f32(f32_from_bits(1)) == 1.0f);
  CHECK(exp_f32(kInf) == kInf);
  CHECK(bits_of(exp_f32(-kInf)) == 0u);
  CHECK(exp_f32(std::numeric_limits<float>::max()) == kInf);
  CHECK(bits_of(exp_f32(std::numeric_limits<float>::lowest())) == 0u);
  for (const uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu})
    CHECK(bits_of(exp_f32(f32_from_bits(nan))) == 0x7fc00000u);
  // The last finite result and the first infinite one; the last subnormal one and the first zero.
  CHECK(exp_f32(88.7228317f) < kInf);
  CHECK(exp_f32(88.7228394f) == kInf);
  CHECK(bits_of(exp_f32(-103.972076f)) == 1u);
  CHECK(bits_of(exp_f32(-103.972084f)) == 0u);
}

TEST_CASE("these bits, on every machine") {
  uint32_t digest = 2166136261u;  // FNV-1a over the results
  sweep([&](float x) {
    const uint32_t bits = bits_of(exp_f32(x));
    for (int32_t i = 0; i < 32; i += 8) digest = (digest ^ (bits >> i & 0xffu)) * 16777619u;
  });
  CHECK(digest == 3202000645u);
}

}  // namespace
}  // namespace intaglio::test::exp_f32_test

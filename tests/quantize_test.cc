#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "kernels/quantize/quantize_s8.h"
#include "tests/support/float_bits.h"
#include "tests/support/random.h"

namespace intaglio::test::quantize_test {
namespace {

using test::bits_of;
using test::Random;

constexpr float kInf = std::numeric_limits<float>::infinity();

// Every kernel that this machine runs.
template <typename Visit>
void for_each_kernel(Visit visit) {
  for (int32_t i = 0; i < quantize_s8_count(); ++i) {
    const QuantizeS8Kernel& kernel = quantize_s8_kernel(i);
    CAPTURE(kernel.name);
    if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) == 0) visit(kernel);
  }
}

// In whole vectors, of which every lane is the same.
int8_t quantized(float x, float scale, int32_t zero_point, int32_t lo = -128, int32_t hi = 127) {
  constexpr int32_t kCount = 35;
  const std::vector<float> same(kCount, x);
  std::vector<int8_t> first;
  for_each_kernel([&](const QuantizeS8Kernel& kernel) {
    std::vector<int8_t> q(kCount);
    kernel.quantize(same.data(), scale, make_output_s8(zero_point, lo, hi), q.data(), kCount);
    if (first.empty()) first.assign(kCount, q[0]);
    REQUIRE(q == first);
  });
  return first[0];
}

TEST_CASE("quantize: division, clamp, half to even, random rows") {
  Random random(1);
  for (int32_t trial = 0; trial < test::shape_count(300); ++trial) {
    const float scale = random.real(0.001f, 2.0f);
    const int32_t zero_point = random.between(-128, 127);
    const int32_t lo = random.between(-128, 0), hi = random.between(0, 127);
    const int32_t n = random.between(1, random.one_in(4) ? 200 : 40);
    const test::Exact<float> x(random.reals(static_cast<size_t>(n), -200.0f * scale, 200.0f * scale));
    test::Exact<int8_t> y(x.size()), expected(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      float v = x[i] / scale;
      v = std::min(std::max(v, static_cast<float>(lo - zero_point)), static_cast<float>(hi - zero_point));
      expected[i] = static_cast<int8_t>(std::nearbyint(v) + static_cast<float>(zero_point));
    }
    for_each_kernel([&](const QuantizeS8Kernel& kernel) {
      memset(y.data(), 99, y.size());
      kernel.quantize(x.data(), scale, make_output_s8(zero_point, lo, hi), y.data(), n);
      REQUIRE(memcmp(y.data(), expected.data(), y.size()) == 0);
    });
  }
}

TEST_CASE("quantize: ties, infinities, NaN") {
  CHECK(quantized(0.5f, 1.0f, 0) == 0);
  CHECK(quantized(1.5f, 1.0f, 0) == 2);
  CHECK(quantized(2.5f, 1.0f, 0) == 2);
  CHECK(quantized(-0.5f, 1.0f, 0) == 0);
  CHECK(quantized(-1.5f, 1.0f, 3) == 1);
  CHECK(quantized(0.49999997f, 1.0f, 0) == 0);
  for (const int32_t zero_point : {-128, 0, 127}) {
    CHECK(quantized(kInf, 0.5f, zero_point) == 127);
    CHECK(quantized(-kInf, 0.5f, zero_point) == -128);
    CHECK(quantized(3e38f, 0x1p-40f, zero_point) == 127);
    CHECK(quantized(std::numeric_limits<float>::quiet_NaN(), 0.5f, zero_point) == zero_point);
    CHECK(quantized(std::numeric_limits<float>::denorm_min(), 0x1p40f, zero_point) == zero_point);
  }
  CHECK(quantized(std::numeric_limits<float>::quiet_NaN(), 0.5f, -10, 0, 127) == -10);
}

TEST_CASE("dequantize: one product, random rows") {
  Random random(3);
  for (int32_t trial = 0; trial < test::shape_count(300); ++trial) {
    const float scale = std::ldexp(random.real(1.0f, 2.0f), random.between(-40, 39));
    const int32_t zero_point = random.between(-128, 127), n = random.between(1, random.one_in(4) ? 200 : 40);
    const test::Exact<int8_t> x(random.codes(static_cast<size_t>(n)));
    test::Exact<float> y(x.size()), expected(x.size());
    for (size_t i = 0; i < x.size(); ++i) expected[i] = scale * static_cast<float>(x[i] - zero_point);
    for_each_kernel([&](const QuantizeS8Kernel& kernel) {
      memset(y.data(), 99, y.size() * sizeof(float));
      kernel.dequantize(x.data(), scale, zero_point, y.data(), n);
      REQUIRE(memcmp(y.data(), expected.data(), y.size() * sizeof(float)) == 0);
    });
  }
}

TEST_CASE("dequantize gives back every code") {
  Random random(2);
  for (int32_t trial = 0; trial < 100; ++trial) {
    const float scale = std::ldexp(random.real(1.0f, 2.0f), random.between(-40, 39));
    const int32_t zero_point = random.between(-128, 127);
    std::vector<int8_t> x(256), back(256);
    std::vector<float> y(256), expected(256);
    for (size_t i = 0; i < 256; ++i) {
      x[i] = static_cast<int8_t>(static_cast<int32_t>(i) - 128);
      expected[i] = scale * static_cast<float>(x[i] - zero_point);
    }
    for_each_kernel([&](const QuantizeS8Kernel& kernel) {
      kernel.dequantize(x.data(), scale, zero_point, y.data(), 256);
      REQUIRE(bits_of(y) == bits_of(expected));
      kernel.quantize(y.data(), scale, make_output_s8(zero_point, -128, 127), back.data(), 256);
      REQUIRE(back == x);
    });
  }
}

}  // namespace
}  // namespace intaglio::test::quantize_test

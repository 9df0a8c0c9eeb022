#include <doctest/doctest.h>

#include <algorithm>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "kernels/gemm/gemm_s8_f32.h"
#include "tests/support/float_bits.h"
#include "tests/support/random.h"

namespace intaglio::test::gemv_s8_f32_test {
namespace {

using test::Exact;
using test::Random;

struct Product {
  Exact<int8_t> x, w;
  Exact<int32_t> bias;
  Exact<float> multiplier;

  Product(const std::vector<int8_t>& row, const std::vector<int8_t>& weights,
          const std::vector<int32_t>& biases, const std::vector<float>& multipliers)
      : x(row), w(weights), bias(biases), multiplier(multipliers) {}
};

// Every kernel that this machine runs, against plain loops whose sums are too wide to wrap.
void check(const Product& p) {
  const size_t n = p.bias.size(), k = p.x.size();
  Exact<float> expected(n);
  for (size_t c = 0; c < n; ++c) {
    int64_t acc = p.bias[c];
    for (size_t i = 0; i < k; ++i) acc += p.x[i] * p.w[c * k + i];
    REQUIRE(acc == static_cast<int32_t>(acc));
    expected[c] = static_cast<float>(acc) * p.multiplier[c];
  }
  for (int32_t i = 0; i < gemv_s8_f32_count(); ++i) {
    const GemvS8F32Kernel& kernel = gemv_s8_f32_kernel(i);
    CAPTURE(kernel.name);
    if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) != 0) continue;
    Exact<float> y(n);
    kernel.function(p.x.data(), p.w.data(), p.bias.data(), p.multiplier.data(), y.data(),
                    static_cast<int32_t>(n), static_cast<int32_t>(k));
    REQUIRE(memcmp(y.data(), expected.data(), n * sizeof(float)) == 0);
  }
}

TEST_CASE("every kernel, random sizes and values") {
  Random random(1);
  for (int32_t trial = 0; trial < test::shape_count(3000); ++trial) {
    const auto n = static_cast<size_t>(random.between(1, random.one_in(4) ? 40 : 9));
    const auto k = static_cast<size_t>(random.between(1, random.one_in(4) ? 400 : 80));
    std::vector<int32_t> bias(n);
    for (int32_t& b : bias) b = random.between(-1000000, 1000000);
    check({random.codes(k), random.codes(n * k), bias, random.reals(n, -0.1f, 0.1f)});
  }
}

TEST_CASE("all weights and codes at their ends, sums that wrap in between and end within int32") {
  for (const int32_t x : {-128, 127})
    for (const int32_t w : {-128, 127})
      for (const size_t k : {1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1280, 4032, 4033, 8095}) {
        const int32_t sum = x * w * static_cast<int32_t>(k);
        const std::vector<int8_t> row(k, static_cast<int8_t>(x)), weights(5 * k, static_cast<int8_t>(w));
        const int32_t most = sum > 0 ? INT32_MAX - sum : INT32_MAX,
                      least = sum < 0 ? INT32_MIN - sum : INT32_MIN;
        check({row, weights, {0, most, least, 1 << 24, -1}, {1.0f, 0x1p-80f, 0x1p80f, 0.1f, 3.0f}});
      }
  // First up, then down.
  std::vector<int8_t> row(256, -128), weights(256, -128);
  std::fill(weights.begin() + 128, weights.end(), static_cast<int8_t>(127));
  check({row, weights, {INT32_MAX - 128 * 128}, {0.5f}});
}

}  // namespace
}  // namespace intaglio::test::gemv_s8_f32_test

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "intaglio/platform.h"
#include "kernels/arithmetic/functions_f32.h"
#include "kernels/arithmetic/output_f32.h"
#include "kernels/compiled_isa.h"
#include "kernels/normalize/softmax.h"
#include "tests/support/blocked_sums.h"
#include "tests/support/float_bits.h"
#include "tests/support/random.h"

namespace intaglio::test::softmax_test {
namespace {

using test::bits_of;
using test::Exact;
using test::Random;

constexpr float kInf = std::numeric_limits<float>::infinity();

// The function of every kernel of a family that this machine runs.
template <typename Kernel, typename Visit>
void for_each_of(int32_t count, const Kernel& (*kernel)(int32_t), Visit visit) {
  for (int32_t i = 0; i < count; ++i) {
    CAPTURE(kernel(i).name);
    if ((kernel(i).isa & ~(cpu_isa() & kCompiledIsa)) == 0) visit(kernel(i).function);
  }
}
template <typename Visit>
void for_each_kernel(Visit visit) {
  for_each_of(softmax_f32_count(), softmax_f32_kernel, visit);
}

std::vector<int32_t> make_table(float s_in, int32_t n) {
  int32_t k = 30;
  while (k > 0 && (int64_t{n < 2 ? 2 : n} << k) > (int64_t{1} << 30)) --k;
  k = k < 23 ? k : 23;
  std::vector<int32_t> table(256);
  for (int32_t d = 0; d < 256; ++d)
    table[static_cast<size_t>(d)] =
        static_cast<int32_t>(std::lrint(std::exp(-d * double{s_in}) * std::ldexp(1.0, k)));
  return table;
}

TEST_CASE("int8 softmax equals the contract, random rows") {
  Random random(1);
  constexpr int32_t kSizes[] = {1, 2, 3, 10, 64, 1000, 5000};
  for (int32_t trial = 0; trial < test::shape_count(140); ++trial) {
    const int32_t n = trial < 140 ? kSizes[trial / 20] : random.between(1, random.one_in(8) ? 300 : 40);
    const float s_in = random.real(0.001f, 0.3f),
                s_out = trial % 2 == 0 ? 1.0f / 256.0f : random.real(0.001f, 0.1f);
    const int32_t z_out = trial % 2 == 0 ? -128 : random.between(-128, 127);
    const std::vector<int32_t> table = make_table(s_in, n);
    Exact<int8_t> x(random.codes(static_cast<size_t>(n)));
    const auto least = static_cast<int8_t>(random.between(-128, 127));
    Exact<int8_t> y(x.size()), expected(x.size());
    int32_t largest = -128;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = std::max(x[i], least);
      largest = std::max<int32_t>(largest, x[i]);
    }
    int64_t sum = 0;
    for (size_t i = 0; i < x.size(); ++i) sum += table[static_cast<size_t>(largest - x[i])];
    REQUIRE(sum <= int64_t{1} << 30);
    const float r = (1.0f / s_out) / static_cast<float>(sum);
    for (size_t i = 0; i < x.size(); ++i) {
      const float t = static_cast<float>(table[static_cast<size_t>(largest - x[i])]);
      const float v =
          std::min(std::max(t * r, static_cast<float>(-128 - z_out)), static_cast<float>(127 - z_out));
      expected[i] = static_cast<int8_t>(std::lrint(v) + z_out);
    }
    for_each_of(softmax_s8_count(), softmax_s8_kernel, [&](SoftmaxS8* softmax) {
      Exact<int8_t> inside(x.size());
      memcpy(inside.data(), x.data(), x.size());
      softmax(x.data(), table.data(), 1.0f / s_out, make_output_s8(z_out, -128, 127), y.data(), n);
      REQUIRE(memcmp(y.data(), expected.data(), y.size()) == 0);
      softmax(inside.data(), table.data(), 1.0f / s_out, make_output_s8(z_out, -128, 127), inside.data(), n);
      REQUIRE(memcmp(inside.data(), expected.data(), x.size()) == 0);
    });
  }
}

TEST_CASE("softmax of 16 bits equals the contract, and is near the exact one, random rows") {
  Random random(5);
  constexpr int32_t kSizes[] = {1, 2, 3, 7, 8, 9, 197, 5000};
  for (int32_t trial = 0; trial < test::shape_count(80); ++trial) {
    const int32_t n = trial < 80 ? kSizes[trial / 10] : random.between(1, random.one_in(8) ? 300 : 40);
    const float s_in = random.real(1e-5f, 3e-3f), s_out = trial % 2 == 0 ? 1.0f / 32768.0f : 1e-5f;
    std::vector<int32_t> table = make_table(256.0f * s_in, n);
    for (int32_t j = 0; j < 256; ++j)
      table.push_back(static_cast<int32_t>(std::lrint(std::exp(-j * double{s_in}) * std::ldexp(1.0, 30))));
    Exact<int16_t> x(static_cast<size_t>(n)), y(x.size()), expected(x.size());
    const int32_t span = random.one_in(2) ? 32768 : random.between(1, 2000);
    int32_t largest = -32768;
    double exact_sum = 0.0;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<int16_t>(random.between(-span, span - 1));
      largest = std::max<int32_t>(largest, x[i]);
    }
    int64_t sum = 0;
    const auto entry = [&](int32_t code) {
      const int64_t d = largest - code;
      return (int64_t{table[static_cast<size_t>(d / 256)]} * table[static_cast<size_t>(256 + d % 256)] +
              (int64_t{1} << 29)) >>
             30;
    };
    for (size_t i = 0; i < x.size(); ++i) {
      sum += entry(x[i]);
      exact_sum += std::exp((x[i] - largest) * double{s_in});
    }
    REQUIRE(sum <= int64_t{1} << 30);
    const float r = (1.0f / s_out) / static_cast<float>(sum);
    for (size_t i = 0; i < x.size(); ++i) {
      const float v = std::min(static_cast<float>(entry(x[i])) * r, 32767.0f);
      expected[i] = static_cast<int16_t>(std::lrint(v));
      const double exact = std::exp((x[i] - largest) * double{s_in}) / exact_sum / double{s_out};
      REQUIRE(std::fabs(expected[i] - std::min(exact, 32767.0)) <= 0.6);
    }
    for_each_of(softmax_s16_count(), softmax_s16_kernel, [&](SoftmaxS16* softmax) {
      softmax(x.data(), table.data(), 1.0f / s_out, y.data(), n);
      REQUIRE(memcmp(y.data(), expected.data(), y.size() * sizeof y[0]) == 0);
      Exact<int16_t> inside(x.size());
      memcpy(inside.data(), x.data(), x.size() * sizeof x[0]);
      softmax(inside.data(), table.data(), 1.0f / s_out, inside.data(), n);
      REQUIRE(memcmp(inside.data(), expected.data(), x.size() * sizeof x[0]) == 0);
    });
  }
}

TEST_CASE("FP32 softmax is near the exact one, and the stated sum to the bit") {
  Random random(2);
  for (const int32_t n : {1, 2, 7, 15, 16, 17, 63, 64, 65, 100, 1001, 5000}) {
    const int32_t block = n % 2 == 0 ? kOneBlock : kSumBlock;
    const std::vector<float> x = random.reals(static_cast<size_t>(n), -30.0f, 30.0f);
    std::vector<float> y(x.size()), chain(x.size());
    const float largest = *std::max_element(x.begin(), x.end());
    long double exact_sum = 0.0L;
    for (size_t i = 0; i < x.size(); ++i) {
      chain[i] = exp_f32(x[i] - largest);
      exact_sum += std::exp(static_cast<long double>(x[i]));
    }
    const float sum = sum_of(chain, block);
    for (size_t i = 0; i < x.size(); ++i) {
      chain[i] = chain[i] / sum;
      const long double exact = std::exp(static_cast<long double>(x[i])) / exact_sum;
      CHECK(static_cast<double>(std::fabs(static_cast<long double>(chain[i]) - exact)) <=
            1e-5 * static_cast<double>(exact) + 1e-37);
    }
    for_each_kernel([&](auto softmax) {
      softmax(x.data(), y.data(), n, block);
      CHECK(bits_of(y) == bits_of(chain));
      y = x;
      softmax(y.data(), y.data(), n, block);
      CHECK(bits_of(y) == bits_of(chain));
    });
  }
}

TEST_CASE("every FP32 kernel, random rows: the stated sum to the bit") {
  Random random(3);
  const int32_t cases = test::shape_count(2000);
  for (int32_t trial = 0; trial < cases; ++trial) {
    const auto n = static_cast<size_t>(random.between(1, random.one_in(4) ? 300 : 40));
    const float most = random.one_in(4) ? 200.0f : 10.0f;
    Exact<float> x(random.reals(n, -most, most)), chain(n);
    const float largest = *std::max_element(x.data(), x.data() + n);
    const int32_t block = random.one_in(2) ? kSumBlock : kOneBlock;
    for (size_t i = 0; i < n; ++i) chain[i] = exp_f32(x[i] - largest);
    const float sum = sum_of({chain.data(), chain.data() + n}, block);
    for (size_t i = 0; i < n; ++i) chain[i] = chain[i] / sum;
    for_each_kernel([&](auto softmax) {
      Exact<float> y(n), inside(n);
      memcpy(inside.data(), x.data(), n * sizeof(float));
      softmax(x.data(), y.data(), static_cast<int32_t>(n), block);
      softmax(inside.data(), inside.data(), static_cast<int32_t>(n), block);
      REQUIRE(memcmp(y.data(), chain.data(), n * sizeof(float)) == 0);
      REQUIRE(memcmp(inside.data(), chain.data(), n * sizeof(float)) == 0);
    });
  }
}

TEST_CASE("FP32 softmax of infinities and NaN") {
  std::vector<float> y(3);
  const std::vector<float> low = {-kInf, 1.0f, -kInf};
  for_each_kernel([&](auto softmax) {
    softmax(low.data(), y.data(), 3, kSumBlock);
    CHECK(y == std::vector<float>{0.0f, 1.0f, 0.0f});
  });
  const float negative_nan = f32_from_bits(0xffc00000u);
  for (const std::vector<float>& x :
       {std::vector<float>{1.0f, kInf, 2.0f}, std::vector<float>{-kInf, -kInf, -kInf},
        std::vector<float>{negative_nan, 1.0f, 2.0f}, std::vector<float>{1.0f, 2.0f, negative_nan}}) {
    for_each_kernel([&](auto softmax) {
      softmax(x.data(), y.data(), 3, kSumBlock);
      CHECK(bits_of(y[0]) == 0x7fc00000u);
      CHECK(bits_of(y[2]) == 0x7fc00000u);
      for (const size_t at : {0u, 1u, 40u, 63u, 64u, 69u}) {  // in vectors and behind them
        std::vector<float> row(70, 0.5f);
        row[at] = x[0] == 1.0f && x[1] == kInf ? kInf : negative_nan;
        softmax(row.data(), row.data(), 70, kSumBlock);
        for (const float v : row) REQUIRE(bits_of(v) == 0x7fc00000u);
      }
    });
  }
}

}  // namespace
}  // namespace intaglio::test::softmax_test

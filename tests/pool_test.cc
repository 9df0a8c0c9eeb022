#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "intaglio/platform.h"
#include "kernels/arithmetic/output_f32.h"
#include "kernels/compiled_isa.h"
#include "kernels/pool/pool.h"
#include "tests/support/blocked_sums.h"
#include "tests/support/float_bits.h"
#include "tests/support/random.h"

namespace intaglio::test::pool_test {
namespace {

using test::bits_of;
using test::Random;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr ClampF32 kNoClamp{-kInf, kInf};
const int32_t kChannels[] = {1, 3, 15, 16, 17, 31, 32, 33, 70};

// The same call to every kernel that this machine runs, into room of its exact size: one result.
template <typename Kernel, typename T, typename Call>
void call_every(int32_t kernels, const Kernel& (*kernel_at)(int32_t index), T* y, int32_t channels,
                Call call) {
  const size_t bytes = static_cast<size_t>(channels) * sizeof(T);
  bool is_first = true;
  for (int32_t i = 0; i < kernels; ++i) {
    const Kernel& kernel = kernel_at(i);
    CAPTURE(kernel.name);
    if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) != 0) continue;
    test::Exact<T> out(static_cast<size_t>(channels));
    call(kernel, out.data());
    if (is_first) memcpy(y, out.data(), bytes);
    is_first = false;
    REQUIRE(memcmp(y, out.data(), bytes) == 0);
  }
}

void average_s8(const int8_t* x, const Taps& taps, int32_t x_zero_point, float multiplier,
                const OutputS8& output, int8_t* y, int32_t channels) {
  call_every(pool_s8_count(), pool_s8_kernel, y, channels, [&](const PoolS8Kernel& k, int8_t* out) {
    k.average(x, taps, x_zero_point, multiplier, output, out, channels);
  });
}

void max_s8(const int8_t* x, const Taps& taps, int32_t zero_point, int32_t lo, int32_t hi, int8_t* y,
            int32_t channels) {
  call_every(pool_s8_count(), pool_s8_kernel, y, channels,
             [&](const PoolS8Kernel& k, int8_t* out) { k.max(x, taps, zero_point, lo, hi, out, channels); });
}

void mean_s8_f32(const int8_t* x, const Taps& taps, int32_t x_zero_point, float multiplier, float* y,
                 int32_t channels) {
  call_every(mean_s8_f32_count(), mean_s8_f32_kernel, y, channels, [&](const MeanS8F32Kernel& k, float* out) {
    k.function(x, taps, x_zero_point, multiplier, out, channels);
  });
}

void average_f32(const float* x, const Taps& taps, int32_t block, int32_t n, const ClampF32& clamp, float* y,
                 int32_t channels) {
  call_every(pool_f32_count(), pool_f32_kernel, y, channels,
             [&](const PoolF32Kernel& k, float* out) { k.average(x, taps, block, n, clamp, out, channels); });
}

// Channel c of the taps' elements.
std::vector<float> terms_of(const test::Exact<float>& x, const std::vector<size_t>& offsets, size_t c) {
  std::vector<float> terms;
  for (const size_t offset : offsets) terms.push_back(x[offset + c]);
  return terms;
}

void max_f32(const float* x, const Taps& taps, const ClampF32& clamp, float* y, int32_t channels) {
  call_every(pool_f32_count(), pool_f32_kernel, y, channels,
             [&](const PoolF32Kernel& k, float* out) { k.max(x, taps, clamp, out, channels); });
}

// Taps somewhere in a tensor, and the offsets they stand for.
struct RandomTaps {
  Taps taps;
  size_t elements;
  std::vector<size_t> offsets;
};

RandomTaps random_taps(Random& random, int32_t channels, int32_t most = 5) {
  RandomTaps r{};
  for (int32_t i = 0; i < 3; ++i) r.taps.count[i] = random.between(1, most);
  r.taps.step[2] = channels + random.between(0, 4);
  r.taps.step[1] = r.taps.step[2] * random.between(1, 6);
  r.taps.step[0] = r.taps.step[1] * random.between(1, 6);
  for (int32_t i = 0; i < r.taps.count[0]; ++i)
    for (int32_t j = 0; j < r.taps.count[1]; ++j)
      for (int32_t k = 0; k < r.taps.count[2]; ++k)
        r.offsets.push_back(
            static_cast<size_t>(i * r.taps.step[0] + j * r.taps.step[1] + k * r.taps.step[2]));
  r.elements = r.offsets.back() + static_cast<size_t>(channels);
  return r;
}

TEST_CASE("int8 average: the exact sum of the taps, requantized once") {
  Random random(1);
  for (int32_t trial = 0; trial < 60; ++trial) {
    for (const int32_t channels : kChannels) {
      const RandomTaps t = random_taps(random, channels);
      const test::Exact<int8_t> x(random.codes(t.elements));
      const int32_t z_in = random.between(-128, 127), z_out = random.between(-128, 127);
      const int32_t lo = random.between(-128, 0), hi = random.between(0, 127);
      const float s_in = random.real(0.001f, 1.0f), s_out = random.real(0.001f, 1.0f);
      const int32_t n = static_cast<int32_t>(t.offsets.size()) + random.between(0, 3);
      const OutputS8 output = make_output_s8(z_out, lo, hi);
      std::vector<int8_t> y(static_cast<size_t>(channels)), expected(y.size());
      average_s8(x.data(), t.taps, z_in, mean_multiplier(s_in, s_out, n), output, y.data(), channels);
      for (size_t c = 0; c < y.size(); ++c) {
        int64_t sum = 0;
        for (const size_t offset : t.offsets) sum += x[offset + c] - z_in;
        const float multiplier = s_in / (s_out * static_cast<float>(n));
        expected[c] = requantize_s8(static_cast<int32_t>(sum), multiplier, output);
      }
      REQUIRE(y == expected);
    }
  }
}

TEST_CASE("int8 maximum: the largest code, clamped") {
  Random random(2);
  for (int32_t trial = 0; trial < 60; ++trial) {
    for (const int32_t channels : kChannels) {
      const RandomTaps t = random_taps(random, channels);
      test::Exact<int8_t> x(random.codes(t.elements));
      const auto most = static_cast<int8_t>(random.between(-128, 127));
      for (size_t i = 0; i < x.size(); ++i) x[i] = std::min(x[i], most);
      const int32_t lo = random.between(-128, 127), hi = random.between(lo, 127);
      std::vector<int8_t> y(static_cast<size_t>(channels)), expected(y.size());
      max_s8(x.data(), t.taps, 5, lo, hi, y.data(), channels);
      for (size_t c = 0; c < y.size(); ++c) {
        int32_t best = -128;
        for (const size_t offset : t.offsets) best = std::max<int32_t>(best, x[offset + c]);
        expected[c] = static_cast<int8_t>(std::clamp(best, lo, hi));
      }
      REQUIRE(y == expected);
    }
  }
}

TEST_CASE("every int8 kernel, random sizes and values") {
  Random random(3);
  const int32_t cases = test::shape_count(2000);
  for (int32_t i = 0; i < cases; ++i) {
    const int32_t channels = random.between(1, random.one_in(4) ? 150 : 40);
    const RandomTaps t = random_taps(random, channels);
    const test::Exact<int8_t> x(random.codes(t.elements));
    const int32_t z_in = random.between(-128, 127), lo = random.between(-128, 0), hi = random.between(0, 127);
    const float multiplier = random.real(1e-4f, 0.5f);
    const OutputS8 output = make_output_s8(random.between(-128, 127), lo, hi);
    std::vector<int8_t> averages(static_cast<size_t>(channels)), largest(averages.size());
    std::vector<float> means(averages.size());
    average_s8(x.data(), t.taps, z_in, multiplier, output, averages.data(), channels);
    max_s8(x.data(), t.taps, z_in, lo, hi, largest.data(), channels);
    mean_s8_f32(x.data(), t.taps, z_in, multiplier, means.data(), channels);
    for (size_t c = 0; c < averages.size(); ++c) {
      int32_t sum = 0, best = -128;
      for (const size_t offset : t.offsets) {
        sum += x[offset + c] - z_in;
        best = std::max<int32_t>(best, x[offset + c]);
      }
      REQUIRE(averages[c] == requantize_s8(sum, multiplier, output));
      REQUIRE(bits_of(means[c]) == bits_of(static_cast<float>(sum) * multiplier));
      REQUIRE(largest[c] == std::clamp(best, lo, hi));
    }
  }
}

TEST_CASE("the largest proved number of taps does not overflow") {
  // Steps of zero read one code again and again: 255 * taps is just within int32.
  const Taps taps = {{1, 2903, 2900}, {0, 0, 0}};
  REQUIRE(taps_count(taps) <= INT32_MAX / 255);
  const int8_t low = -128, high = 127;
  int8_t y = 0;
  const float multiplier = mean_multiplier(1.0f, 4.0f, taps_count(taps));
  average_s8(&high, taps, -128, multiplier, make_output_s8(0, -128, 127), &y, 1);
  CHECK(y == 64);  // 63.75
  average_s8(&low, taps, 127, multiplier, make_output_s8(0, -128, 127), &y, 1);
  CHECK(y == -64);
  float mean = 0.0f;
  mean_s8_f32(&high, taps, -128, 0.5f, &mean, 1);
  CHECK(mean == static_cast<float>(255 * taps_count(taps)) * 0.5f);
  mean_s8_f32(&low, taps, 127, 0.5f, &mean, 1);
  CHECK(mean == static_cast<float>(-255 * taps_count(taps)) * 0.5f);
}

TEST_CASE("FP32 average: plain additions in the order of the taps, in blocks or in one chain") {
  Random random(3);
  for (int32_t trial = 0; trial < 60; ++trial) {
    for (const int32_t channels : kChannels) {
      const RandomTaps t = random_taps(random, channels, trial % 10 == 0 ? 18 : 5);
      const test::Exact<float> x(random.reals(t.elements, -3.0f, 5.0f));
      const int32_t block = random.one_in(2) ? kSumBlock : kOneBlock;
      const int32_t n = static_cast<int32_t>(t.offsets.size()) + random.between(0, 3);
      const ClampF32 clamp = trial % 2 == 0 ? kNoClamp : ClampF32{0.0f, 1.0f};
      std::vector<float> y(static_cast<size_t>(channels)), expected(y.size());
      average_f32(x.data(), t.taps, block, n, clamp, y.data(), channels);
      for (size_t c = 0; c < y.size(); ++c) {
        const float sum = test::sum_of(terms_of(x, t.offsets, c), block);
        expected[c] = std::min(std::max(sum / static_cast<float>(n), clamp.lo), clamp.hi);
      }
      REQUIRE(bits_of(y) == bits_of(expected));
    }
  }
}

TEST_CASE("FP32 maximum") {
  Random random(4);
  for (int32_t trial = 0; trial < 60; ++trial) {
    for (const int32_t channels : kChannels) {
      const RandomTaps t = random_taps(random, channels);
      const std::vector<float> x = random.reals(t.elements, -3.0f, 5.0f);
      const ClampF32 clamp = trial % 2 == 0 ? kNoClamp : ClampF32{-1.0f, 4.5f};
      std::vector<float> y(static_cast<size_t>(channels)), expected(y.size());
      max_f32(x.data(), t.taps, clamp, y.data(), channels);
      for (size_t c = 0; c < y.size(); ++c) {
        float best = x[t.offsets[0] + c];
        for (const size_t offset : t.offsets) best = std::max(best, x[offset + c]);
        expected[c] = std::min(std::max(best, clamp.lo), clamp.hi);
      }
      REQUIRE(bits_of(y) == bits_of(expected));
    }
  }
}

TEST_CASE("every FP32 kernel, random sizes and values") {
  Random random(5);
  const int32_t cases = test::shape_count(2000);
  for (int32_t i = 0; i < cases; ++i) {
    const int32_t channels = random.between(1, random.one_in(4) ? 150 : 40);
    const RandomTaps t = random_taps(random, channels);
    const test::Exact<float> x(random.reals(t.elements, -3.0f, 5.0f));
    const int32_t n = static_cast<int32_t>(t.offsets.size()) + random.between(0, 3);
    const ClampF32 clamp = random.one_in(2) ? kNoClamp : ClampF32{-0.5f, 3.0f};
    std::vector<float> averages(static_cast<size_t>(channels)), largest(averages.size());
    const int32_t block = random.one_in(2) ? kSumBlock : kOneBlock;
    average_f32(x.data(), t.taps, block, n, clamp, averages.data(), channels);
    max_f32(x.data(), t.taps, clamp, largest.data(), channels);
    for (size_t c = 0; c < averages.size(); ++c) {
      const float sum = test::sum_of(terms_of(x, t.offsets, c), block);
      float best = -kInf;
      for (const size_t offset : t.offsets) best = std::max(best, x[offset + c]);
      REQUIRE(bits_of(averages[c]) == bits_of(finish_f32(sum / static_cast<float>(n), clamp)));
      REQUIRE(bits_of(largest[c]) == bits_of(finish_f32(best, clamp)));
    }
  }
}

TEST_CASE("a window without taps gives the real zero, clamped") {
  const Taps none = {{1, 0, 3}, {0, 40, 8}};
  std::vector<int8_t> y(40, 1);
  average_s8(nullptr, none, 17, 0.0f, make_output_s8(-5, -128, 127), y.data(), 40);
  CHECK(y == std::vector<int8_t>(40, -5));
  average_s8(nullptr, none, 17, 0.0f, make_output_s8(-5, 3, 127), y.data(), 40);
  CHECK(y == std::vector<int8_t>(40, 3));
  max_s8(nullptr, none, -5, -128, 127, y.data(), 40);
  CHECK(y == std::vector<int8_t>(40, -5));
  max_s8(nullptr, none, -5, -128, -7, y.data(), 40);
  CHECK(y == std::vector<int8_t>(40, -7));
  std::vector<float> f(20, 1.0f);
  average_f32(nullptr, none, kSumBlock, 0, kNoClamp, f.data(), 20);
  CHECK(bits_of(f) == std::vector<uint32_t>(20, 0u));
  max_f32(nullptr, none, {1.5f, 2.0f}, f.data(), 20);
  CHECK(f == std::vector<float>(20, 1.5f));
}

TEST_CASE("FP32 pools: NaN and negative zero") {
  const float negative_nan = f32_from_bits(0xffc00001u);
  const std::vector<float> x = {1.0f, -0.0f, negative_nan, -0.0f};  // two taps of two channels
  const Taps taps = {{1, 1, 2}, {0, 0, 2}};
  std::vector<float> y(2);
  average_f32(x.data(), taps, kSumBlock, 2, kNoClamp, y.data(), 2);
  CHECK(bits_of(y) == std::vector<uint32_t>{0x7fc00000u, 0u});
  max_f32(x.data(), taps, kNoClamp, y.data(), 2);
  CHECK(bits_of(y) == std::vector<uint32_t>{0x7fc00000u, 0u});
  // max(a, b) is a > b ? a : b: a NaN that comes first is left behind.
  const std::vector<float> first = {negative_nan, 1.0f};
  max_f32(first.data(), {{1, 1, 2}, {0, 0, 1}}, kNoClamp, y.data(), 1);
  CHECK(y[0] == 1.0f);
}

}  // namespace
}  // namespace intaglio::test::pool_test

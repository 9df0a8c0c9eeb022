// Every kernel of int16 activations that this CPU can run against plain loops in 64 bits, tolerance 0: products, depthwise
// products, and what works element by element.
#include "kernels/gemm/gemm_s16.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "kernels/dwconv/dwconv_s16.h"
#include "kernels/eltwise/codes_s16.h"
#include "tests/support/random.h"

namespace intaglio::test::gemm_s16_test {

using intaglio::test::Exact;
using intaglio::test::Random;
using intaglio::test::shape_count;

namespace {

template <typename Kernel>
bool runs_here(const Kernel& kernel) {
  return (kernel.isa & ~(cpu_isa() & kCompiledIsa)) == 0;
}

enum class Codes { kRandom, kLowest, kOpposite };

int16_t code(Random& random, Codes codes) {
  if (codes != Codes::kRandom) return -32768;
  return static_cast<int16_t>(random.bits());
}
int8_t weight(Random& random, Codes codes) {
  if (codes != Codes::kRandom) return codes == Codes::kLowest ? -128 : 127;
  return static_cast<int8_t>(random.bits());
}

// By the definition, in double where that is exact.
int16_t rounded(float v, const OutputS16& o) {
  const double clamped =
      std::min(std::max(static_cast<double>(v), static_cast<double>(o.lo)), static_cast<double>(o.hi));
  return static_cast<int16_t>(std::nearbyint(clamped));
}
int16_t requantized(int64_t sum, float multiplier, const OutputS16& o) {
  return rounded(static_cast<float>(sum) * multiplier, o);
}

OutputS16 draw_output(Random& random) {
  if (random.one_in(2)) return make_output_s16(-32768, 32767);
  const int32_t lo = random.between(-32768, 32766);
  return make_output_s16(lo, random.between(lo, 32767));
}

// Biases near the ends of int32 leave it with the first product.
int32_t draw_bias(Random& random) {
  if (random.one_in(8)) return random.one_in(2) ? INT32_MAX : INT32_MIN + 1;
  return random.between(-2000000, 2000000);
}

struct Case {
  int32_t m, n, taps, k;
  Codes codes = Codes::kRandom;
};

void run_gemm(const GemmS16Kernel& kernel, const Case& c, Random& random) {
  CAPTURE(kernel.name);
  CAPTURE(c.m);
  CAPTURE(c.n);
  CAPTURE(c.taps);
  CAPTURE(c.k);
  const auto k = static_cast<size_t>(c.k), n = static_cast<size_t>(c.n), taps = static_cast<size_t>(c.taps),
             mr = static_cast<size_t>(kernel.mr), m = static_cast<size_t>(c.m);
  std::vector<std::unique_ptr<Exact<int16_t>>> pool;
  for (int32_t i = 0; i < 8; ++i) {
    std::vector<int16_t> row(k);
    for (int16_t& x : row) x = code(random, c.codes);
    pool.push_back(std::make_unique<Exact<int16_t>>(row));
  }
  Exact<const int16_t*> rows(taps * mr);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = i % mr < m ? pool[random.bits() % 8]->data() : nullptr;
  std::vector<int8_t> plain(n * taps * k);
  for (int8_t& w : plain) w = weight(random, c.codes);
  std::vector<int32_t> biases(n);
  for (int32_t& b : biases) b = draw_bias(random);
  const float step = 20000.0f / (1.0f + 600000.0f * std::sqrt(static_cast<float>(c.taps * c.k)));
  const std::vector<float> factors = random.reals(n, 0.0f, c.codes == Codes::kRandom ? step : 0.01f * step);
  const Exact<int8_t> weights(plain);
  const Exact<int32_t> bias(biases);
  const Exact<float> multiplier(factors);
  Exact<int8_t> packed(static_cast<size_t>(gemm_s16_packed_bytes(kernel, c.n, c.taps, c.k)));
  gemm_s16_pack(kernel, weights.data(), bias.data(), c.n, c.taps, c.k, packed.data());
  const size_t stride = n + random.bits() % 3;
  Exact<int16_t> output((m - 1) * stride + n);
  std::fill(output.data(), output.data() + output.size(), int16_t{99});
  GemmS16Args args;
  args.rows = rows.data();
  args.weights = kernel.packs ? packed.data() : weights.data();
  args.bias = bias.data();
  args.multiplier = multiplier.data();
  args.output = output.data();
  args.output_stride = stride;
  args.requant = draw_output(random);
  args.m = c.m;
  args.n = c.n;
  args.taps = c.taps;
  args.k = c.k;
  kernel.function(args);
  size_t wrong = 0;
  for (size_t r = 0; r < m; ++r)
    for (size_t o = 0; o < stride && r * stride + o < output.size(); ++o) {
      int16_t expected = 99;
      if (o < n) {
        int64_t sum = bias[o];
        for (size_t t = 0; t < taps; ++t)
          for (size_t i = 0; i < k; ++i)
            sum += int64_t{rows[t * mr + r][i]} * weights[(o * taps + t) * k + i];
        expected = requantized(sum, multiplier[o], args.requant);
      }
      wrong += output[r * stride + o] != expected;
    }
  REQUIRE(wrong == 0);
}

}  // namespace

TEST_CASE("products of random shapes") {
  Random random(1);
  for (int32_t i = 0; i < shape_count(300); ++i) {
    Case c{};
    c.n = random.between(1, random.one_in(3) ? 100 : 20);
    c.taps = random.one_in(2) ? 1 : random.between(1, 9);
    c.k = random.between(1, random.one_in(3) ? 90 : 17);
    for (int32_t index = 0; index < gemm_s16_count(); ++index) {
      const GemmS16Kernel& kernel = gemm_s16_kernel(index);
      if (!runs_here(kernel)) continue;
      c.m = random.between(1, kernel.mr);
      run_gemm(kernel, c, random);
    }
  }
}

TEST_CASE("sums past 32 bits are exact") {
  Random random(2);
  for (const Codes codes : {Codes::kRandom, Codes::kLowest, Codes::kOpposite})
    for (const auto& [taps, k] : {std::pair<int32_t, int32_t>{1, 507},
                                  {1, 508},
                                  {1, 509},
                                  {1, 511},
                                  {1, 512},
                                  {1, 513},
                                  {1, 2100},
                                  {3, 300},
                                  {9, 127},
                                  {509, 1},
                                  {600, 2}})
      for (int32_t index = 0; index < gemm_s16_count(); ++index) {
        const GemmS16Kernel& kernel = gemm_s16_kernel(index);
        if (!runs_here(kernel)) continue;
        for (const int32_t m : {1, std::min(7, kernel.mr)})
          run_gemm(kernel, {m, random.between(1, 40), taps, k, codes}, random);
      }
}

TEST_CASE("a panel says whether its sums fit 32 bits") {
  // 2^15 * 65535 + 32767 is 2^31 - 1: the last weight that fits, and the first bias that does not.
  const GemmS16Kernel& kernel = gemm_s16_kernel(0);
  REQUIRE(kernel.packs);
  constexpr int32_t kDepths = 517;
  std::vector<int8_t> weights(kDepths, -127);
  weights[516] = 3;  // 516 * 127 + 3 = 65535
  for (const int32_t bias : {32767, -32767, 32768, -32768}) {
    std::vector<int8_t> packed(static_cast<size_t>(gemm_s16_packed_bytes(kernel, 1, 1, kDepths)));
    gemm_s16_pack(kernel, weights.data(), &bias, 1, 1, kDepths, packed.data());
    int32_t fits;
    memcpy(&fits, packed.data(), sizeof fits);
    CHECK(fits == (std::abs(bias) == 32767 ? 1 : 0));
  }
}

TEST_CASE("depthwise products of random shapes") {
  Random random(3);
  for (int32_t i = 0; i < shape_count(300); ++i) {
    const int32_t pixels = random.between(1, 9), taps = random.between(1, random.one_in(8) ? 700 : 25);
    const int32_t channels = random.between(1, 40), times = random.one_in(4) ? random.between(2, 3) : 1;
    const auto outputs = static_cast<size_t>(channels * times);
    const Codes codes = random.one_in(6) ? Codes::kOpposite : Codes::kRandom;
    std::vector<std::unique_ptr<Exact<int16_t>>> pool;
    for (int32_t j = 0; j < 6; ++j) {
      std::vector<int16_t> row(static_cast<size_t>(channels));
      for (int16_t& x : row) x = code(random, codes);
      pool.push_back(std::make_unique<Exact<int16_t>>(row));
    }
    Exact<const int16_t*> rows(static_cast<size_t>(pixels * taps));
    for (size_t r = 0; r < rows.size(); ++r) rows[r] = pool[random.bits() % 6]->data();
    std::vector<int8_t> plain(static_cast<size_t>(taps) * outputs);
    for (int8_t& w : plain) w = weight(random, codes);
    std::vector<int32_t> biases(outputs);
    for (int32_t& b : biases) b = draw_bias(random);
    const Exact<int8_t> weights(plain);
    const Exact<int32_t> bias(biases);
    const Exact<float> multiplier(random.reals(outputs, 0.0f, 0.001f));
    bool narrow = times == 1 && channels >= kDwconvS16MinChannels;
    for (size_t o = 0; o < outputs; ++o) {
      int64_t most = std::abs(int64_t{bias[o]});
      for (size_t t = 0; t < static_cast<size_t>(taps); ++t)
        most += std::abs(int64_t{weights[t * outputs + o]}) << 15;
      narrow = narrow && most <= INT32_MAX;
    }
    DwconvS16Args args{};
    args.rows = rows.data();
    args.weights = weights.data();
    args.bias = bias.data();
    args.multiplier = multiplier.data();
    args.output_stride = outputs;
    args.requant = draw_output(random);
    args.pixels = pixels;
    args.taps = taps;
    args.channels = channels;
    args.depth_multiplier = times;
    CHECK(dwconv_s16_kernel(dwconv_s16_select(cpu_isa() & kCompiledIsa, false)).isa == isa::kScalar);
    for (int32_t index = 0; index < dwconv_s16_count(); ++index) {
      const DwconvS16Kernel& kernel = dwconv_s16_kernel(index);
      if (!runs_here(kernel) || (kernel.is_narrow && !narrow)) continue;
      CAPTURE(kernel.name);
      Exact<int16_t> output(static_cast<size_t>(pixels) * outputs);
      args.output = output.data();
      kernel.function(args);
      size_t wrong = 0;
      for (size_t p = 0; p < static_cast<size_t>(pixels); ++p)
        for (size_t o = 0; o < outputs; ++o) {
          int64_t sum = bias[o];
          for (size_t t = 0; t < static_cast<size_t>(taps); ++t)
            sum += int64_t{rows[p * static_cast<size_t>(taps) + t][o / static_cast<size_t>(times)]} *
                   weights[t * outputs + o];
          wrong += output[p * outputs + o] != requantized(sum, multiplier[o], args.requant);
        }
      REQUIRE(wrong == 0);
    }
  }
}

TEST_CASE("random codes element by element") {
  Random random(4);
  for (int32_t i = 0; i < shape_count(400); ++i) {
    const int32_t n = random.between(1, 70), rows = random.between(1, 3);
    const auto count = static_cast<size_t>(n * rows);
    const auto draw = [&](size_t size) {
      std::vector<int16_t> values(size);
      for (int16_t& v : values) v = random.one_in(10) ? int16_t{-32768} : static_cast<int16_t>(random.bits());
      return values;
    };
    const Exact<int16_t> x(draw(count)), small(draw(static_cast<size_t>(n))), table(draw(513));
    std::vector<float> reals = random.reals(count, -40000.0f, 40000.0f);
    for (float& v : reals) v = random.one_in(9) ? random.any_float() : v;
    const Exact<float> real(reals);
    const Exact<int8_t> bytes(random.codes(count));
    const OutputS16 o = draw_output(random);
    const int32_t zero_point = random.between(-128, 127);
    const OutputS8 narrow = make_output_s8(zero_point, -128, random.between(-100, 127));
    const float factor = random.real(0.001f, 3.0f), other = random.real(-3.0f, 3.0f);
    const bool one = random.one_in(3);
    for (int32_t index = 0; index < codes_s16_count(); ++index) {
      const CodesS16Kernel& kernel = codes_s16_kernel(index);
      if (!runs_here(kernel)) continue;
      CAPTURE(kernel.name);
      const auto all = static_cast<int32_t>(count);
      size_t wrong = 0;
      Exact<int16_t> y(count);
      const auto expect = [&](auto expected) {
        for (size_t j = 0; j < count; ++j) wrong += y[j] != expected(j);
      };
      kernel.quantize(real.data(), factor, o, y.data(), all);
      expect([&](size_t j) { return real[j] != real[j] ? int16_t{0} : rounded(real[j] / factor, o); });
      kernel.widen(bytes.data(), zero_point, factor, o, y.data(), all);
      expect([&](size_t j) { return requantized(bytes[j] - zero_point, factor, o); });
      kernel.rescale(x.data(), factor, o, y.data(), all);
      expect([&](size_t j) { return requantized(x[j], factor, o); });
      kernel.lookup(x.data(), table.data(), y.data(), all);
      expect([&](size_t j) {
        const int32_t at = (x[j] + 32768) / 128, part = (x[j] + 32768) % 128;
        const double line =
            table[static_cast<size_t>(at)] +
            (table[static_cast<size_t>(at) + 1] - table[static_cast<size_t>(at)]) * part / 128.0;
        return static_cast<int16_t>(std::floor(line + 0.5));
      });
      const OperandsS16 operands{x.data(), small.data(), one, rows, n, factor, other, o};
      const auto second = [&](size_t j) { return small[one ? 0 : j % static_cast<size_t>(n)]; };
      kernel.add(operands, y.data());
      expect([&](size_t j) {
        const float a = static_cast<float>(x[j]) * factor, b = static_cast<float>(second(j)) * other;
        return rounded(a + b, o);
      });
      kernel.mul(operands, y.data());
      expect([&](size_t j) { return requantized(int64_t{x[j]} * second(j), factor, o); });
      Exact<float> back(count);
      kernel.real(x.data(), factor, back.data(), all);
      for (size_t j = 0; j < count; ++j) wrong += back[j] != factor * static_cast<float>(x[j]);
      Exact<int8_t> codes(count);
      kernel.narrow(x.data(), factor, narrow, codes.data(), all);
      for (size_t j = 0; j < count; ++j) wrong += codes[j] != requantize_s8(x[j], factor, narrow);
      REQUIRE(wrong == 0);
    }
  }
}

}  // namespace intaglio::test::gemm_s16_test

// Every FP32 gemm kernel that this CPU can run against a plain chain of libm's fmaf, to the bit.
#include "kernels/gemm/gemm_f32.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "tests/support/float_bits.h"
#include "tests/support/random.h"

namespace intaglio::test::gemm_f32_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool runs_here(const GemmF32Kernel& kernel) { return (kernel.isa & ~(cpu_isa() & kCompiledIsa)) == 0; }

struct Case {
  int32_t m, n, taps, k;
  bool residual;
  int32_t
      values;  // 0: ordinary; 1: any bit pattern in x and residual; 2: near the subnormals; 3: signed zeros
};

float draw(Random& random, int32_t values, bool constant) {
  if (values == 1 && !constant) return random.any_float();
  if (values == 1) return std::ldexp(random.real(-2.0f, 2.0f), random.between(-120, 120));
  if (values == 2) return std::ldexp(random.real(-2.0f, 2.0f), random.between(-74, -60));
  if (values == 3) return random.one_in(2) ? -0.0f : (random.one_in(2) ? 0.0f : -1.0f);
  return random.real(-2.0f, 2.0f);
}

std::vector<float> draws(Random& random, size_t count, int32_t values, bool constant) {
  std::vector<float> v(count);
  for (float& x : v) x = draw(random, values, constant);
  return v;
}

void run_case(const GemmF32Kernel& kernel, const Case& c, Random& random) {
  CAPTURE(kernel.name);
  CAPTURE(c.m);
  CAPTURE(c.n);
  CAPTURE(c.taps);
  CAPTURE(c.k);
  CAPTURE(c.values);
  const auto k = static_cast<size_t>(c.k), n = static_cast<size_t>(c.n), taps = static_cast<size_t>(c.taps);
  std::vector<std::unique_ptr<Exact<float>>> pool;
  for (int32_t i = 0; i < 8; ++i)
    pool.push_back(std::make_unique<Exact<float>>(draws(random, k, c.values, false)));
  Exact<const float*> rows(taps * static_cast<size_t>(kernel.mr));
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<int32_t>(i) % kernel.mr < c.m ? pool[random.bits() % 8]->data() : nullptr;

  const Exact<float> weights(draws(random, n * taps * k, c.values, true));
  const Exact<float> bias(draws(random, n, c.values, true));
  const bool has_bias = !random.one_in(5);
  const size_t stride = n + static_cast<size_t>(random.between(0, 3));
  const size_t used = (static_cast<size_t>(c.m) - 1) * stride + n;
  const Exact<float> residual(draws(random, used, c.values, false));
  Exact<float> output(used);
  memset(output.data(), 0x5a, used * sizeof(float));
  Exact<float> packed(static_cast<size_t>(gemm_f32_packed_bytes(kernel, c.n, c.taps, c.k)) / sizeof(float));
  gemm_f32_pack(kernel, weights.data(), c.n, c.taps, c.k, packed.data());

  GemmF32Args args;
  args.rows = rows.data();
  args.weights = kernel.packs ? packed.data() : weights.data();
  args.bias = has_bias ? bias.data() : nullptr;
  const bool in_place = c.residual && random.one_in(2);
  if (in_place) memcpy(output.data(), residual.data(), used * sizeof(float));
  args.output = output.data();
  args.output_stride = stride;
  args.residual = !c.residual ? nullptr : (in_place ? output.data() : residual.data());
  args.residual_stride = stride;
  args.clamp = {-kInfinity, kInfinity};
  // Ends of either zero, too: no clamp leaves a -0.
  constexpr float kLow[] = {0.0f, -0.0f, -0.5f}, kHigh[] = {6.0f, kInfinity, 0.0f, -0.0f};
  if (random.one_in(2)) args.clamp = {kLow[random.between(0, 2)], kHigh[random.between(0, 3)]};
  args.m = c.m;
  args.n = c.n;
  args.taps = c.taps;
  args.k = c.k;
  kernel.function(args);

  for (size_t r = 0; r < static_cast<size_t>(c.m); ++r) {
    for (size_t j = 0; j < n; ++j) {
      float v = has_bias ? bias[j] : 0.0f;
      for (size_t t = 0; t < taps; ++t)
        for (size_t i = 0; i < k; ++i)
          v = std::fma(rows[t * static_cast<size_t>(kernel.mr) + r][i], weights[(j * taps + t) * k + i], v);
      v += 0.0f;
      if (c.residual) v += residual[r * stride + j];
      CAPTURE(r);
      CAPTURE(j);
      REQUIRE(bits_of(output[r * stride + j]) == clamped_bits(v, args.clamp));
    }
    for (size_t j = n; j < stride && r + 1 < static_cast<size_t>(c.m); ++j)
      REQUIRE(bits_of(output[r * stride + j]) ==
              (in_place ? bits_of(residual[r * stride + j]) : 0x5a5a5a5au));
  }
}

}  // namespace

TEST_CASE("every kernel, random shapes and values") {
  for (int32_t index = 0; index < gemm_f32_count(); ++index) {
    const GemmF32Kernel& kernel = gemm_f32_kernel(index);
    if (!runs_here(kernel)) continue;
    Random random(static_cast<uint32_t>(index) + 1);
    const int32_t cases = test::shape_count(8000);
    for (int32_t i = 0; i < cases; ++i) {
      Case c;
      c.m = random.between(1, kernel.mr);
      c.n = random.one_in(4) ? random.between(1, 70) : random.between(1, 20);
      c.taps = random.one_in(3) ? random.between(1, 10) : 1;
      c.k = random.one_in(4) ? random.between(1, 200) : random.between(1, 20);
      c.residual = random.one_in(3);
      c.values = random.between(0, 3);
      run_case(kernel, c, random);
    }
  }
}

TEST_CASE("every row and column count up to past two panels") {
  for (int32_t index = 0; index < gemm_f32_count(); ++index) {
    const GemmF32Kernel& kernel = gemm_f32_kernel(index);
    if (!runs_here(kernel)) continue;
    Random random(7);
    for (int32_t m = 1; m <= kernel.mr; ++m)
      for (int32_t n = 1; n <= 2 * kernel.nr + 1; ++n)
        for (const bool residual : {false, true}) run_case(kernel, {m, n, 2, 5, residual, 0}, random);
  }
}

TEST_CASE("selection by mask") {
  CHECK(std::string(gemm_f32_kernel(gemm_f32_select(isa::kScalar)).name) == "gemm_f32_scalar");
  CHECK(std::string(gemm_f32_kernel(gemm_f32_select(isa::kAvx2)).name) == "gemm_f32_avx2");
  for (int32_t i = 0; i < gemm_f32_count(); ++i)
    if ((gemm_f32_kernel(i).isa & ~kCompiledIsa) == 0) CHECK((gemm_f32_kernel(i).function != nullptr));
}

}  // namespace intaglio::test::gemm_f32_test

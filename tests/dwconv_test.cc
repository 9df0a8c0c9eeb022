// Every depthwise kernel that this CPU can run, int8 and FP32, against plain loops, tolerance 0.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "intaglio/platform.h"
#include "kernels/arithmetic/output_f32.h"
#include "kernels/compiled_isa.h"
#include "kernels/dwconv/dwconv_f32.h"
#include "kernels/dwconv/dwconv_s8.h"
#include "tests/support/float_bits.h"
#include "tests/support/random.h"

namespace intaglio::test::dwconv_test {
namespace {

struct Case {
  int32_t pixels, taps, channels, depth_multiplier;
  int32_t values;  // int8: as in gemm_s8_test; FP32: 1 is any bit pattern
};

template <typename Kernel>
bool runs_here(const Kernel& kernel) {
  return (kernel.isa & ~(cpu_isa() & kCompiledIsa)) == 0;
}

template <typename Kernel>
Case draw_case(const Kernel& kernel, Random& random) {
  Case c;
  c.pixels = random.between(1, 9);
  c.taps = random.one_in(4) ? random.between(1, 26) : 9;
  c.channels = random.one_in(4) ? random.between(1, 120) : random.between(1, 36);
  c.depth_multiplier = kernel.max_depth_multiplier == 0 ? random.between(1, 3)
                                                        : random.between(1, kernel.max_depth_multiplier);
  c.values = random.one_in(4) ? random.between(1, 2) : 0;
  return c;
}

// Each row in a buffer of its own exact size.
template <typename T>
struct Rows {
  std::vector<std::unique_ptr<Exact<T>>> pool;
  std::unique_ptr<Exact<const T*>> rows;

  template <typename Make>
  Rows(const Case& c, Random& random, Make make) {
    for (int32_t i = 0; i < 12; ++i) pool.push_back(std::make_unique<Exact<T>>(make(c.channels)));
    rows = std::make_unique<Exact<const T*>>(static_cast<size_t>(c.pixels * c.taps));
    for (size_t i = 0; i < rows->size(); ++i) (*rows)[i] = pool[random.bits() % 12]->data();
  }
};

const DwconvS8F32Kernel* kernel_to_reals(const DwconvS8Kernel& kernel) {
  for (int32_t i = 0; i < dwconv_s8_f32_count(); ++i)
    if (dwconv_s8_f32_kernel(i).isa == kernel.isa) return &dwconv_s8_f32_kernel(i);
  return nullptr;
}

// The kernel, and the one for the same instruction set whose results leave in FP32.
void run_s8(const DwconvS8Kernel& kernel, const Case& c, Random& random) {
  CAPTURE(kernel.name);
  CAPTURE(c.pixels);
  CAPTURE(c.taps);
  CAPTURE(c.channels);
  CAPTURE(c.depth_multiplier);
  const auto filled = [&](int32_t count, int8_t extreme) {
    const auto size = static_cast<size_t>(count);
    return c.values == 0 ? random.codes(size) : std::vector<int8_t>(size, extreme);
  };
  const Rows<int8_t> x(c, random, [&](int32_t count) { return filled(count, -128); });
  const int32_t outputs = c.channels * c.depth_multiplier;
  const auto n = static_cast<size_t>(outputs), taps = static_cast<size_t>(c.taps);
  const Exact<int8_t> weights(filled(c.taps * outputs, c.values == 2 ? 127 : -128));
  Exact<int32_t> bias(n);
  Exact<float> multiplier(n);
  const bool extreme = random.one_in(8);
  for (size_t i = 0; i < n; ++i) {
    bias[i] = extreme ? (random.one_in(2) ? INT32_MAX : INT32_MIN) : random.between(-20000, 20000);
    multiplier[i] = random.real(0.1f, 2.0f) * (extreme ? 5e-8f : 0.02f / static_cast<float>(c.taps));
  }
  const size_t stride = n + static_cast<size_t>(random.between(0, 3));
  Exact<int8_t> output((static_cast<size_t>(c.pixels) - 1) * stride + n);
  memset(output.data(), 0x5a, output.size());
  Exact<uint8_t> scratch(static_cast<size_t>(dwconv_s8_scratch_bytes(kernel, c.taps)));

  // By the first pixel's rows alone, where the kernel takes that.
  const bool even = kernel.tap_bytes == 0 && random.one_in(2);
  constexpr int32_t kSpread = 60;
  const int32_t step = random.between(1, 50);
  const Exact<int8_t> line(filled(even ? kSpread + (c.pixels - 1) * step + c.channels : 0, -128));
  std::vector<const int8_t*> rows(x.rows->data(), x.rows->data() + static_cast<size_t>(c.pixels) * taps);
  for (size_t i = 0; even && i < rows.size(); ++i)
    rows[i] = i < taps ? line.data() + random.between(0, kSpread) : rows[i - taps] + step;
  const Exact<const int8_t*> first_rows(std::vector<const int8_t*>(rows.begin(), rows.begin() + c.taps));

  DwconvS8Args args;
  args.rows = even ? first_rows.data() : x.rows->data();
  args.pixel_step = even ? step : 0;
  args.weights = weights.data();
  args.folded_bias = bias.data();
  args.multiplier = multiplier.data();
  args.output = output.data();
  args.output_stride = stride;
  args.scratch = scratch.data();
  args.requant = make_output_s8(random.between(-128, 127), random.between(-128, 0), random.between(0, 127));
  args.pixels = c.pixels;
  args.taps = c.taps;
  args.channels = c.channels;
  args.depth_multiplier = c.depth_multiplier;
  kernel.function(args);

  const DwconvS8F32Kernel* const to_reals = even ? nullptr : kernel_to_reals(kernel);
  Exact<float> reals(to_reals != nullptr ? output.size() : 0);
  memset(static_cast<void*>(reals.data()), 0x5a, reals.size() * sizeof(float));
  DwconvS8F32Args real_args;
  static_cast<DwconvS8Args&>(real_args) = args;
  real_args.y = reals.data();
  real_args.y_stride = stride;
  if (random.one_in(2)) real_args.clamp = {random.real(-3.0f, 0.0f), random.real(0.0f, 6.0f)};
  if (to_reals != nullptr) to_reals->f32_function(real_args);

  for (size_t p = 0; p < static_cast<size_t>(c.pixels); ++p) {
    for (size_t o = 0; o < n; ++o) {
      int64_t acc = bias[o];
      for (size_t t = 0; t < taps; ++t)
        acc += int64_t{rows[p * taps + t][o / static_cast<size_t>(c.depth_multiplier)]} * weights[t * n + o];
      CAPTURE(p);
      CAPTURE(o);
      REQUIRE(output[p * stride + o] ==
              requantize_s8(static_cast<int32_t>(acc), multiplier[o], args.requant));
      if (to_reals == nullptr) continue;
      const float real =
          finish_f32(static_cast<float>(static_cast<int32_t>(acc)) * multiplier[o], real_args.clamp);
      REQUIRE(memcmp(&reals[p * stride + o], &real, sizeof real) == 0);
    }
    for (size_t o = n; to_reals != nullptr && o < stride && p + 1 < static_cast<size_t>(c.pixels); ++o)
      REQUIRE(reinterpret_cast<const uint8_t*>(&reals[p * stride + o])[0] == 0x5a);
    for (size_t o = n; o < stride && p + 1 < static_cast<size_t>(c.pixels); ++o)
      REQUIRE(output[p * stride + o] == 0x5a);
  }
}

void run_f32(const DwconvF32Kernel& kernel, const Case& c, Random& random) {
  CAPTURE(kernel.name);
  CAPTURE(c.pixels);
  CAPTURE(c.taps);
  CAPTURE(c.channels);
  CAPTURE(c.depth_multiplier);
  const Rows<float> x(c, random, [&](int32_t count) {
    std::vector<float> v = random.reals(static_cast<size_t>(count), -2.0f, 2.0f);
    if (c.values == 1)
      for (float& value : v) value = random.any_float();
    return v;
  });
  const auto n = static_cast<size_t>(c.channels * c.depth_multiplier), taps = static_cast<size_t>(c.taps);
  const Exact<float> weights(random.reals(n * taps, -2.0f, 2.0f)), bias(random.reals(n, -2.0f, 2.0f));
  const bool has_bias = !random.one_in(5);
  const size_t stride = n + static_cast<size_t>(random.between(0, 3));
  Exact<float> output((static_cast<size_t>(c.pixels) - 1) * stride + n);
  memset(output.data(), 0x5a, output.size() * sizeof(float));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();

  DwconvF32Args args;
  args.rows = x.rows->data();
  args.weights = weights.data();
  args.bias = has_bias ? bias.data() : nullptr;
  args.output = output.data();
  args.output_stride = stride;
  args.clamp = {-kInfinity, kInfinity};
  if (random.one_in(2)) args.clamp = {random.one_in(2) ? 0.0f : -0.5f, random.one_in(2) ? 6.0f : kInfinity};
  args.pixels = c.pixels;
  args.taps = c.taps;
  args.channels = c.channels;
  args.depth_multiplier = c.depth_multiplier;
  kernel.function(args);

  for (size_t p = 0; p < static_cast<size_t>(c.pixels); ++p) {
    for (size_t o = 0; o < n; ++o) {
      float v = has_bias ? bias[o] : 0.0f;
      for (size_t t = 0; t < taps; ++t)
        v = std::fma(args.rows[p * taps + t][o / static_cast<size_t>(c.depth_multiplier)], weights[t * n + o],
                     v);
      CAPTURE(p);
      CAPTURE(o);
      REQUIRE(bits_of(output[p * stride + o]) == clamped_bits(v, args.clamp));
    }
    for (size_t o = n; o < stride && p + 1 < static_cast<size_t>(c.pixels); ++o)
      REQUIRE(bits_of(output[p * stride + o]) == 0x5a5a5a5au);
  }
}

}  // namespace

TEST_CASE("every int8 kernel, random shapes") {
  for (int32_t index = 0; index < dwconv_s8_count(); ++index) {
    const DwconvS8Kernel& kernel = dwconv_s8_kernel(index);
    if (!runs_here(kernel)) continue;
    Random random(static_cast<uint32_t>(index) + 1);
    for (int32_t i = test::shape_count(3000); i > 0; --i) run_s8(kernel, draw_case(kernel, random), random);
  }
}

TEST_CASE("every FP32 kernel, random shapes") {
  for (int32_t index = 0; index < dwconv_f32_count(); ++index) {
    const DwconvF32Kernel& kernel = dwconv_f32_kernel(index);
    if (!runs_here(kernel)) continue;
    Random random(static_cast<uint32_t>(index) + 1);
    for (int32_t i = test::shape_count(3000); i > 0; --i) run_f32(kernel, draw_case(kernel, random), random);
  }
}

TEST_CASE("every number of taps and channels up to past two vectors") {
  Random random(5);
  for (int32_t taps = 1; taps <= 10; ++taps)
    for (int32_t channels = 1; channels <= 34; ++channels) {
      const Case c = {5, taps, channels, 1, 0};
      for (int32_t i = 0; i < dwconv_s8_count(); ++i)
        if (runs_here(dwconv_s8_kernel(i))) run_s8(dwconv_s8_kernel(i), c, random);
      for (int32_t i = 0; i < dwconv_f32_count(); ++i)
        if (runs_here(dwconv_f32_kernel(i))) run_f32(dwconv_f32_kernel(i), c, random);
    }
}

TEST_CASE("selection by mask and precondition") {
  const auto s8 = [](IsaMask isa, int32_t m) {
    return std::string(dwconv_s8_kernel(dwconv_s8_select(isa, m)).name);
  };
  const auto f32 = [](IsaMask isa, int32_t m) {
    return std::string(dwconv_f32_kernel(dwconv_f32_select(isa, m)).name);
  };
  CHECK(s8(isa::kScalar, 1) == "dwconv_s8_scalar");
  CHECK(s8(isa::kAvx2, 1) == "dwconv_s8_avx2");
  CHECK(s8(isa::kAvx2, 2) == "dwconv_s8_scalar");
  CHECK(f32(isa::kScalar, 1) == "dwconv_f32_scalar");
  CHECK(f32(isa::kAvx2, 1) == "dwconv_f32_avx2");
  CHECK(f32(isa::kAvx2, 2) == "dwconv_f32_scalar");
}

}  // namespace intaglio::test::dwconv_test

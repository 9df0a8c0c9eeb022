// Every 3 x 3 depthwise kernel that this CPU can run against a plain loop, tolerance 0.
#include "kernels/dwconv/dwconv_3x3_s8.h"

#include <doctest/doctest.h>

#include <memory>

#include "kernels/compiled_isa.h"
#include "tests/support/random.h"
#include "tests/support/runnable_isa.h"

namespace intaglio::test::dwconv_3x3_s8_test {

using intaglio::test::Exact;
using intaglio::test::Random;

namespace {

struct Case {
  int32_t channels, w, ow, stride, pad_left, lines;
  bool extreme;
};

void run_case(const Dwconv3x3S8Kernel& kernel, const Case& c, Random& random) {
  CAPTURE(kernel.name);
  CAPTURE(c.channels);
  CAPTURE(c.w);
  CAPTURE(c.ow);
  CAPTURE(c.stride);
  CAPTURE(c.pad_left);
  const auto channels = static_cast<size_t>(c.channels), w = static_cast<size_t>(c.w);
  const auto codes = [&](size_t count) {
    return c.extreme ? std::vector<int8_t>(count, random.one_in(2) ? int8_t{-128} : int8_t{127})
                     : random.codes(count);
  };
  const Exact<int8_t> padding(std::vector<int8_t>(channels, static_cast<int8_t>(random.between(-128, 127))));
  std::vector<std::unique_ptr<Exact<int8_t>>> lines;
  Dwconv3x3S8Args args{};
  for (int32_t i = 0; i < 4; ++i) {
    lines.push_back(std::make_unique<Exact<int8_t>>(codes(w * channels)));
    const bool outside = random.one_in(5);
    args.lines[i] = outside ? padding.data() : lines.back()->data();
    args.steps[i] = outside ? 0 : c.channels;
  }
  std::vector<int8_t> weight_codes = codes(9 * channels);
  if (!dwconv_3x3_s8_fits(kernel, weight_codes.data(), c.channels))
    for (int8_t& code : weight_codes) code = code == -128 ? int8_t{-127} : code;
  REQUIRE(dwconv_3x3_s8_fits(kernel, weight_codes.data(), c.channels));
  const Exact<int8_t> weights(weight_codes);
  std::vector<int32_t> bias(channels);
  std::vector<float> multiplier(channels);
  for (size_t i = 0; i < channels; ++i) {
    bias[i] = random.one_in(8) ? static_cast<int32_t>(random.bits()) : random.between(-20000, 20000);
    multiplier[i] = random.one_in(8) ? random.real(0.0f, 0.9999f) : random.real(1e-4f, 1e-2f);
  }
  const Exact<int32_t> exact_bias(bias);
  const Exact<float> exact_multiplier(multiplier);
  Exact<uint8_t> packed(static_cast<size_t>(dwconv_3x3_s8_packed_bytes(kernel, c.channels)));
  dwconv_3x3_s8_pack(kernel, weights.data(), exact_bias.data(), exact_multiplier.data(), c.channels,
                     packed.data());

  const size_t used = static_cast<size_t>(c.ow) * channels;
  Exact<int8_t> first(used), second(used);
  args.padding = padding.data();
  args.packed = packed.data();
  args.output[0] = first.data();
  args.output[1] = c.lines == 2 ? second.data() : nullptr;
  const int32_t zero_point = random.one_in(4) ? -128 : random.between(-128, 127);
  args.requant = random.one_in(2)
                     ? make_output_s8(zero_point, -128, 127)
                     : make_output_s8(zero_point, random.between(-128, 0), random.between(0, 127));
  args.w = c.w;
  args.ow = c.ow;
  args.channels = c.channels;
  args.pad_left = c.pad_left;
  args.stride = c.stride;
  kernel.function(args);

  for (int32_t j = 0; j < c.lines; ++j)
    for (int32_t x = 0; x < c.ow; ++x)
      for (int32_t i = 0; i < c.channels; ++i) {
        auto acc = static_cast<uint32_t>(bias[static_cast<size_t>(i)]);
        for (int32_t ky = 0; ky < 3; ++ky)
          for (int32_t kx = 0; kx < 3; ++kx) {
            const int32_t column = x * c.stride - c.pad_left + kx, line = j + ky;
            const int32_t code = column < 0 || column >= c.w
                                     ? padding[static_cast<size_t>(i)]
                                     : args.lines[line][column * args.steps[line] + i];
            acc += static_cast<uint32_t>(code * weights[static_cast<size_t>((ky * 3 + kx) * c.channels + i)]);
          }
        const int8_t expected =
            requantize_s8(static_cast<int32_t>(acc), multiplier[static_cast<size_t>(i)], args.requant);
        CAPTURE(x);
        CAPTURE(i);
        REQUIRE(args.output[j][x * c.channels + i] == expected);
      }
}

}  // namespace

TEST_CASE("every kernel, random shapes") {
  for (int32_t index = 0; index < dwconv_3x3_s8_count(); ++index) {
    const Dwconv3x3S8Kernel& kernel = dwconv_3x3_s8_kernel(index);
    if ((kernel.isa & ~test::runnable_isa()) != 0) continue;
    Random random(static_cast<uint32_t>(index) + 1);
    const int32_t cases = test::shape_count(3000);
    for (int32_t i = 0; i < cases; ++i) {
      Case c;
      c.channels = random.one_in(4) ? random.between(8, 200) : random.between(8, 50);
      c.w = random.between(1, 9);
      c.ow = random.between(1, 9);
      c.stride = random.between(1, 2);
      c.pad_left = random.between(0, 2);
      c.lines = c.stride == 1 ? random.between(1, 2) : 1;
      c.extreme = random.one_in(8);
      run_case(kernel, c, random);
    }
  }
}

TEST_CASE("selection by mask") {
  CHECK(dwconv_3x3_s8_select(isa::kScalar) == -1);
  for (int32_t i = 0; i < dwconv_3x3_s8_count(); ++i) {
    const Dwconv3x3S8Kernel& kernel = dwconv_3x3_s8_kernel(i);
    CHECK(dwconv_3x3_s8_select(kernel.isa) == i);
    if ((kernel.isa & ~kCompiledIsa) == 0) CHECK((kernel.function != nullptr));
  }
}

TEST_CASE("weights whose two products int16 cannot hold are for another kernel") {
  constexpr int32_t kChannels = 20;
  for (int32_t index = 0; index < dwconv_3x3_s8_count(); ++index) {
    const Dwconv3x3S8Kernel& kernel = dwconv_3x3_s8_kernel(index);
    const auto fits = [&kernel](int32_t first, int32_t second) {
      std::vector<int8_t> weights(9 * kChannels, 1);
      weights[static_cast<size_t>(first * kChannels + 19)] = -128;
      weights[static_cast<size_t>(second * kChannels + 19)] = -128;
      return dwconv_3x3_s8_fits(kernel, weights.data(), kChannels);
    };
    CAPTURE(kernel.name);
    CHECK(fits(0, 3) == (kernel.quad != 1));  // taps of one column in lines 0 and 1
    CHECK(fits(2, 5) == (kernel.quad != 1));
    CHECK(fits(0, 4));
    CHECK(fits(3, 6));
    CHECK(fits(8, 8));
  }
}

}  // namespace intaglio::test::dwconv_3x3_s8_test

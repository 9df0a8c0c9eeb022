// Every 3 x 3 depthwise kernel of whole maps that this CPU can run against a plain loop, tolerance 0. They are
// Cortex-M's: the preset armv7-dsp runs them beside guard pages, kernel_check on a board.
#include "kernels/dwconv/dwconv_map_s8.h"

#include <doctest/doctest.h>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "tests/support/random.h"

namespace intaglio::test::dwconv_map_s8_test {

using intaglio::test::Exact;
using intaglio::test::Random;

namespace {

// Where it has all its channels, or a part of them.
void run_case(const DwconvMapS8Kernel& kernel, Random& random) {
  DwconvMapS8Args args{};
  args.stride = random.between(1, 2);
  args.pad_top = random.between(0, 2);
  args.pad_left = random.between(0, 2);
  args.h = random.one_in(4) ? random.between(1, 40) : random.between(1, 9);
  args.w = random.one_in(4) ? random.between(1, 40) : random.between(1, 9);
  // Outputs whose windows may pass every end.
  args.oh = random.between(1, (args.h + args.pad_top + 1) / args.stride + 1);
  args.ow = random.between(1, (args.w + args.pad_left + 1) / args.stride + 1);
  const int32_t groups = random.between(1, 6);
  args.channels = groups * kDwconvMapChannels;
  args.first = random.between(0, groups - 1) * kDwconvMapChannels;
  args.last = random.between(args.first / kDwconvMapChannels + 1, groups) * kDwconvMapChannels;
  CAPTURE(kernel.name);
  CAPTURE(args.h);
  CAPTURE(args.w);
  CAPTURE(args.oh);
  CAPTURE(args.ow);
  CAPTURE(args.stride);
  CAPTURE(args.pad_top);
  CAPTURE(args.pad_left);
  const auto channels = static_cast<size_t>(args.channels);
  const bool extreme = random.one_in(8);
  const auto codes = [&](size_t count) {
    return extreme ? std::vector<int8_t>(count, random.one_in(2) ? int8_t{-128} : int8_t{127})
                   : random.codes(count);
  };
  const Exact<int8_t> input(codes(static_cast<size_t>(args.h * args.w) * channels)),
      weights(codes(9 * channels));
  Exact<int32_t> bias(channels);
  Exact<float> multiplier(channels);
  for (size_t i = 0; i < channels; ++i) {
    bias[i] = random.one_in(8) ? static_cast<int32_t>(random.bits()) : random.between(-20000, 20000);
    multiplier[i] = random.one_in(8) ? random.real(0.0f, 0.9999f) : random.real(1e-4f, 1e-2f);
  }
  Exact<int8_t> output(static_cast<size_t>(args.oh * args.ow) * channels);
  memset(output.data(), 0x5a, output.size());
  Exact<uint32_t> scratch(static_cast<size_t>(dwconv_map_s8_scratch_bytes(args.ow, args.oh, args.stride)) /
                          sizeof(uint32_t));
  const int32_t zero_point = random.one_in(4) ? -128 : random.between(-128, 127);
  args.requant = random.one_in(2)
                     ? make_output_s8(zero_point, -128, 127)
                     : make_output_s8(zero_point, random.between(-128, 0), random.between(0, 127));
  args.zero_point = random.one_in(4) ? -128 : random.between(-128, 127);
  args.input = input.data();
  args.weights = weights.data();
  args.folded_bias = bias.data();
  args.multiplier = multiplier.data();
  args.output = output.data();
  args.scratch = scratch.data();
  kernel.function(args);

  size_t at = 0;
  for (int32_t y = 0; y < args.oh; ++y)
    for (int32_t x = 0; x < args.ow; ++x)
      for (int32_t c = 0; c < args.channels; ++c, ++at) {
        if (c < args.first || c >= args.last) {
          REQUIRE(output[at] == 0x5a);
          continue;
        }
        const auto i = static_cast<size_t>(c);
        auto acc = static_cast<uint32_t>(bias[i]);
        for (int32_t ky = 0; ky < 3; ++ky)
          for (int32_t kx = 0; kx < 3; ++kx) {
            const int32_t line = y * args.stride - args.pad_top + ky,
                          column = x * args.stride - args.pad_left + kx;
            const bool inside = line >= 0 && line < args.h && column >= 0 && column < args.w;
            const int32_t code =
                inside ? input[static_cast<size_t>(line * args.w + column) * channels + i] : args.zero_point;
            acc += static_cast<uint32_t>(code * weights[static_cast<size_t>(ky * 3 + kx) * channels + i]);
          }
        CAPTURE(x);
        CAPTURE(y);
        CAPTURE(c);
        REQUIRE(output[at] == requantize_s8(static_cast<int32_t>(acc), multiplier[i], args.requant));
      }
}

}  // namespace

TEST_CASE("every kernel, random shapes") {
  for (int32_t index = 0; index < dwconv_map_s8_count(); ++index) {
    const DwconvMapS8Kernel& kernel = dwconv_map_s8_kernel(index);
    if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) != 0) continue;
    REQUIRE((kernel.function != nullptr));
    Random random(static_cast<uint32_t>(index) + 1);
    const int32_t cases = test::shape_count(3000);
    for (int32_t i = 0; i < cases; ++i) run_case(kernel, random);
  }
}

TEST_CASE("selection by mask and shape") {
  const auto chosen = [](IsaMask mask, int32_t ow, int32_t oh, int32_t channels) -> std::string {
    const int32_t index = dwconv_map_s8_select(mask, ow, oh, channels);
    return index < 0 ? "none" : dwconv_map_s8_kernel(index).name;
  };
  CHECK(chosen(isa::kDsp, 48, 48, 8) == "dwconv_map_s8_dsp");
  CHECK(chosen(isa::kScalar, 48, 48, 8) == "none");
  CHECK(chosen(isa::kDsp | isa::kHelium, 48, 48, 8) == "none");  // dwconv_s8_helium is better
  CHECK(chosen(isa::kDsp, 48, 48, 6) == "none");
  // From one output to the next there are 15 bits.
  CHECK(chosen(isa::kDsp, 9, 9, 32764) == "dwconv_map_s8_dsp");
  CHECK(chosen(isa::kDsp, 9, 9, 32768) == "none");
  CHECK(chosen(isa::kDsp, 9, 10, 3640) == "dwconv_map_s8_dsp");  // turned: a line to the next
  CHECK(chosen(isa::kDsp, 9, 10, 3644) == "none");
}

TEST_CASE("scratch is what planes and tables need") {
  CHECK(dwconv_map_s8_scratch_bytes(48, 48, 1) == 4 * (25 * 3 * 4 + 52));
  CHECK(dwconv_map_s8_scratch_bytes(24, 24, 2) == 4 * (25 * 3 * 4 + 52));
  CHECK(dwconv_map_s8_scratch_bytes(5, 25, 1) == 896);  // along the 25: 14 pairs
  CHECK(dwconv_map_s8_scratch_bytes(1, 1, 1) == 320);
}

}  // namespace intaglio::test::dwconv_map_s8_test

// Every FP32 depthwise kernel of lines, 3 x 3, 5 x 5 and 7 x 7, that this CPU can run against a plain chain of
// libm's fmaf, to the bit.
#include "kernels/dwconv/dwconv_f32.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "tests/support/float_bits.h"
#include "tests/support/random.h"

namespace intaglio::test::dwconv_lines_f32_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  int32_t side, channels, w, ow, stride, pad_left, lines;
  bool any_bits;  // of the input: NaN, infinities and subnormals, too
};

void run_case(const DwconvLinesF32Kernel& kernel, const Case& c, Random& random) {
  CAPTURE(kernel.name);
  CAPTURE(c.side);
  CAPTURE(c.channels);
  CAPTURE(c.w);
  CAPTURE(c.ow);
  CAPTURE(c.stride);
  CAPTURE(c.pad_left);
  CAPTURE(c.lines);
  const auto channels = static_cast<size_t>(c.channels), w = static_cast<size_t>(c.w);
  const Exact<float> padding(std::vector<float>(channels, 0.0f));
  std::vector<std::unique_ptr<Exact<float>>> lines;
  DwconvLinesF32Args args{};
  // Unused lines must not be read: nullptr.
  for (int32_t i = 0; i < c.side - 1 + dwconv_lines_at_once(c.side, c.stride); ++i) {
    std::vector<float> values = random.reals(w * channels, -2.0f, 2.0f);
    if (c.any_bits)
      for (float& v : values) v = random.any_float();
    lines.push_back(std::make_unique<Exact<float>>(values));
    const bool outside = random.one_in(5);
    args.lines[i] = outside ? padding.data() : lines.back()->data();
    args.steps[i] = outside ? 0 : c.channels;
  }
  const Exact<float> weights(random.reals(static_cast<size_t>(c.side * c.side) * channels, -2.0f, 2.0f)),
      bias(random.reals(channels, -2.0f, 2.0f));
  const bool has_bias = !random.one_in(5);
  const size_t used = static_cast<size_t>(c.ow) * channels;
  Exact<float> first(used), second(used);
  args.padding = padding.data();
  args.weights = weights.data();
  args.bias = has_bias ? bias.data() : nullptr;
  args.output[0] = first.data();
  args.output[1] = c.lines == 2 ? second.data() : nullptr;
  args.clamp = {-kInfinity, kInfinity};
  // Ends of either zero, too: no clamp leaves a -0.
  constexpr float kLow[] = {0.0f, -0.0f, -0.5f}, kHigh[] = {6.0f, kInfinity, 0.0f, -0.0f};
  if (random.one_in(2)) args.clamp = {kLow[random.between(0, 2)], kHigh[random.between(0, 3)]};
  args.w = c.w;
  args.ow = c.ow;
  args.channels = c.channels;
  args.pad_left = c.pad_left;
  args.side = c.side;
  args.stride = c.stride;
  kernel.function(args);

  for (int32_t j = 0; j < c.lines; ++j)
    for (int32_t x = 0; x < c.ow; ++x)
      for (int32_t i = 0; i < c.channels; ++i) {
        float v = has_bias ? bias[static_cast<size_t>(i)] : 0.0f;
        for (int32_t ky = 0; ky < c.side; ++ky)
          for (int32_t kx = 0; kx < c.side; ++kx) {
            const int32_t column = x * c.stride - c.pad_left + kx, line = j + ky;
            const float in =
                column < 0 || column >= c.w ? 0.0f : args.lines[line][column * args.steps[line] + i];
            v = std::fma(in, weights[static_cast<size_t>((ky * c.side + kx) * c.channels + i)], v);
          }
        CAPTURE(j);
        CAPTURE(x);
        CAPTURE(i);
        REQUIRE(bits_of(args.output[j][x * c.channels + i]) == clamped_bits(v + 0.0f, args.clamp));
      }
}

}  // namespace

TEST_CASE("every kernel, random shapes") {
  for (int32_t index = 0; index < dwconv_lines_f32_count(); ++index) {
    const DwconvLinesF32Kernel& kernel = dwconv_lines_f32_kernel(index);
    if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) != 0) continue;
    Random random(static_cast<uint32_t>(index) + 1);
    const int32_t cases = test::shape_count(3000);
    for (int32_t i = 0; i < cases; ++i) {
      Case c;
      c.side = 3 + 2 * random.between(0, 2);
      c.channels = random.between(kernel.min_channels, random.one_in(4) ? 120 : 50);
      c.w = random.between(1, 18);
      c.ow = random.between(1, 18);
      c.stride = random.between(1, dwconv_lines_fit(c.side, 2) ? 2 : 1);
      c.pad_left = random.between(0, c.side - 1);
      c.lines = random.between(1, dwconv_lines_at_once(c.side, c.stride));
      c.any_bits = random.one_in(4);
      run_case(kernel, c, random);
    }
  }
}

TEST_CASE("selection by mask and channels") {
  CHECK(dwconv_lines_f32_select(isa::kScalar, 100) == -1);
  for (int32_t i = 0; i < dwconv_lines_f32_count(); ++i) {
    const DwconvLinesF32Kernel& kernel = dwconv_lines_f32_kernel(i);
    CHECK(dwconv_lines_f32_select(kernel.isa, kernel.min_channels) == i);
    const int32_t other = dwconv_lines_f32_select(kernel.isa, kernel.min_channels - 1);
    CHECK((other == -1 || dwconv_lines_f32_kernel(other).min_channels < kernel.min_channels));
    if ((kernel.isa & ~kCompiledIsa) == 0) CHECK((kernel.function != nullptr));
  }
}

}  // namespace intaglio::test::dwconv_lines_f32_test

// The depthwise loops of cores without DSP extension against the scalar kernel, tolerance 0.
#include "kernels/dwconv/dwconv_s8_channels.h"

#include <doctest/doctest.h>

#include "tests/support/random.h"

namespace intaglio::test::dwconv_s8_channels_test {

TEST_CASE("channels side by side: the scalar kernel's codes") {
  Random random(4);
  const int32_t cases = shape_count(400);
  for (int32_t i = 0; i < cases; ++i) {
    CAPTURE(i);
    const int32_t pixels = random.between(1, 5), taps = random.between(1, 10),
                  channels = random.between(1, 40), per_channel = random.one_in(4) ? random.between(2, 3) : 1,
                  outputs = channels * per_channel;
    const int32_t step = random.one_in(2) ? channels : 0;
    const Exact<int8_t> input(
        random.codes(static_cast<size_t>(8 * channels + (step == 0 ? 0 : (pixels - 1) * step))));
    std::vector<const int8_t*> rows;
    for (int32_t t = 0; t < (step == 0 ? pixels * taps : taps); ++t)
      rows.push_back(input.data() + random.between(0, 7) * channels);
    const Exact<const int8_t*> exact_rows(rows);
    const Exact<int8_t> weights(random.codes(static_cast<size_t>(taps * outputs)));
    std::vector<int32_t> bias;
    for (int32_t o = 0; o < outputs; ++o) bias.push_back(random.between(-20000, 20000));
    const Exact<int32_t> exact_bias(bias);
    const Exact<float> multiplier(random.reals(static_cast<size_t>(outputs), 0.0001f, 0.02f));
    const auto stride = static_cast<size_t>(outputs + random.between(0, 3)),
               used = (static_cast<size_t>(pixels) - 1) * stride + static_cast<size_t>(outputs);
    Exact<int8_t> expected(used), found(used);
    memset(expected.data(), 0x5a, used);
    memset(found.data(), 0x5a, used);

    DwconvS8Args args{};
    args.rows = exact_rows.data();
    args.weights = weights.data();
    args.folded_bias = exact_bias.data();
    args.multiplier = multiplier.data();
    args.output_stride = stride;
    args.requant = make_output_s8(random.between(-128, 127), random.between(-128, 0), random.between(0, 127));
    args.pixels = pixels;
    args.taps = taps;
    args.channels = channels;
    args.depth_multiplier = per_channel;
    args.pixel_step = step;
    args.output = expected.data();
    dwconv_s8_kernel(dwconv_s8_count() - 1).function(args);
    args.output = found.data();
    dwconv_s8_by_channels(args);
    CHECK(memcmp(expected.data(), found.data(), used) == 0);
  }
}

}  // namespace intaglio::test::dwconv_s8_channels_test

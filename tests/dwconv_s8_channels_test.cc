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
    Exact<const int8_t*> rows(static_cast<size_t>(step == 0 ? pixels * taps : taps));
    for (size_t t = 0; t < rows.size(); ++t) rows[t] = input.data() + random.between(0, 7) * channels;
    const Exact<int8_t> weights(random.codes(static_cast<size_t>(taps * outputs)));
    Exact<int32_t> bias(static_cast<size_t>(outputs));
    for (size_t o = 0; o < bias.size(); ++o) bias[o] = random.between(-20000, 20000);
    const Exact<float> multiplier(random.reals(static_cast<size_t>(outputs), 0.0001f, 0.02f));
    const auto stride = static_cast<size_t>(outputs + random.between(0, 3)),
               used = (static_cast<size_t>(pixels) - 1) * stride + static_cast<size_t>(outputs);
    Exact<int8_t> expected(used), found(used);
    memset(expected.data(), 0x5a, used);
    memset(found.data(), 0x5a, used);

    DwconvS8Args args{};
    args.rows = rows.data();
    args.weights = weights.data();
    args.folded_bias = bias.data();
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

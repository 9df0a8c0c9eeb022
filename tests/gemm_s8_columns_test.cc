// The gemm loops of cores without DSP extension against the scalar kernel, tolerance 0.
#include "kernels/gemm/gemm_s8_columns.h"

#include <doctest/doctest.h>

#include "tests/support/random_windows.h"

namespace intaglio::test::gemm_s8_columns_test {
namespace {

const GemmS8Kernel& scalar_kernel() { return gemm_s8_kernel(gemm_s8_select(isa::kScalar)); }

}  // namespace

TEST_CASE("columns side by side: the scalar kernel's codes") {
  Random random(3);
  const int32_t cases = shape_count(400);
  for (int32_t i = 0; i < cases; ++i) {
    CAPTURE(i);
    const int32_t m = random.between(1, 11),
                  n = random.one_in(4) ? random.between(1, 40) : random.between(1, 9),
                  taps = random.between(1, 9), k = random.between(1, 20), first = random.between(0, 5);
    const GemmS8Windows windows = random_windows(first + m, taps, k, random);
    const int32_t images = (first + m + windows.oh * windows.ow - 1) / (windows.oh * windows.ow);
    const Exact<int8_t> picture(
        random.codes(static_cast<size_t>(images * windows.h * windows.w * windows.channels)));
    const Exact<int8_t> rows(random.codes(static_cast<size_t>(m * taps * k)));
    const Exact<int8_t> weights(random.codes(static_cast<size_t>(n * taps * k)));
    Exact<int32_t> bias(static_cast<size_t>(n));
    for (size_t c = 0; c < bias.size(); ++c) bias[c] = random.between(-20000, 20000);
    const Exact<float> multiplier(random.reals(static_cast<size_t>(n), 0.0001f, 0.02f));
    const auto count = static_cast<size_t>(m * n);
    const Exact<int8_t> residual(random.codes(count));
    const AddS8 add{random.between(-128, 127),
                    random.between(-128, 127),
                    20000,
                    30000,
                    15,
                    random.between(-128, 127),
                    -128,
                    127};

    GemmS8Args args{};
    args.weights = weights.data();
    args.folded_bias = bias.data();
    args.multiplier = multiplier.data();
    args.output_stride = args.residual_stride = static_cast<size_t>(n);
    args.residual = random.one_in(2) ? residual.data() : nullptr;
    args.add = &add;
    args.requant = make_output_s8(random.between(-128, 127), random.between(-128, 0), random.between(0, 127));
    args.m = m;
    args.n = n;
    args.taps = taps;
    args.k = k;
    for (const bool in_windows : {false, true}) {
      args.first_row = in_windows ? picture.data() : rows.data();
      args.row_distance = taps * k;
      args.windows = &windows;
      args.first_window = first;
      Exact<int8_t> expected(count), found(count);
      GemmS8Args of_expected = args, of_found = args;
      of_expected.output = expected.data();
      of_found.output = found.data();
      in_windows ? gemm_s8_windows(isa::kScalar)(of_expected) : scalar_kernel().function(of_expected);
      in_windows ? gemm_s8_windows_by_columns(of_found) : gemm_s8_by_columns(of_found);
      CHECK(memcmp(expected.data(), found.data(), count) == 0);
    }
  }
}

}  // namespace intaglio::test::gemm_s8_columns_test

// Products of two matrices of int16 codes: every kernel against sums of 64 bits, at guard pages; the ends of the codes, where two
// products fill 32 bits; what plans refuse. Whole models beside the arithmetic's program: spec_oracle_s16_test.cc.
#include "kernels/gemm/gemm_s16.h"

#include <algorithm>

#include "tests/support/one_node.h"
#include "tests/support/spec_cases.h"
#include "tests/support/wide_codes.h"

namespace intaglio::test::matmul_s16_test {
namespace {

void check(Random& random, int32_t m, int32_t n, int32_t k, bool ends) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  const ptrdiff_t a_stride = k + random.between(0, 2);
  Exact<int16_t> a(static_cast<size_t>((m - 1) * a_stride + k));
  std::vector<int16_t> b(static_cast<size_t>(k) * static_cast<size_t>(n));
  const auto fill = [&](auto& codes) {
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] =
          ends ? (random.one_in(8) ? int16_t{32767} : int16_t{-32768}) : static_cast<int16_t>(random.bits());
  };
  fill(a);
  fill(b);
  const float multiplier = 1.0f / (static_cast<float>(k) * (ends ? 40000.0f : 1000.0f));
  const OutputS16 requant = make_output_s16(-32768, 32767);
  for (const IsaMask isa : runnable(matmul_s16_count(), matmul_s16_kernel)) {
    const MatmulS16Kernel& kernel = matmul_s16_kernel(matmul_s16_select(isa));
    CAPTURE(kernel.name);
    Exact<int16_t> panel(static_cast<size_t>(matmul_s16_panel_bytes(kernel, k)) / 2);
    for (int32_t column = 0; column < n; column += kernel.nr) {
      const int32_t columns = std::min(kernel.nr, n - column);
      matmul_s16_pack(kernel, b.data() + column, n, 1, columns, k, panel.data());
      Exact<int16_t> y(static_cast<size_t>((m - 1) * n + columns));
      kernel.function({a.data(), panel.data(), y.data(), a_stride, n, multiplier, requant, m, columns, k});
      for (int32_t r = 0; r < m; ++r)
        for (int32_t c = 0; c < columns; ++c) {
          int64_t sum = 0;
          for (int32_t i = 0; i < k; ++i)
            sum += int64_t{a[static_cast<size_t>(r * a_stride + i)]} *
                   b[static_cast<size_t>(i) * static_cast<size_t>(n) + static_cast<size_t>(column + c)];
          REQUIRE(y[static_cast<size_t>(r * n + c)] == rounded(static_cast<float>(sum) * multiplier));
        }
    }
  }
}

}  // namespace

TEST_CASE("every kernel gives the exact sum, rounded: random shapes") {
  Random random(1);
  for (int32_t trial = 0; trial < shape_count(150); ++trial)
    check(random, random.between(1, 9), random.between(1, 40), random.between(1, 130), random.one_in(4));
  check(random, 2, 3, kMatmulS16Depths, true);
  check(random, 5, 17, kMatmulS16Depths - 1, true);
}

TEST_CASE("whole models: repeated matrices, threads, every instruction set") {
  Random random(2);
  for (int32_t trial = 0; trial < 30; ++trial) {
    const int32_t m = random.between(1, 9), k = random.between(1, 70), n = random.between(1, 50);
    const bool transposed = random.one_in(2), one = random.one_in(3);
    const Dims a_dims{2, random.between(1, 3), m, k};
    Dims b_dims{one ? 1 : 2, one ? 1 : a_dims[1], transposed ? n : k, transposed ? k : n};
    const Dims y_dims{2, a_dims[1], m, n};
    const std::vector<int16_t> a = draw_codes(random, elements(a_dims)),
                               b = draw_codes(random, elements(b_dims));
    const float s_y = 30.0f * static_cast<float>(k);
    ModelBuilder net;
    const int32_t ta = net.tensor("a", DType::kS16, a_dims, 0.05f),
                  tb = net.tensor("b", DType::kS16, b_dims, 0.1f),
                  ty = net.tensor("y", DType::kS16, y_dims, s_y);
    auto& options = net.node(Op::kBatchMatMul, {ta, tb}, {ty}).options.as<BatchMatMulOptions>();
    options.transpose_b = transposed;
    options.scale = 0.125f;
    net.input(ta);
    net.input(tb);
    net.output(ty);
    const std::vector<int16_t> y = run_widths<int16_t, int16_t>(net, {a, b});
    const float multiplier = 0.05f * 0.1f * 0.125f / s_y;
    for (int32_t at = 0; at < static_cast<int32_t>(y.size()); ++at) {
      const int32_t c = at % n, r = at / n % m, matrix = at / n / m;
      int64_t sum = 0;
      for (int32_t i = 0; i < k; ++i) {
        const int32_t right = (one ? 0 : matrix * k * n) + (transposed ? c * k + i : i * n + c);
        sum += int64_t{a[static_cast<size_t>((matrix * m + r) * k + i)]} * b[static_cast<size_t>(right)];
      }
      REQUIRE(y[static_cast<size_t>(at)] == rounded(static_cast<float>(sum) * multiplier));
    }
  }
}

TEST_CASE("what does not fit is refused") {
  for (const int32_t k : {kMatmulS16Depths, kMatmulS16Depths + 1}) {
    ModelBuilder net;
    const int32_t a = net.tensor("a", DType::kS16, {1, k}, 0.5f),
                  b = net.tensor("b", DType::kS16, {k, 1}, 0.5f),
                  y = net.tensor("y", DType::kS16, {1, 1}, 0.5f);
    net.node(Op::kBatchMatMul, {a, b}, {y});
    net.input(a);
    net.input(b);
    net.output(y);
    const RunningModel model(net.finish(), all_ops());
    CHECK(model.error().status == (k == kMatmulS16Depths ? Status::kOk : Status::kAccumulatorOverflow));
    if (k > kMatmulS16Depths) CHECK(model.error().limit == kMatmulS16Depths);
  }
  ModelBuilder net;
  const int32_t a = net.tensor("a", DType::kS16, {1, 4}, 0.5f), b = net.tensor("b", DType::kS8, {4, 1}, 0.5f),
                y = net.tensor("y", DType::kS16, {1, 1}, 0.5f);
  net.node(Op::kBatchMatMul, {a, b}, {y});
  net.input(a);
  net.input(b);
  net.output(y);
  CHECK(RunningModel(net.finish(), all_ops()).error().status == Status::kBadDType);
}

}  // namespace intaglio::test::matmul_s16_test

// Rows of unit length: FP32 to the bit of its definition, int8 near the exact quotient; what is refused.
#include "kernels/normalize/normalize_groups.h"

#include <cmath>

#include "tests/support/float_bits.h"
#include "tests/support/one_node.h"
#include "tests/support/random.h"

namespace intaglio::test::l2_normalize_test {
namespace {

using test::bits_of;
using test::ModelBuilder;
using test::OneNode;
using test::Random;

template <typename T>
std::vector<T> normalize(const std::vector<T>& x, const test::Dims& dims, float epsilon, float s_in = 0.0f,
                         int32_t z_in = 0, float s_out = 0.0f, int32_t z_out = 0) {
  const DType dtype = sizeof(T) == 1 ? DType::kS8 : DType::kF32;
  ModelBuilder b;
  const int32_t tx = b.tensor("x", dtype, dims, s_in, z_in), ty = b.tensor("y", dtype, dims, s_out, z_out);
  b.node(Op::kL2Normalize, {tx}, {ty}).options.as<L2NormalizeOptions>().min_norm = epsilon;
  b.input(tx);
  b.output(ty);
  return test::run_widths<T>(b, std::vector<std::vector<T>>{x});
}

TEST_CASE("FP32: one chain of fused multiply-adds, the rounded root, one division") {
  Random random(1);
  const int32_t rows = 300, n = 17;
  const std::vector<float> x = random.reals(static_cast<size_t>(rows) * n, -3.0f, 3.0f);
  const std::vector<float> y = normalize<float>(x, {3, 100, n}, 0.5f);
  for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
    float sum = 0.0f;
    for (size_t i = 0; i < n; ++i) sum = std::fma(x[r * n + i], x[r * n + i], sum);
    for (size_t i = 0; i < n; ++i)
      REQUIRE(bits_of(y[r * n + i]) == bits_of(x[r * n + i] / std::max(std::sqrt(sum), 0.5f) + 0.0f));
  }
}

TEST_CASE("a row of zeros gives zeros; one below the least norm is divided by that") {
  CHECK(normalize<float>({0, 0, 3, 4}, {2, 2}, 0.0f) == std::vector<float>{0, 0, 0.6f, 0.8f});
  CHECK(normalize<float>({0, 0, 3, 4}, {2, 2}, 10.0f) == std::vector<float>{0, 0, 0.3f, 0.4f});
  CHECK(normalize<int8_t>({5, 5, 8, 9}, {2, 2}, 0.0f, 0.5f, 5, 0.1f, -3) ==
        std::vector<int8_t>{-3, -3, 3, 5});
  CHECK(normalize<int8_t>({5, 5, 8, 9}, {2, 2}, 5.0f, 0.5f, 5, 0.1f, -3) ==
        std::vector<int8_t>{-3, -3, 0, 1});
}

TEST_CASE("int8: the exact quotient, rounded") {
  Random random(2);
  for (int32_t trial = 0; trial < 100; ++trial) {
    const int32_t n = random.between(1, 200), z_in = random.between(-128, 127),
                  z_out = random.between(-20, 20);
    const float s_in = random.real(0.01f, 0.1f), s_out = random.real(0.005f, 0.01f);
    const std::vector<int8_t> x = random.codes(4 * static_cast<size_t>(n));
    const std::vector<int8_t> y = normalize<int8_t>(x, {4, n}, 1e-6f, s_in, z_in, s_out, z_out);
    for (size_t r = 0; r < 4; ++r) {
      double sum = 0.0;
      const auto at = [&](size_t i) { return static_cast<double>(x[r * static_cast<size_t>(n) + i] - z_in); };
      for (size_t i = 0; i < static_cast<size_t>(n); ++i) sum += at(i) * at(i);
      for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
        const double exact = sum == 0.0 ? 0.0 : at(i) / std::sqrt(sum) / static_cast<double>(s_out);
        if (std::fabs(exact - std::floor(exact) - 0.5) < 1e-4) continue;
        REQUIRE(y[r * static_cast<size_t>(n) + i] ==
                std::clamp(std::nearbyint(exact) + z_out, -128.0, 127.0));
      }
    }
  }
}

TEST_CASE("refused: a negative or infinite least norm, too long rows, another shape") {
  for (const float epsilon : {-1.0f, INFINITY, NAN}) {
    OneNode m;
    m.node(Op::kL2Normalize, {m.s8({2, 3})}, m.s8({2, 3})).as<L2NormalizeOptions>().min_norm = epsilon;
    m.check(Status::kBadAttribute, 0);
  }
  {
    OneNode m;
    m.node(Op::kL2Normalize, {m.s8({33026})}, m.s8({33026}));
    m.check(Status::kAccumulatorOverflow, 0, 33025);
  }
  {
    OneNode m;
    m.node(Op::kL2Normalize, {m.f32({2, 3})}, m.f32({2, 4}));
    m.check(Status::kShapeMismatch, 4, 3);
  }
}

}  // namespace
}  // namespace intaglio::test::l2_normalize_test

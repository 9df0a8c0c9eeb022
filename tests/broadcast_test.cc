// Arithmetic of two tensors with every way of repeating an operand, element by element.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "kernels/arithmetic/requant.h"
#include "runtime/add_params.h"
#include "tests/support/float_bits.h"
#include "tests/support/one_node.h"
#include "tests/support/random.h"
#include "tests/support/run_widths.h"

namespace intaglio::test::broadcast_test {
namespace {

using test::bits_of;
using test::Dims;
using test::elements;
using test::ModelBuilder;
using test::Random;
using test::run_widths;

struct Case {
  Dims a, b, y;
};

Case draw(Random& random) {
  Case c;
  const int32_t rank = random.between(1, 6);
  for (int32_t i = 0; i < rank; ++i) {
    const int32_t dim = i + 1 == rank && random.one_in(2) ? random.between(50, 150) : random.between(1, 5);
    const int32_t kind = random.between(0, 4);
    c.a.push_back(kind == 0 ? 1 : dim);
    c.b.push_back(kind == 1 ? 1 : dim);
    c.y.push_back(kind == 0 ? c.b.back() : c.a.back());
  }
  // Leading ones may be missing.
  while (c.a.size() > 1 && c.a[0] == 1 && random.one_in(2)) c.a.erase(c.a.begin());
  while (c.b.size() > 1 && c.b[0] == 1 && random.one_in(2)) c.b.erase(c.b.begin());
  return c;
}

// Index in an operand of the output's element `i`.
size_t source(size_t i, const Dims& y, const Dims& dims) {
  size_t index = 0, step = 1;
  for (size_t k = 0; k < y.size(); ++k) {
    const auto dim = static_cast<size_t>(y[y.size() - 1 - k]);
    const size_t own = k < dims.size() ? static_cast<size_t>(dims[dims.size() - 1 - k]) : 1;
    if (own > 1) index += i % dim * step;
    step *= own;
    i /= dim;
  }
  return index;
}

template <typename T>
std::vector<T> run_binary(Op op, const Case& c, const std::vector<T>& a, const std::vector<T>& b_values,
                          const float scales[3], const int32_t zero_points[3]) {
  const DType dtype = sizeof(T) == 1 ? DType::kS8 : DType::kF32;
  const auto scale = [&](int i) { return sizeof(T) == 1 ? scales[i] : 0.0f; };
  ModelBuilder b;
  const int32_t ta = b.tensor("a", dtype, c.a, scale(0), zero_points[0]);
  const int32_t tb = b.tensor("b", dtype, c.b, scale(1), zero_points[1]);
  const int32_t ty = b.tensor("y", dtype, c.y, scale(2), zero_points[2]);
  b.node(op, {ta, tb}, {ty}).options.as<Clamp>().max = 5.0f;
  b.input(ta);
  b.input(tb);
  b.output(ty);
  return run_widths<T>(b, std::vector<std::vector<T>>{a, b_values});
}

TEST_CASE("FP32: each operation once, then the clamp") {
  Random random(1);
  const float scales[3] = {};
  const int32_t zeros[3] = {};
  for (int32_t trial = 0; trial < 300; ++trial) {
    const Case c = draw(random);
    const std::vector<float> a = random.reals(elements(c.a), -4.0f, 4.0f),
                             b = random.reals(elements(c.b), -4.0f, 4.0f);
    std::vector<float> sum(elements(c.y)), difference(sum.size()), product(sum.size());
    std::vector<float> quotient(sum.size()), larger(sum.size()), smaller(sum.size());
    for (size_t i = 0; i < sum.size(); ++i) {
      const float p = a[source(i, c.y, c.a)], q = b[source(i, c.y, c.b)];
      sum[i] = std::min(p + q, 5.0f) + 0.0f;
      difference[i] = std::min(p - q, 5.0f) + 0.0f;
      product[i] = std::min(p * q, 5.0f) + 0.0f;
      quotient[i] = std::min(p / q, 5.0f) + 0.0f;
      larger[i] = std::min(std::max(p, q), 5.0f) + 0.0f;
      smaller[i] = std::min(p, q) + 0.0f;
    }
    REQUIRE(bits_of(run_binary(Op::kDiv, c, a, b, scales, zeros)) == bits_of(quotient));
    REQUIRE(bits_of(run_binary(Op::kMaximum, c, a, b, scales, zeros)) == bits_of(larger));
    REQUIRE(bits_of(run_binary(Op::kMinimum, c, a, b, scales, zeros)) == bits_of(smaller));
    REQUIRE(bits_of(run_binary(Op::kAdd, c, a, b, scales, zeros)) == bits_of(sum));
    REQUIRE(bits_of(run_binary(Op::kSub, c, a, b, scales, zeros)) == bits_of(difference));
    REQUIRE(bits_of(run_binary(Op::kMul, c, a, b, scales, zeros)) == bits_of(product));
  }
}

TEST_CASE("int8: the same element of each operand, in its own role") {
  Random random(2);
  for (int32_t trial = 0; trial < 300; ++trial) {
    const Case c = draw(random);
    const float scales[3] = {random.real(0.01f, 0.1f), random.real(0.01f, 0.1f), random.real(0.02f, 0.1f)};
    const int32_t z[3] = {random.between(-128, 127), random.between(-128, 127), random.between(-128, 127)};
    const std::vector<int8_t> a = random.codes(elements(c.a)), b = random.codes(elements(c.b));
    AddS8 p = {z[0], z[1], 0, 0, 0, z[2], -128, 127};
    REQUIRE(set_add_multipliers(scales[0], scales[1], scales[2], &p));
    AddS8 minus = p;
    minus.b_multiplier = -p.b_multiplier;
    const float multiplier = scales[0] * scales[1] / scales[2];
    const OutputS8 output = make_output_s8(z[2], -128, 127);
    std::vector<int8_t> sum(elements(c.y)), difference(sum.size()), product(sum.size());
    for (size_t i = 0; i < sum.size(); ++i) {
      const int32_t v = a[source(i, c.y, c.a)], w = b[source(i, c.y, c.b)];
      sum[i] = add_s8(v, w, p);
      difference[i] = add_s8(v, w, minus);
      product[i] = requantize_s8((v - z[0]) * (w - z[1]), multiplier, output);
    }
    REQUIRE(run_binary(Op::kAdd, c, a, b, scales, z) == sum);
    REQUIRE(run_binary(Op::kSub, c, a, b, scales, z) == difference);
    REQUIRE(run_binary(Op::kMul, c, a, b, scales, z) == product);
  }
}

// The quotient in double, which a float's two roundings must meet but near a half.
TEST_CASE("int8 division: rounded quotients, and the ends of the range where the divisor is 0") {
  Random random(5);
  int32_t compared = 0;
  for (int32_t trial = 0; trial < 200; ++trial) {
    const Case c = draw(random);
    const float scales[3] = {random.real(0.01f, 0.1f), random.real(0.01f, 0.1f), random.real(0.02f, 0.1f)};
    const int32_t z[3] = {random.between(-128, 127), random.between(-128, 127), random.between(-128, 127)};
    const std::vector<int8_t> a = random.codes(elements(c.a)), b = random.codes(elements(c.b));
    const std::vector<int8_t> y = run_binary(Op::kDiv, c, a, b, scales, z);
    for (size_t i = 0; i < y.size(); ++i) {
      const int32_t v = a[source(i, c.y, c.a)] - z[0], w = b[source(i, c.y, c.b)] - z[1];
      if (w == 0) {
        REQUIRE(y[i] == (v == 0 ? z[2] : v < 0 ? -128 : 127));
        continue;
      }
      const double exact = static_cast<double>(scales[0]) * v / (static_cast<double>(scales[1]) * w) /
                           static_cast<double>(scales[2]);
      if (std::fabs(exact - std::floor(exact) - 0.5) < 1e-4) continue;
      REQUIRE(y[i] == std::clamp(std::nearbyint(exact) + z[2], -128.0, 127.0));
      ++compared;
    }
  }
  CHECK(compared > 10000);
}

TEST_CASE("int8 maximum and minimum: codes of one scale; another scale is refused") {
  Random random(6);
  const float scales[3] = {0.5f, 0.5f, 0.5f};
  const int32_t z[3] = {7, 7, 7};
  for (int32_t trial = 0; trial < 100; ++trial) {
    const Case c = draw(random);
    const std::vector<int8_t> a = random.codes(elements(c.a)), b = random.codes(elements(c.b));
    std::vector<int8_t> larger(elements(c.y)), smaller(larger.size());
    for (size_t i = 0; i < larger.size(); ++i) {
      larger[i] = std::max(a[source(i, c.y, c.a)], b[source(i, c.y, c.b)]);
      smaller[i] = std::min(a[source(i, c.y, c.a)], b[source(i, c.y, c.b)]);
    }
    REQUIRE(run_binary(Op::kMaximum, c, a, b, scales, z) == larger);
    REQUIRE(run_binary(Op::kMinimum, c, a, b, scales, z) == smaller);
  }
  for (const Op op : {Op::kMaximum, Op::kMinimum}) {
    test::OneNode m;
    m.node(op, {m.s8({2}), m.s8({2}, 0.25f)}, m.s8({2}));
    m.check(Status::kQuantizationMismatch);
  }
}

TEST_CASE("a gate a channel, and a gate a pixel, of several pictures in several pieces of work") {
  Random random(3);
  const float scales[3] = {};
  const int32_t zeros[3] = {};
  for (const Dims& gate : {Dims{3, 1, 1, 24}, Dims{3, 40, 30, 1}, Dims{40, 1, 24}, Dims{1}}) {
    const Case c = {{3, 40, 30, 24}, gate, {3, 40, 30, 24}};
    const std::vector<float> a = random.reals(elements(c.a), -2.0f, 2.0f),
                             b = random.reals(elements(c.b), -2.0f, 2.0f);
    std::vector<float> product(a.size()), difference(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      product[i] = a[i] * b[source(i, c.y, c.b)] + 0.0f;
      difference[i] = b[source(i, c.y, c.b)] - a[i] + 0.0f;
    }
    CHECK(bits_of(run_binary(Op::kMul, c, a, b, scales, zeros)) == bits_of(product));
    CHECK(bits_of(run_binary(Op::kMul, {c.b, c.a, c.y}, b, a, scales, zeros)) == bits_of(product));
    CHECK(bits_of(run_binary(Op::kSub, {c.b, c.a, c.y}, b, a, scales, zeros)) == bits_of(difference));
  }
}

}  // namespace
}  // namespace intaglio::test::broadcast_test

// Addition, subtraction and multiplication with every way of repeating an operand, element by element.
#include <doctest/doctest.h>

#include <algorithm>

#include "kernels/requant.h"
#include "runtime/add_params.h"
#include "tests/support/float_bits.h"
#include "tests/support/random.h"
#include "tests/support/run_widths.h"

namespace intaglio {
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
  b.node(op, {ta, tb}, {ty}).options.clamp_max = 5.0f;
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
    for (size_t i = 0; i < sum.size(); ++i) {
      const float p = a[source(i, c.y, c.a)], q = b[source(i, c.y, c.b)];
      sum[i] = std::min(p + q, 5.0f) + 0.0f;
      difference[i] = std::min(p - q, 5.0f) + 0.0f;
      product[i] = std::min(p * q, 5.0f) + 0.0f;
    }
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
    AddS8 p{};
    REQUIRE(make_add_s8(scales[0], z[0], scales[1], z[1], scales[2], z[2], -128, 127, &p));
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
}  // namespace intaglio

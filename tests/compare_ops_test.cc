// Comparisons and choices, with every way of repeating an operand.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "tests/support/float_bits.h"
#include "tests/support/one_node.h"
#include "tests/support/random.h"

namespace intaglio::test::compare_ops_test {
namespace {

using test::bits_of;
using test::Dims;
using test::elements;
using test::ModelBuilder;
using test::OneNode;
using test::Random;
using test::run_widths;

// `count` operands of a common shape, each with axes of 1 here and there, and without some in front.
std::vector<Dims> draw(Random& random, size_t count, Dims& y) {
  const int32_t rank = random.between(1, 6);
  std::vector<Dims> operands(count);
  y.clear();
  for (int32_t i = 0; i < rank; ++i) {
    const int32_t dim = i + 1 == rank && random.one_in(2) ? random.between(50, 150) : random.between(1, 5);
    int32_t most = 1;
    for (Dims& dims : operands) {
      dims.push_back(random.one_in(3) ? 1 : dim);
      most = std::max(most, dims.back());
    }
    y.push_back(most);
  }
  for (size_t i = 1; i < count; ++i)  // the first keeps the output's rank
    while (operands[i].size() > 1 && operands[i][0] == 1 && random.one_in(2))
      operands[i].erase(operands[i].begin());
  return operands;
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

std::vector<float> run(Op op, const std::vector<Dims>& dims, const Dims& y,
                       const std::vector<std::vector<float>>& values) {
  ModelBuilder b;
  std::vector<int32_t> inputs;
  for (size_t i = 0; i < dims.size(); ++i) {
    inputs.push_back(b.tensor("x" + std::to_string(i), DType::kF32, dims[i]));
    b.input(inputs.back());
  }
  const int32_t output = b.tensor("y", DType::kF32, y);
  b.node(op, inputs, {output});
  b.output(output);
  return run_widths<float>(b, values);
}

// Few different numbers, so that some are equal, and what has no order.
std::vector<float> numbers(Random& random, size_t count) {
  const float some[] = {-1.0f,
                        -0.0f,
                        0.0f,
                        1.0f,
                        2.5f,
                        std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> values(count);
  for (float& value : values) value = some[random.between(0, 6)];
  return values;
}

TEST_CASE("comparisons give 1 and 0") {
  const struct {
    Op op;
    bool (*holds)(float a, float b);
  } cases[] = {{Op::kEqual, [](float a, float b) { return a == b; }},
               {Op::kLess, [](float a, float b) { return a < b; }},
               {Op::kLessOrEqual, [](float a, float b) { return a <= b; }}};
  Random random(1);
  for (int32_t trial = 0; trial < 200; ++trial) {
    Dims y;
    const std::vector<Dims> dims = draw(random, 2, y);
    const std::vector<float> a = numbers(random, elements(dims[0])), b = numbers(random, elements(dims[1]));
    for (const auto& c : cases) {
      CAPTURE(static_cast<int>(c.op));
      std::vector<float> expected(elements(y));
      for (size_t i = 0; i < expected.size(); ++i)
        expected[i] = c.holds(a[source(i, y, dims[0])], b[source(i, y, dims[1])]) ? 1.0f : 0.0f;
      REQUIRE(run(c.op, dims, y, {a, b}) == expected);
    }
  }
}

TEST_CASE("a choice takes the second where the first is not 0") {
  Random random(2);
  for (int32_t trial = 0; trial < 200; ++trial) {
    Dims y;
    const std::vector<Dims> dims = draw(random, 3, y);
    const std::vector<float> c = numbers(random, elements(dims[0])),
                             a = random.reals(elements(dims[1]), -2.0f, 2.0f),
                             b = random.reals(elements(dims[2]), -2.0f, 2.0f);
    std::vector<float> expected(elements(y));
    for (size_t i = 0; i < expected.size(); ++i)
      expected[i] = c[source(i, y, dims[0])] != 0.0f ? a[source(i, y, dims[1])] : b[source(i, y, dims[2])];
    REQUIRE(bits_of(run(Op::kWhere, dims, y, {c, a, b})) == bits_of(expected));
  }
}

TEST_CASE("operands that do not fit each other are refused") {
  const auto compare = [](const Dims& a, const Dims& b, const Dims& y, Status status, int64_t value,
                          int64_t limit) {
    for (const Op op : {Op::kEqual, Op::kLess, Op::kLessOrEqual}) {
      OneNode net;
      const int32_t ta = net.f32(a), tb = net.f32(b), ty = net.f32(y);
      net.node(op, {ta, tb}, ty);
      net.check(status, value, limit);
    }
  };
  compare({2, 3}, {3}, {2, 3}, Status::kOk, 0, 0);
  compare({2, 3}, {2}, {2, 3}, Status::kShapeMismatch, 2, 3);
  compare({2, 3}, {3}, {2, 2}, Status::kShapeMismatch, 2, 3);
  const auto choose = [](const Dims& c, const Dims& a, const Dims& b, const Dims& y, Status status,
                         int64_t value, int64_t limit) {
    OneNode net;
    const int32_t tc = net.f32(c), ta = net.f32(a), tb = net.f32(b), ty = net.f32(y);
    net.node(Op::kWhere, {tc, ta, tb}, ty);
    net.check(status, value, limit);
  };
  choose({2, 1}, {3}, {1}, {2, 3}, Status::kOk, 0, 0);
  choose({2, 1}, {3}, {2}, {2, 3}, Status::kShapeMismatch, 2, 3);
  choose({2, 1}, {3}, {1}, {2, 2}, Status::kShapeMismatch, 2, 3);
  choose({2, 1}, {3}, {1}, {1, 2, 3}, Status::kBadRank, 3, 2);
  OneNode net;
  const int32_t c = net.s8({2, 3}), a = net.f32({2, 3}), b = net.f32({2, 3}), y = net.f32({2, 3});
  net.node(Op::kWhere, {c, a, b}, y);
  net.check(Status::kBadDType, test::kS8Value, test::kF32Value);
}

}  // namespace
}  // namespace intaglio::test::compare_ops_test

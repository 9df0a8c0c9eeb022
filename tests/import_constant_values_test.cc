// Arithmetic on a file's constants: every operation by hand, shapes that are repeated, and what is refused.
#include "importers/draft/constant_values.h"

#include <cmath>

#include "importers/draft/geometry.h"
#include "kernels/arithmetic/blocked_sum.h"
#include "tests/support/blocked_sums.h"
#include "tests/support/random.h"
#include "tests/support/thrown.h"

namespace intaglio::test::import_constant_values_test {

using namespace importers;
using importers::Shape;

namespace {

using Integers = std::vector<int64_t>;
using Reals = std::vector<float>;

constexpr int64_t kMost = int64_t{1} << 31, kMany = int64_t{1} << 24;

Values integers(const Shape& shape, const Integers& values) { return {shape, false, values, {}}; }
Values reals(const Shape& shape, const Reals& values) { return {shape, true, {}, values}; }
Values list(const Integers& values) { return integers({static_cast<int32_t>(values.size())}, values); }
Values list(const Reals& values) { return reals({static_cast<int32_t>(values.size())}, values); }
Values range(const Shape& shape) {
  Values x = integers(shape, {});
  for (int64_t i = 0; i < elements(shape); ++i) x.integers.push_back(i);
  return x;
}

void check(const Values& found, const Values& expected) {
  CHECK(found.shape == expected.shape);
  CHECK(found.is_real == expected.is_real);
  CHECK(found.integers == expected.integers);
  CHECK(found.reals == expected.reals);
}

}  // namespace

TEST_CASE("bits of integers") {
  const Values a = list(Integers{12, -7, INT64_MAX}), b = list(Integers{10, 9, 1});
  check(combined(Arithmetic::kBitAnd, a, b), list(Integers{8, 9, 1}));
  check(combined(Arithmetic::kBitOr, a, b), list(Integers{14, -7, INT64_MAX}));
  check(combined(Arithmetic::kBitXor, a, b), list(Integers{6, -16, INT64_MAX - 1}));
  check(combined(Arithmetic::kShiftRight, a, list(Integers{1})), list(Integers{6, -4, INT64_MAX >> 1}));
  check(combined(Arithmetic::kShiftLeft, a, list(Integers{1})), list(Integers{24, -14, -2}));
  check(combined(Arithmetic::kBitXor, a, -1), list(Integers{-13, 6, INT64_MIN}));
  for (const int64_t bits : {-1, 64})
    CHECK(thrown([&] { combined(Arithmetic::kShiftLeft, a, list(Integers{bits})); }) ==
          "it shifts by " + std::to_string(bits) + " bits; 0 to 63 are supported");
  CHECK(thrown([&] { combined(Arithmetic::kBitAnd, list(Reals{1}), list(Reals{1})); }) ==
        "it takes bits of reals, which is not supported");
  CHECK(thrown([&] { combined(Arithmetic::kBitXor, list(Reals{1}), -1); }) ==
        "it takes bits of reals, which is not supported");
}

TEST_CASE("a progression whose ends are numbers of 64 bits") {
  const auto from = [](int64_t start, int64_t limit, int64_t step) {
    return progression(integers({}, {start}), integers({}, {limit}), integers({}, {step}));
  };
  check(from(kMost, kMost + 5, 2), list(Integers{kMost, kMost + 2, kMost + 4}));
  const int64_t step = -(int64_t{1} << 40);
  CHECK(thrown([&] { from(INT64_MAX, 0, step); }) == "its range has too many numbers");
  CHECK(thrown([&] { from(INT64_MIN, 0, -step); }) == "its range has too many numbers");
  CHECK(thrown([&] { from(0, 1, 0); }) == "its range has too many numbers");
}

TEST_CASE("arithmetic on integers and on reals") {
  const Values a = list(Integers{7, -7, 7, -7, 6, 0}), b = list(Integers{2, 2, -2, -2, 3, 5});
  const struct {
    Arithmetic operation;
    Integers integers;
    Reals reals;
  } cases[] = {
      {Arithmetic::kAdd, {9, -5, 5, -9, 9, 5}, {9, -5, 5, -9, 9, 5}},
      {Arithmetic::kSub, {5, -9, 9, -5, 3, -5}, {5, -9, 9, -5, 3, -5}},
      {Arithmetic::kMul, {14, -14, -14, 14, 18, 0}, {14, -14, -14, 14, 18, 0}},
      {Arithmetic::kDiv, {3, -3, -3, 3, 2, 0}, {3.5f, -3.5f, -3.5f, 3.5f, 2, 0}},
      {Arithmetic::kFloorDiv, {3, -4, -4, 3, 2, 0}, {3, -4, -4, 3, 2, 0}},
      {Arithmetic::kMod, {1, 1, -1, -1, 0, 0}, {1, 1, -1, -1, 0, 0}},
      {Arithmetic::kMax, {7, 2, 7, -2, 6, 5}, {7, 2, 7, -2, 6, 5}},
      {Arithmetic::kMin, {2, -7, -2, -7, 3, 0}, {2, -7, -2, -7, 3, 0}},
  };
  for (const auto& c : cases) {
    CAPTURE(static_cast<int>(c.operation));
    check(combined(c.operation, a, b), list(c.integers));
    check(combined(c.operation, as_real(a), as_real(b)), list(c.reals));
  }
  check(combined(Arithmetic::kPow, list(Integers{2, -3, 5, 2}), list(Integers{10, 3, 0, 31})),
        list(Integers{1024, -27, 1, kMost}));
  check(combined(Arithmetic::kPow, list(Reals{-1.0f, -1.0f, -2.0f, -2.0f, -0.5f}),
                 list(Reals{101.0f, 100.0f, 65.0f, 3.0f, -2.0f})),
        list(Reals{-1.0f, 1.0f, -0x1p65f, -8.0f, 4.0f}));
  check(combined(Arithmetic::kPow, list(Reals{4.0f, 2.0f}), list(Reals{0.5f, -1.0f})),
        list(Reals{2.0f, 0.5f}));
}

TEST_CASE("comparisons give integers, of reals too") {
  const Integers x = {1, 2, 3, 0, 0, -1}, y = {2, 2, 2, 0, 4, 0};
  const struct {
    Arithmetic operation;
    Integers expected;
  } cases[] = {
      {Arithmetic::kEqual, {0, 1, 0, 1, 0, 0}},        {Arithmetic::kLess, {1, 0, 0, 0, 1, 1}},
      {Arithmetic::kLessEqual, {1, 1, 0, 1, 1, 1}},    {Arithmetic::kGreater, {0, 0, 1, 0, 0, 0}},
      {Arithmetic::kGreaterEqual, {0, 1, 1, 1, 0, 0}}, {Arithmetic::kAnd, {1, 1, 1, 0, 0, 0}},
      {Arithmetic::kOr, {1, 1, 1, 0, 1, 1}},
  };
  for (const auto& c : cases) {
    CAPTURE(static_cast<int>(c.operation));
    check(combined(c.operation, list(x), list(y)), list(c.expected));
    check(combined(c.operation, as_real(list(x)), as_real(list(y))), list(c.expected));
  }
  // Far past what arithmetic takes.
  const Values far = list(Integers{INT64_MAX}), low = list(Integers{INT64_MIN});
  check(combined(Arithmetic::kMax, far, low), far);
  check(combined(Arithmetic::kMin, far, low), low);
  check(combined(Arithmetic::kLess, low, far), list(Integers{1}));
}

TEST_CASE("numbers that arithmetic does not take") {
  const auto says = [](Arithmetic operation, int64_t a, int64_t b) {
    return thrown([&] { (void)combined(operation, list(Integers{a}), list(Integers{b})); });
  };
  for (const Arithmetic operation :
       {Arithmetic::kAdd, Arithmetic::kSub, Arithmetic::kMul, Arithmetic::kDiv}) {
    CHECK(says(operation, kMost, -kMost).empty());
    CHECK(says(operation, -kMost, kMost).empty());
    if (operation == Arithmetic::kAdd || operation == Arithmetic::kSub) continue;
    CHECK(says(operation, kMost + 1, 1) == "its numbers 2147483649 and 1 are too large");
    CHECK(says(operation, 1, kMost + 1) == "its numbers 1 and 2147483649 are too large");
    CHECK(says(operation, -kMost - 1, 1) == "its numbers -2147483649 and 1 are too large");
    CHECK(says(operation, 2, -kMost - 1) == "its numbers 2 and -2147483649 are too large");
  }
  // Sums may be as large as 64 bits: what exporters cast of an infinity.
  check(combined(Arithmetic::kAdd, list(Integers{INT64_MIN}), list(Integers{8})),
        list(Integers{INT64_MIN + 8}));
  check(combined(Arithmetic::kSub, list(Integers{INT64_MAX}), list(Integers{8})),
        list(Integers{INT64_MAX - 8}));
  CHECK(says(Arithmetic::kAdd, INT64_MAX, 1) == "its numbers 9223372036854775807 and 1 are too large");
  CHECK(says(Arithmetic::kSub, INT64_MIN, 1) == "its numbers -9223372036854775808 and 1 are too large");
  for (const Arithmetic operation : {Arithmetic::kDiv, Arithmetic::kFloorDiv, Arithmetic::kMod}) {
    CHECK(says(operation, 3, 0) == "it divides by 0");
    // Reals as in a run: exporters choose other values where 0 / 0 stands.
    CHECK(std::isnan(combined(operation, list(Reals{0}), list(Reals{0})).reals[0]));
  }
  CHECK(combined(Arithmetic::kDiv, list(Reals{-3}), list(Reals{0})).reals[0] == -INFINITY);
  CHECK(says(Arithmetic::kPow, 2, 31).empty());
  CHECK(says(Arithmetic::kPow, 2, 32) == "its power 2 to 32 is too large");
  CHECK(says(Arithmetic::kPow, -2, 33) == "its power -2 to 33 is too large");
  CHECK(says(Arithmetic::kPow, 0, -1) == "its power 0 to -1 is too large");
  CHECK(thrown([] { (void)combined(Arithmetic::kAdd, list(Reals{1}), list(Integers{1})); }) ==
        "its inputs have different element types");
}

TEST_CASE("operands are repeated where they have one element") {
  const Values rows = integers({2, 1}, {10, 20}), columns = integers({3}, {1, 2, 3});
  check(combined(Arithmetic::kAdd, rows, columns), integers({2, 3}, {11, 12, 13, 21, 22, 23}));
  check(combined(Arithmetic::kSub, columns, rows), integers({2, 3}, {-9, -8, -7, -19, -18, -17}));
  check(combined(Arithmetic::kMul, integers({}, {3}), columns), list(Integers{3, 6, 9}));
  check(expanded(integers({1, 2}, {1, 2}), {3, 2}), integers({3, 2}, {1, 2, 1, 2, 1, 2}));
  check(expanded(range({2, 1, 2}), {2, 3, 1}), integers({2, 3, 2}, {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3}));
  check(expanded(reals({1}, {4.0f}), {0}), reals({0}, {}));
  CHECK(thrown([&] { (void)expanded(columns, {2}); }) ==
        "its inputs have the shapes [3] and [2], which do not fit each other");
  CHECK(thrown([&] {
          (void)combined(Arithmetic::kAdd, integers({2, 3}, Integers(6)), integers({3, 2}, Integers(6)));
        }) == "its inputs have the shapes [2, 3] and [3, 2], which do not fit each other");
  CHECK(thrown([&] { check_folded_size({1 << 24}); }).empty());
  CHECK(thrown([&] { check_folded_size({1 << 12, 1 << 12}); }).empty());
  CHECK(thrown([&] { check_folded_size({0, 1 << 24}); }).empty());
  for (const Shape& shape : {Shape{(1 << 24) + 1}, Shape{1 << 12, (1 << 12) + 1}, Shape{-1},
                             Shape{INT32_MAX, INT32_MAX, INT32_MAX}, Shape{0, INT32_MAX, INT32_MAX}})
    CHECK(thrown([&] { check_folded_size(shape); }) == "its constant result is too large");
  CHECK(row_major_strides({2, 3, 4}) == std::vector<size_t>{12, 4, 1});
  CHECK(row_major_strides({}).empty());
}

TEST_CASE("functions of one constant") {
  const struct {
    Op function;
    Reals expected;
  } cases[] = {
      {Op::kAbs, {2.25f, 0.5f, 0.0f}},
      {Op::kFloor, {2.0f, -1.0f, 0.0f}},
      {Op::kCeil, {3.0f, -0.0f, 0.0f}},
      {Op::kExp, {std::exp(2.25f), std::exp(-0.5f), 1.0f}},
  };
  for (const auto& c : cases) check(mapped(c.function, list(Reals{2.25f, -0.5f, 0.0f})), list(c.expected));
  check(mapped(Op::kSqrt, list(Reals{2.25f, 9.0f})), list(Reals{1.5f, 3.0f}));
  check(mapped(Op::kReciprocal, list(Reals{2.0f, -4.0f})), list(Reals{0.5f, -0.25f}));
  check(mapped(Op::kLog, list(Reals{1.0f, 2.0f})), list(Reals{0.0f, std::log(2.0f)}));
  const Values whole = list(Integers{3, -4, 0});
  check(mapped(Op::kAbs, whole), list(Integers{3, 4, 0}));
  check(mapped(Op::kFloor, whole), whole);
  check(mapped(Op::kCeil, whole), whole);
  for (const Op function : {Op::kSqrt, Op::kReciprocal, Op::kExp, Op::kLog})
    CHECK(thrown([&] { (void)mapped(function, whole); }) == "it takes integers, which is not supported");
  check(mapped(Op::kAbs, list(Integers{kMost, -kMost})), list(Integers{kMost, kMost}));
  for (const int64_t beyond : {kMost + 1, -kMost - 1})
    CHECK(thrown([&] { (void)mapped(Op::kAbs, list(Integers{beyond})); }) ==
          "its number " + std::to_string(beyond) + " is too large");
}

TEST_CASE("a constant and one number") {
  const Values whole = list(Integers{3, -4, 0}), reals = list(Reals{2.25f, -0.5f, 0.0f});
  check(combined(Arithmetic::kMul, whole, -1), list(Integers{-3, 4, 0}));
  check(combined(Arithmetic::kMul, reals, -1), list(Reals{-2.25f, 0.5f, -0.0f}));
  check(combined(Arithmetic::kEqual, whole, 0), list(Integers{0, 0, 1}));
  check(combined(Arithmetic::kEqual, reals, 0), list(Integers{0, 0, 1}));
  CHECK(thrown([] { (void)combined(Arithmetic::kMul, list(Integers{kMost + 1}), -1); }) ==
        "its numbers 2147483649 and -1 are too large");
}

TEST_CASE("reductions over some axes and over all") {
  const Values x = range({2, 3, 2});
  check(reduced(Reduction::kSum, x, {1}, false), integers({2, 2}, {6, 9, 24, 27}));
  check(reduced(Reduction::kSum, x, {1}, true), integers({2, 1, 2}, {6, 9, 24, 27}));
  check(reduced(Reduction::kMean, x, {0, 2}, false), list(Integers{3, 5, 7}));
  check(reduced(Reduction::kMean, as_real(x), {0, 2}, false), list(Reals{3.5f, 5.5f, 7.5f}));
  // As the runtime adds up: a chain would be 1e-3 off.
  const Reals tenths(1 << 20, 0.1f);
  check(reduced(Reduction::kSum, list(tenths), {0}, true), list(Reals{sum_of(tenths, kSumBlock)}));
  check(reduced(Reduction::kMax, x, {}, false), integers({}, {11}));
  check(reduced(Reduction::kMin, as_real(x), {2}, true), reals({2, 3, 1}, {0, 2, 4, 6, 8, 10}));
  check(reduced(Reduction::kProduct, list(Integers{2, 3, -4}), {0}, false), integers({}, {-24}));
  check(reduced(Reduction::kMax, list(Reals{-2, -3}), {}, true), list(Reals{-2}));
  CHECK(thrown([] { (void)reduced(Reduction::kSum, list(Integers{}), {}, false); }) ==
        "it reduces an empty constant");
  CHECK(thrown([] {
          (void)reduced(Reduction::kSum, integers({0, 2}, {}), {1}, false);
        }) == "it reduces an empty constant");
}

TEST_CASE("moving elements: gather, slice, concatenate, transpose, tile") {
  const Values x = range({2, 3, 2});
  check(gathered(x, 1, integers({2}, {2, -3})), integers({2, 2, 2}, {4, 5, 0, 1, 10, 11, 6, 7}));
  check(gathered(x, 0, integers({}, {-1})), integers({3, 2}, {6, 7, 8, 9, 10, 11}));
  check(gathered(x, 2, integers({1, 1}, {1})), integers({2, 3, 1, 1}, {1, 3, 5, 7, 9, 11}));
  check(gathered(as_real(list(Integers{5, 6})), 0, list(Integers{1})), list(Reals{6}));
  CHECK(thrown([&] { (void)gathered(x, 1, list(Integers{3})); }) ==
        "its index 3 does not exist in an axis of 3");
  CHECK(thrown([&] { (void)gathered(x, 1, list(Integers{-4})); }) ==
        "its index -4 does not exist in an axis of 3");

  check(sliced(x, {0, 2, 1}, {1, -2, 1}, {2, 2, 1}), integers({2, 2, 1}, {5, 1, 11, 7}));
  check(concatenated({range({2, 1}), integers({2, 2}, {7, 8, 9, 10})}, 1),
        integers({2, 3}, {0, 7, 8, 1, 9, 10}));
  check(concatenated({list(Reals{1}), list(Reals{}), list(Reals{2, 3})}, 0), list(Reals{1, 2, 3}));
  CHECK(thrown([] {
          (void)concatenated({list(Reals{1}), list(Integers{1})}, 0);
        }) == "its inputs do not fit");
  CHECK(thrown([] { (void)concatenated({range({1, 1}), range({1})}, 0); }) == "its inputs do not fit");
  CHECK(thrown([] {
          (void)concatenated({range({1, 2}), range({1, 3})}, 0);
        }) == "its inputs do not fit along axis 0");
  check(concatenated({integers({0, 1}, {}), integers({0, 2}, {})}, 1), integers({0, 3}, {}));
  check(transposed(x, {2, 0, 1}), integers({2, 2, 3}, {0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
  check(tiled(range({2, 2}), {1, 2}), integers({2, 4}, {0, 1, 0, 1, 2, 3, 2, 3}));
  check(tiled(range({2, 2}), {2, 1}), integers({4, 2}, {0, 1, 2, 3, 0, 1, 2, 3}));
  check(tiled(range({2}), {0}), list(Integers{}));
  check(tiled(range({1}), {5}), list(Integers{0, 0, 0, 0, 0}));
  CHECK(thrown([] { (void)tiled(range({2}), {1, 1}); }) == "it has 2 repeats for rank 1");
  CHECK(thrown([] { (void)tiled(range({1}), {-1}); }) == "it repeats an axis -1 times");
  CHECK(thrown([] { (void)tiled(range({1}), {kMany + 1}); }) == "it repeats an axis 16777217 times");
  CHECK(thrown([] { (void)tiled(range({2}), {kMany}); }) == "its constant result is too large");
}

TEST_CASE("choices and conversions") {
  const Values condition = integers({2, 1}, {1, 0});
  check(chosen(condition, list(Integers{1, 2}), list(Integers{3, 4})), integers({2, 2}, {1, 2, 3, 4}));
  check(chosen(reals({2}, {0.0f, 2.5f}), list(Reals{1, 2}), list(Reals{3, 4})), list(Reals{3, 2}));
  check(chosen(list(Integers{0, 1, 7}), integers({}, {5}), integers({}, {6})), list(Integers{6, 5, 5}));
  CHECK(thrown([&] { (void)chosen(condition, list(Reals{1}), list(Integers{1})); }) ==
        "its inputs have different element types");
  check(as_real(list(Integers{1, -2})), list(Reals{1, -2}));
  check(as_real(list(Reals{1.5f})), list(Reals{1.5f}));
  check(as_integers(list(Reals{1.9f, -1.9f, 9.0e18f})), list(Integers{1, -1, static_cast<int64_t>(9.0e18f)}));
  check(as_integers(list(Integers{INT64_MAX})), list(Integers{INT64_MAX}));
  for (const float beyond : {9.3e18f, -INFINITY, INFINITY, NAN})
    CHECK(as_integers(list(Reals{beyond})).integers[0] == INT64_MIN);
}

}  // namespace intaglio::test::import_constant_values_test

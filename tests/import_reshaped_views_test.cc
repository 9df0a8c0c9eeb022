// Reshapes of transposed tensors: channel shuffles, splits and joins of channels stay channels last.
#include "importers/passes/passes.h"

#include <doctest/doctest.h>

#include <numeric>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_reshaped_views_test {

using importers::permuted;
using DraftShape = importers::Shape;
using Order = importers::Permutation;

namespace {

using Numbers = std::vector<int32_t>;

Numbers numbers(const DraftShape& shape) {
  Numbers list(static_cast<size_t>(importers::elements(shape)));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

// By the definition.
Numbers transposed(const Numbers& x, const DraftShape& shape, const Order& order) {
  Numbers y;
  const DraftShape result = permuted(shape, order);
  DraftShape at(shape.size(), 0);
  for (size_t n = 0; n < x.size(); ++n) {
    DraftShape from(shape.size());
    for (size_t i = 0; i < order.size(); ++i) from[static_cast<size_t>(order[i])] = at[i];
    size_t offset = 0;
    for (size_t i = 0; i < shape.size(); ++i)
      offset = offset * static_cast<size_t>(shape[i]) + static_cast<size_t>(from[i]);
    y.push_back(x[offset]);
    for (size_t i = result.size(); i-- > 0;) {
      if (++at[i] < result[i]) break;
      at[i] = 0;
    }
  }
  return y;
}

Order random_order(Random& random, size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = rank; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(random.between(0, static_cast<int32_t>(i) - 1))]);
  return order;
}

// Factors of 2 and 3, joined to axes at random, with some of size 1.
DraftShape random_split(Random& random, const Numbers& factors) {
  DraftShape shape{1};
  for (const int32_t factor : factors) {
    if (shape.size() < 6 && random.one_in(2)) shape.push_back(1);
    shape.back() *= factor;
  }
  if (shape.size() < 6 && random.one_in(3)) shape.push_back(1);
  return shape;
}

// A network whose units end with a shuffle, or with the same by the channels' indices.
std::string shuffled_network(bool by_indices, int64_t groups) {
  Random random(5);
  constexpr int64_t kChannels = 24, kSide = 5;
  OnnxBuilder file(13);
  file.input("x", {1, kChannels, kSide, kSide});
  std::string last = "x";
  for (int unit = 0; unit < 3; ++unit) {
    const std::string n = std::to_string(unit);
    file.integers("halves" + n, {kChannels / 2, kChannels / 2});
    auto& split = file.node("Split", {last, "halves" + n}, "left" + n);
    split.output.push_back("right" + n);
    set(split, "axis", int64_t{1});
    file.floats("w" + n, {kChannels / 2, kChannels / 2, 1, 1}, random.reals(144, -0.5f, 0.5f));
    file.node("Conv", {"right" + n, "w" + n}, "c" + n);
    file.node("Relu", {"c" + n}, "r" + n);
    set(file.node("Concat", {"left" + n, "r" + n}, "joined" + n), "axis", int64_t{1});
    if (by_indices) {
      std::vector<int64_t> order;
      for (int64_t c = 0; c < kChannels; ++c) order.push_back(c % groups * (kChannels / groups) + c / groups);
      file.integers("order" + n, order);
      set(file.node("Gather", {"joined" + n, "order" + n}, "y" + n), "axis", int64_t{1});
    } else {
      file.integers("apart" + n, {1, groups, kChannels / groups, kSide, kSide});
      file.node("Reshape", {"joined" + n, "apart" + n}, "five" + n);
      set(file.node("Transpose", {"five" + n}, "turned" + n), "perm", std::vector<int64_t>{0, 2, 1, 3, 4});
      file.integers("whole" + n, {1, kChannels, kSide, kSide});
      file.node("Reshape", {"turned" + n, "whole" + n}, "y" + n);
    }
    last = "y" + n;
  }
  file.floats("w", {4, kChannels, 1, 1}, random.reals(96, -0.5f, 0.5f));
  file.node("Conv", {last, "w"}, "y");
  file.output("y");
  return file.bytes();
}

}  // namespace

TEST_CASE("a reshaped view holds what the definition says, in any order that its readers want") {
  Random random(1);
  int found = 0, moved = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    Numbers factors;
    for (int32_t n = random.between(1, 5); n > 0; --n) factors.push_back(random.between(2, 3));
    const DraftShape seen = random_split(random, factors), to = random_split(random, factors);
    const Order permutation = random_order(random, seen.size());
    const DraftShape base = permuted(seen, importers::inverse(permutation));
    const Order wanted = random.one_in(3) ? Order() : random_order(random, to.size());
    const auto view = importers::reshaped_view(base, permutation, to, wanted);
    const Numbers x = numbers(base), expected = transposed(x, base, permutation);
    if (!view) {
      ++refused;
      continue;
    }
    ++found;
    moved += !importers::is_identity(view->before);
    CHECK((importers::is_identity(view->before) || view->order == wanted));
    const Numbers made = transposed(x, base, view->before);
    REQUIRE(transposed(made, permuted(to, view->order), importers::inverse(view->order)) == expected);
  }
  CHECK(found > 500);
  CHECK(moved > 50);
  CHECK(refused > 100);
}

TEST_CASE("splitting and joining the channels of a picture moves nothing") {
  const Order nchw{0, 3, 1, 2};
  const auto split = importers::reshaped_view({1, 4, 5, 6}, nchw, {1, 2, 3, 4, 5}, {});
  REQUIRE(split);
  CHECK(importers::is_identity(split->before));
  CHECK(split->order == Order{0, 3, 4, 1, 2});
  const auto flat = importers::reshaped_view({1, 4, 5, 6}, nchw, {1, 6, 20}, {});
  REQUIRE(flat);
  CHECK(importers::is_identity(flat->before));
  CHECK(flat->order == Order{0, 2, 1});
  CHECK(!importers::reshaped_view({1, 4, 5, 6}, nchw, {1, 120}, {}));
  // Shuffled channels are joined where their readers want them last.
  CHECK(!importers::reshaped_view({1, 4, 5, 2, 3}, {0, 4, 3, 1, 2}, {1, 6, 4, 5}, {}));
  const auto joined = importers::reshaped_view({1, 4, 5, 2, 3}, {0, 4, 3, 1, 2}, {1, 6, 4, 5}, {0, 2, 3, 1});
  REQUIRE(joined);
  CHECK(joined->before == Order{0, 1, 2, 4, 3});
  CHECK(joined->order == Order{0, 2, 3, 1});
}

TEST_CASE("a channel shuffle is one Transpose within the channels") {
  Random random(2);
  const std::vector<float> x = random.reals(24 * 25, -1.0f, 1.0f);
  for (const int64_t groups : {2, 3, 4}) {
    CAPTURE(groups);
    Import shuffled(shuffled_network(false, groups));
    REQUIRE_MESSAGE(shuffled.good(), shuffled.message());
    // One at each of the three shuffles. The model's answer is turned where the network with indices turns its own.
    Import by_indices(shuffled_network(true, groups));
    REQUIRE_MESSAGE(by_indices.good(), by_indices.message());
    CHECK(shuffled.count(Op::kTranspose) == by_indices.count(Op::kTranspose) + 3);
    CHECK(by_indices.count(Op::kTranspose) <= 1);
    CHECK(run_import<float>(shuffled, x) == run_import<float>(by_indices, x));
  }
}

// Neighbours of a shuffle, each with a convolution before and behind: what moves whole pictures must not come back.
TEST_CASE("depth to space, space to depth and heads of detectors turn no picture to channels first") {
  struct Case {
    const char* name;
    std::vector<int64_t> apart, order, whole;
    int64_t channels_behind;
    size_t transposes;
  };
  const Case cases[] = {
      {"depth to space, CRD", {1, 2, 2, 2, 4, 6}, {0, 1, 4, 2, 5, 3}, {1, 2, 8, 12}, 2, 1},
      {"depth to space, DCR", {1, 2, 2, 2, 4, 6}, {0, 3, 4, 1, 5, 2}, {1, 2, 8, 12}, 2, 1},
      {"space to depth, which goes into the window behind",
       {1, 8, 2, 2, 3, 2},
       {0, 3, 5, 1, 2, 4},
       {1, 32, 2, 3},
       32,
       0},
      {"channels apart and together", {1, 2, 4, 4, 6}, {0, 1, 2, 3, 4}, {1, 8, 4, 6}, 8, 0},
      {"rows and columns together and apart", {1, 8, 24}, {0, 1, 2}, {1, 8, 4, 6}, 8, 0},
      {"a shuffle and its rows together", {1, 4, 2, 24}, {0, 2, 1, 3}, {1, 8, 4, 6}, 8, 1},
  };
  for (const Case& each : cases) {
    CAPTURE(each.name);
    Random random(3);
    OnnxBuilder file(13);
    file.input("x", {1, 8, 4, 6});
    file.floats("w0", {8, 8, 1, 1}, random.reals(64, -0.5f, 0.5f));
    file.node("Conv", {"x", "w0"}, "c");
    file.integers("apart", each.apart);
    file.node("Reshape", {"c", "apart"}, "a");
    set(file.node("Transpose", {"a"}, "t"), "perm", each.order);
    file.integers("whole", each.whole);
    file.node("Reshape", {"t", "whole"}, "r");
    file.floats("w1", {2, each.channels_behind, 1, 1},
                random.reals(static_cast<size_t>(2 * each.channels_behind), -0.5f, 0.5f));
    file.node("Conv", {"r", "w1"}, "d");
    file.node("ReduceMax", {"d"}, "y");
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.count(Op::kTranspose) == each.transposes);
  }
}

}  // namespace intaglio::test::import_reshaped_views_test

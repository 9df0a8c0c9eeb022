// Windows, axes and permutations of foreign files, beside their definition, and how problems are told.
#include "importers/draft/geometry.h"

#include <algorithm>

#include "tests/support/thrown.h"

namespace intaglio::test::import_geometry_test {

using namespace importers;

namespace {

int64_t span_of(const WindowAxis& axis) { return int64_t{axis.kernel - 1} * axis.dilation + 1; }

// How many places a window has that lie within the padded input, one after the other.
int32_t places(const WindowAxis& axis, int32_t in) {
  int32_t count = 0;
  for (int64_t start = -axis.before; start + span_of(axis) <= int64_t{in} + axis.after; start += axis.stride)
    ++count;
  return count;
}

}  // namespace

TEST_CASE("outputs of every small window are its places") {
  for (int32_t in = 1; in <= 9; ++in)
    for (int32_t kernel = 1; kernel <= 4; ++kernel)
      for (int32_t stride = 1; stride <= 4; ++stride)
        for (int32_t dilation = 1; dilation <= 3; ++dilation)
          for (int32_t before = 0; before <= 3; ++before)
            for (int32_t after = 0; after <= 3; ++after) {
              const WindowAxis axis{kernel, stride, dilation, before, after};
              int32_t found = 0;
              const std::string said = thrown([&] { found = window_output(axis, in); });
              const bool allowed = before < span_of(axis) && after < span_of(axis);
              CHECK(said.empty() == (allowed && places(axis, in) > 0));
              if (said.empty()) CHECK(found == places(axis, in));
              if (!allowed) continue;

              WindowAxis same = axis;
              pad_same(same, in, false);
              WindowAxis lower = axis;
              pad_same(lower, in, true);
              CHECK(places(same, in) == (in + stride - 1) / stride);
              CHECK(same.before == lower.after);
              CHECK(same.after == lower.before);
              CHECK((same.after == same.before || same.after == same.before + 1));
              if (same.before + same.after > 0) {  // no more of it than that takes
                WindowAxis less = same;
                --less.after;
                CHECK(places(less, in) < places(same, in));
              }

              // Windows that end past the padding count where they start before it.
              WindowAxis ceil = axis;
              pad_ceil(ceil, in);
              CHECK(ceil.before == before);
              if (places(axis, in) == 0) {
                CHECK(ceil.after == after);
                continue;
              }
              const int64_t room = int64_t{in} + before + after - span_of(axis);
              int64_t rounded_up = (room + stride - 1) / stride + 1;
              if ((rounded_up - 1) * stride >= int64_t{in} + before) --rounded_up;
              CHECK(places(ceil, in) == rounded_up);
              CHECK((ceil.after == after || places(axis, in) == rounded_up - 1));
            }
}

TEST_CASE("windows at their limits") {
  const auto says = [](const WindowAxis& axis) { return thrown([&] { check_window_axis(axis); }); };
  CHECK(says({4096, 4096, 4096}).empty());
  CHECK(says({1, 1, 1}).empty());
  CHECK(says({0, 1, 1}) == "window size 0 is not allowed (1 to 4096)");
  CHECK(says({4097, 1, 1}) == "window size 4097 is not allowed (1 to 4096)");
  CHECK(says({1, 0, 1}) == "stride 0 is not allowed (1 to 4096)");
  CHECK(says({1, 4097, 1}) == "stride 4097 is not allowed (1 to 4096)");
  CHECK(says({1, 1, -1}) == "dilation -1 is not allowed (1 to 4096)");
  CHECK(says({1, 1, 4097}) == "dilation 4097 is not allowed (1 to 4096)");
  CHECK(says({3, 1, 2, 4, 4}).empty());
  CHECK(says({3, 1, 2, 5, 0}) ==
        "padding 5 is not allowed: it must be at least 0 and less than the window (5)");
  CHECK(says({3, 1, 2, 0, 5}) ==
        "padding 5 is not allowed: it must be at least 0 and less than the window (5)");
  CHECK(says({2, 1, 1, -1, 0}) ==
        "padding -1 is not allowed: it must be at least 0 and less than the window (2)");
  CHECK(window_output({5, 3, 1}, 5) == 1);
  CHECK(thrown([] {
          (void)window_output({5, 3, 1, 1, 2}, 1);
        }) == "the window of 5 does not fit the input of 1 with padding 1 and 2");
}

TEST_CASE("numbers, axes and permutations from files") {
  CHECK(narrow(INT32_MAX, "x") == INT32_MAX);
  CHECK(narrow(INT32_MIN, "x") == INT32_MIN);
  CHECK(thrown([] { (void)narrow(int64_t{INT32_MAX} + 1, "group"); }) ==
        "group 2147483648 is outside the range of 32 bits");
  CHECK(thrown([] { (void)narrow(int64_t{INT32_MIN} - 1, "group"); }) ==
        "group -2147483649 is outside the range of 32 bits");
  for (int64_t axis = -3; axis < 3; ++axis) CHECK(normal_axis(axis, 3) == (axis + 3) % 3);
  CHECK(thrown([] { (void)normal_axis(3, 3); }) == "axis 3 does not exist in a tensor of rank 3");
  CHECK(thrown([] { (void)normal_axis(-4, 3); }) == "axis -4 does not exist in a tensor of rank 3");
  CHECK(normal_axes({-1, 0, 2, 1, -3}, 3) == std::vector<int32_t>{0, 1, 2});
  CHECK(normal_axes({-1, 0}, 4) == std::vector<int32_t>{0, 3});
  CHECK(normal_axes({}, 4).empty());
  CHECK(thrown([] { (void)normal_axes({0, 4}, 4); }) == "axis 4 does not exist in a tensor of rank 4");
  const auto says = [](const Permutation& permutation, size_t rank) {
    return thrown([&] { check_permutation(permutation, rank); });
  };
  CHECK(says({2, 0, 1}, 3).empty());
  CHECK(says({}, 0).empty());
  for (const Permutation& bad : {Permutation{0, 1}, Permutation{0, 1, 2, 3}, Permutation{0, 1, 3},
                                 Permutation{0, -1, 1}, Permutation{0, 1, 1}, Permutation{0, 0, 2}})
    CHECK(says(bad, 3) == "the permutation " + shape_text(bad) + " does not have each of 3 axes once");
}

TEST_CASE("problems are told one by one, names short and clean") {
  CHECK(importers::shape_text({}) == "[]");
  CHECK(importers::shape_text({1}) == "[1]");
  CHECK(importers::shape_text({1, 32, -1}) == "[1, 32, -1]");
  CHECK(shape_text(std::vector<int32_t>(16, 7)) == "[7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]");
  CHECK(shape_text(std::vector<int32_t>(17, 7)) ==
        "[7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, ..., of 17]");
  CHECK(shown("conv1") == "conv1");
  CHECK(shown(std::string(97, 'n')) == std::string(96, 'n') + "...");
  CHECK(quoted("conv1") == "'conv1'");
  CHECK(quoted(std::string(96, 'n')) == "'" + std::string(96, 'n') + "'");
  CHECK(quoted(std::string(97, 'n')) == "'" + std::string(96, 'n') + "...'");

  Problems longest, longer;
  longest.add(std::string(1024, 'p'));
  CHECK(longest.failure("F").message == "F cannot be imported: " + std::string(1024, 'p'));
  longer.add(std::string(1025, 'p'));
  CHECK(longer.failure("F").message == "F cannot be imported: " + std::string(1024, 'p') + "...");

  Problems problems;
  CHECK(problems.empty());
  problems.add("p0");
  CHECK(!problems.empty());
  CHECK(problems.failure("net.onnx").message == "net.onnx cannot be imported: p0");
  std::string expected;
  for (int32_t i = 1; i < 70; ++i) {
    problems.add("p" + std::to_string(i));
    const std::string head = "net.onnx cannot be imported, " + std::to_string(i + 1) + " problems:\n  p0";
    if (i < 64) expected += "\n  p" + std::to_string(i);
    const std::string more = i < 64 ? "" : "\n  and " + std::to_string(i - 63) + " more";
    CHECK(problems.failure("net.onnx").message == head + expected + more);
  }
}

}  // namespace intaglio::test::import_geometry_test

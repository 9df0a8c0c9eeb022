// STABLEHLO_REDUCE_WINDOW and STABLEHLO_SCATTER of TFLite files, by their definitions.
#include <algorithm>
#include <limits>

#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_stablehlo_test {
namespace {

using Reals = std::vector<float>;
using Ints = std::vector<int32_t>;
using Longs = std::vector<int64_t>;

constexpr int32_t kWindow = 198, kScatter = 190, kAdd = 0, kMul = 18, kSub = 41, kMaximum = 55,
                  kStablehloMaximum = 166, kNone = -1;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

// The file's second graph: `code` of its two inputs; kNone: the second input.
void add_join(TfliteBuilder& file, int32_t code) {
  const int32_t a = file.tensor("a", kTfliteFloat, {}), b = file.tensor("b", kTfliteFloat, {});
  if (code == kNone) return file.end_graph({a, b}, {b});
  const int32_t y = file.tensor("joined", kTfliteFloat, {});
  file.op(code, {b, a}, {y});
  file.end_graph({a, b}, {y});
}

struct Windows {
  Ints from, to;
  Longs window, strides, dilations, padding, base;
  int32_t join = kMaximum;
  float start = kLowest;
};

std::string file_of(const Windows& w) {
  TfliteBuilder file;
  add_join(file, w.join);
  const int32_t x = file.tensor("x", kTfliteFloat, w.from), y = file.tensor("y", kTfliteFloat, w.to),
                start = file.constant("start", kTfliteFloat, {}, Reals{w.start});
  const auto options = tflite::CreateStablehloReduceWindowOptionsDirect(file.fbb(), &w.window, &w.strides,
                                                                        &w.base, &w.dilations, &w.padding, 1);
  file.newer_op(kWindow, {x, start}, {y}, tflite::NewerOptions::StablehloReduceWindowOptions,
                options.Union());
  return file.finish({x}, {y});
}

struct Scatter {
  Ints whole, indices_shape, indices, updates;
  Longs in_windows, inserted, to;
  int64_t vector_dim = 0;
  int32_t join = kNone;
};

// Scatters x, the updates, into numbers 100, 101, ...
std::string file_of(const Scatter& s) {
  TfliteBuilder file;
  add_join(file, s.join);
  int32_t count = 1;
  for (const int32_t dim : s.whole) count *= dim;
  Reals counted;
  for (int32_t i = 0; i < count; ++i) counted.push_back(static_cast<float>(100 + i));
  const int32_t x = file.tensor("x", kTfliteFloat, s.updates), y = file.tensor("y", kTfliteFloat, s.whole),
                whole = file.constant("whole", kTfliteFloat, s.whole, counted),
                indices = file.constant("indices", kTfliteInt32, s.indices_shape, s.indices);
  const auto options = tflite::CreateStablehloScatterOptionsDirect(
      file.fbb(), false, &s.in_windows, &s.inserted, &s.to, s.vector_dim, false, 1);
  file.newer_op(kScatter, {whole, indices, x}, {y}, tflite::NewerOptions::StablehloScatterOptions,
                options.Union());
  return file.finish({x}, {y});
}

const Reals kSix{1, 5, 2, -3, 4, 0};

}  // namespace

TEST_CASE("a window of two axes is a pool of the picture") {
  Windows w{{1, 2, 3, 1}, {1, 2, 2, 1}, {1, 2, 2, 1}, {1, 1, 1, 1}, {}, {0, 0, 0, 1, 0, 0, 0, 0}, {}};
  Import import(file_of(w));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.count(Op::kMaxPool2d) == 1);
  CHECK(import.count(Op::kTranspose) == 0);
  CHECK(run_import<float>(import, kSix) == Reals{5, 5, 4, 4});
  w.join = kStablehloMaximum;
  w.start = 4.5f;
  CHECK(run_file(file_of(w), kSix) == Reals{5, 5, 4.5f, 4.5f});
}

TEST_CASE("windows take strides and dilations, along whatever axes") {
  CHECK(run_file(file_of(Windows{{2, 3}, {1, 2}, {2, 2}, {1, 1}, {}, {}, {}}), kSix) == Reals{5, 5});
  CHECK(run_file(file_of(Windows{{6}, {2}, {3}, {2}, {}, {}, {}}), kSix) == Reals{5, 4});
  CHECK(run_file(file_of(Windows{{6}, {2}, {3}, {1}, {2}, {}, {}}), kSix) == Reals{4, 5});
  CHECK(run_file(file_of(Windows{{2, 1, 3}, {1, 1, 3}, {2, 1, 1}, {}, {}, {}, {}}), kSix) == Reals{1, 5, 2});
}

TEST_CASE("sums of windows are sums so far where the padding says so") {
  Windows sums{{2, 3}, {2, 3}, {1, 3}, {1, 1}, {1, 1}, {0, 0, 2, 0}, {1, 1}, kAdd, 0.0f};
  const Reals found = run_file(file_of(sums), kSix), expected{1, 6, 8, -3, 1, 1};
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  Windows none{{2, 3}, {2, 3}, {1, 1}, {}, {}, {}, {}, kAdd, 0.0f};
  CHECK(run_file(file_of(none), kSix) == kSix);
}

TEST_CASE("windows that are no pools are refused") {
  const auto refused = [](const Windows& w, const char* part) {
    CAPTURE(part);
    CHECK_MESSAGE(Import(file_of(w)).says(part), Import(file_of(w)).message());
  };
  refused({{6}, {6}, {1}, {}, {}, {}, {}, kMul, 1.0f}, "joins numbers otherwise than by ADD and MAXIMUM");
  refused({{6}, {6}, {1}, {}, {}, {}, {}, kNone, 1.0f}, "joins numbers otherwise than by ADD and MAXIMUM");
  refused({{6}, {6}, {1}, {}, {}, {}, {}, kSub, 1.0f},
          "it joins numbers by SUB; ADD, MUL, MAXIMUM and MINIMUM");
  refused({{6}, {6}, {1}, {}, {}, {}, {}, kAdd, 2.0f}, "its initial value is 2; 0 is supported of sums");
  refused({{6}, {5}, {2}, {}, {}, {}, {2}}, "it has a base dilation of 2; 1 is supported");
  refused({{6}, {4}, {2}, {}, {2}, {}, {}, kAdd, 0.0f},
          "it has window dilations, which are supported for MAXIMUM");
  refused({{2, 2, 2, 2}, {1, 1, 1, 2}, {2, 2, 2, 1}, {}, {}, {}, {}},
          "it has windows over 3 axes; at most 2");
  refused({{6}, {6}, {2}, {}, {}, {0, 2}, {}}, "padding 2 is not allowed");
  refused({{6}, {6}, {1, 1}, {}, {}, {}, {}}, "it has 2 window dimensions where 1 are expected");
}

TEST_CASE("updates replace rows, elements and slices") {
  // x[[2, 0], :] = updates
  CHECK(run_file(file_of(Scatter{{3, 2}, {2, 1}, {2, 0}, {2, 2}, {1}, {0}, {0}, 1}), Reals{1, 2, 3, 4}) ==
        Reals{3, 4, 102, 103, 1, 2});
  // x[:, 1] = updates, of an index that is no vector
  CHECK(run_file(file_of(Scatter{{3, 2}, {}, {1}, {3}, {0}, {1}, {1}, 0}), Reals{1, 2, 3}) ==
        Reals{100, 1, 102, 2, 104, 3});
  // A slice [2, 1] at (1, 1).
  CHECK(run_file(file_of(Scatter{{3, 2}, {2}, {1, 1}, {2, 1}, {0, 1}, {}, {0, 1}, 0}), Reals{1, 2}) ==
        Reals{100, 101, 102, 1, 104, 2});
  // Tuples along the first axis of the indices, for the axes in the other order: x[2, 0] and x[1, 1].
  CHECK(run_file(file_of(Scatter{{3, 2}, {2, 2}, {0, 1, 2, 1}, {2}, {}, {0, 1}, {1, 0}, 0}), Reals{1, 2}) ==
        Reals{100, 101, 102, 2, 1, 105});
}

TEST_CASE("updates are joined with what is there, each in turn") {
  Scatter twice{{3, 2}, {3, 1}, {2, 0, 2}, {3, 2}, {1}, {0}, {0}, 1, kAdd};
  const Reals x{1, 2, 3, 4, 5, 6};
  CHECK(run_file(file_of(twice), x) == Reals{103, 105, 102, 103, 110, 113});
  twice.join = kMul;
  CHECK(run_file(file_of(twice), x) == Reals{300, 404, 102, 103, 520, 1260});
  twice.join = kStablehloMaximum;
  CHECK(run_file(file_of(twice), Reals{1, 200, 3, 4, 300, 6}) == Reals{100, 101, 102, 103, 300, 200});
}

TEST_CASE("scatters that do not fit, or that a run decides, are refused") {
  const auto refused = [](const Scatter& s, const char* part) {
    CAPTURE(part);
    CHECK_MESSAGE(Import(file_of(s)).says(part), Import(file_of(s)).message());
  };
  refused({{3, 2}, {2, 1}, {3, 0}, {2, 2}, {1}, {0}, {0}, 1}, "it places an update at 3 of axis 0 of [3, 2]");
  refused({{3, 2}, {2, 1}, {-1, 0}, {2, 2}, {1}, {0}, {0}, 1}, "it places an update at -1 of axis 0");
  refused({{3, 2}, {2}, {2, 1}, {2, 1}, {0, 1}, {}, {0, 1}, 0}, "it places an update at 3 of axis 0");
  refused({{3, 2}, {2, 1}, {2, 0}, {2, 2}, {1}, {}, {0}, 1},
          "its updates [2, 2] do not fit its indices [2, 1]");
  refused({{3, 2}, {2, 1}, {2, 0}, {2, 2}, {1}, {0}, {5}, 1}, "its scatter_dims_to_operand_dims hold 5");
  refused({{3, 2}, {2, 1}, {2, 0}, {2, 2}, {2}, {0}, {0}, 1}, "its update_window_dims hold 2");
  refused({{3, 2}, {2, 1}, {2, 0}, {2, 2}, {1}, {0}, {0}, 7}, "do not fit its indices");
  refused({{3, 2}, {2, 1}, {2, 0}, {2, 2}, {1}, {0}, {0}, 1, kSub}, "it joins numbers by SUB");
  TfliteBuilder file;
  add_join(file, kNone);
  const int32_t x = file.tensor("x", kTfliteFloat, {2}), y = file.tensor("y", kTfliteFloat, {2}),
                indices = file.tensor("indices", kTfliteInt32, {1});
  const Longs none, first{0};
  const auto options =
      tflite::CreateStablehloScatterOptionsDirect(file.fbb(), false, &first, &none, &first, 0, false, 1);
  file.newer_op(kScatter, {x, indices, x}, {y}, tflite::NewerOptions::StablehloScatterOptions,
                options.Union());
  CHECK(Import(file.finish({x, indices}, {y})).says("its indices are computed by a run"));
}

}  // namespace intaglio::test::import_tflite_stablehlo_test

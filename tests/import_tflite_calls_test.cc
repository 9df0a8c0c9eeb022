// TFLite's CALL, IF and WHILE: the operators of other graphs stand in their place.
#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_calls_test {
namespace {

using tflite::Options;
using Reals = std::vector<float>;

constexpr int32_t kMul = 18, kCall = 31, kLess = 58, kSlice = 65, kIf = 118, kWhile = 119, kConcat = 2;

int32_t number(TfliteBuilder& file, const char* name, int32_t value) {
  return file.constant(name, kTfliteInt32, {}, std::vector<int32_t>{value});
}

// Graph 1: i < limit. Graph 2: i + 1, and y / 2 + x, and x.
void add_loop_graphs(TfliteBuilder& file, int32_t limit, int32_t step = 1) {
  int32_t i = file.tensor("i", kTfliteInt32, {}), y = file.tensor("y", kTfliteFloat, {1, 3}),
          x = file.tensor("x", kTfliteFloat, {1, 3});
  const int32_t goes_on = file.tensor("goes_on", 6, {});
  file.op(kLess, {i, number(file, "limit", limit)}, {goes_on});
  file.end_graph({i, y, x}, {goes_on});
  i = file.tensor("i", kTfliteInt32, {});
  y = file.tensor("y", kTfliteFloat, {1, 3});
  x = file.tensor("x", kTfliteFloat, {1, 3});
  const int32_t next = file.tensor("next", kTfliteInt32, {}),
                half = file.tensor("half", kTfliteFloat, {1, 3}),
                sum = file.tensor("sum", kTfliteFloat, {1, 3});
  file.op(kTfliteAdd, {i, number(file, "one", step)}, {next}, Options::AddOptions,
          tflite::CreateAddOptions(file.fbb()).Union());
  file.op(kMul, {y, file.constant("factor", kTfliteFloat, {1}, Reals{0.5f})}, {half}, Options::MulOptions,
          tflite::CreateMulOptions(file.fbb()).Union());
  file.op(kTfliteAdd, {half, x}, {sum}, Options::AddOptions, tflite::CreateAddOptions(file.fbb()).Union());
  file.end_graph({i, y, x}, {next, sum, x});
}

std::string loop(int32_t limit, int32_t step = 1, int32_t body = 2) {
  TfliteBuilder file;
  add_loop_graphs(file, limit, step);
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 3});
  const int32_t zeros = file.constant("zeros", kTfliteFloat, {1, 3}, Reals{0, 0, 0});
  const int32_t i = file.tensor("i", kTfliteInt32, {}), y = file.tensor("y", kTfliteFloat, {1, 3}),
                same = file.tensor("same", kTfliteFloat, {1, 3});
  file.op(kWhile, {number(file, "zero", 0), zeros, x}, {i, y, same}, Options::WhileOptions,
          tflite::CreateWhileOptions(file.fbb(), 1, body).Union());
  return file.finish({x}, {y});
}

}  // namespace

TEST_CASE("a WHILE is unrolled as often as the file decides") {
  for (const int32_t steps : {1, 2, 5}) {
    Import import(loop(steps));
    REQUIRE_MESSAGE(import.good(), import.message());
    Reals expected{0, 0, 0};
    const Reals x{1, -2, 8};
    for (int32_t step = 0; step < steps; ++step)
      for (size_t i = 0; i < x.size(); ++i) expected[i] = expected[i] * 0.5f + x[i];
    CHECK(run_import<float>(import, x) == expected);
  }
}

TEST_CASE("a WHILE without an end, or that a run decides, is refused") {
  CHECK(Import(loop(4, 0)).says("it has more than 1024 steps"));
  CHECK(Import(loop(4, 1, 7)).says("graph 7 does not exist, or is the first one; the file has 3"));
  CHECK(Import(loop(4, 1, 0)).says("graph 0 does not exist, or is the first one"));
  CHECK(Import(loop(4, 1, 1)).says("takes 3 inputs, it gets 1"));

  TfliteBuilder file;
  add_loop_graphs(file, 4);
  const int32_t start = file.tensor("start", kTfliteInt32, {1}), x = file.tensor("x", kTfliteFloat, {1, 3});
  const int32_t i = file.tensor("i", kTfliteInt32, {}), y = file.tensor("y", kTfliteFloat, {1, 3}),
                same = file.tensor("same", kTfliteFloat, {1, 3});
  file.op(kWhile, {start, x, x}, {i, y, same}, Options::WhileOptions,
          tflite::CreateWhileOptions(file.fbb(), 1, 2).Union());
  CHECK(Import(file.finish({start, x}, {y})).says("its condition is computed by a run"));
}

TEST_CASE("CALL and IF of a constant condition; a graph that calls itself is refused") {
  for (const bool yes : {false, true}) {
    TfliteBuilder file;
    for (const float factor : {2.0f, -3.0f}) {
      const int32_t x = file.tensor("x", kTfliteFloat, {2}), y = file.tensor("y", kTfliteFloat, {2});
      file.op(kMul, {x, file.constant("factor", kTfliteFloat, {1}, Reals{factor})}, {y}, Options::MulOptions,
              tflite::CreateMulOptions(file.fbb()).Union());
      file.end_graph({x}, {y});
    }
    const int32_t x = file.tensor("x", kTfliteFloat, {2}), a = file.tensor("a", kTfliteFloat, {2}),
                  b = file.tensor("b", kTfliteFloat, {2});
    const int32_t condition =
        file.constant("condition", 6, {}, std::vector<uint8_t>{yes ? uint8_t{1} : uint8_t{0}});
    file.op(kIf, {condition, x}, {a}, Options::IfOptions, tflite::CreateIfOptions(file.fbb(), 1, 2).Union());
    file.op(kCall, {a}, {b}, Options::CallOptions, tflite::CreateCallOptions(file.fbb(), 1).Union());
    Import import(file.finish({x}, {b}));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(run_import<float>(import, Reals{1, 5}) == (yes ? Reals{4, 20} : Reals{-6, -30}));
  }
  TfliteBuilder endless;
  for (int graph = 0; graph < 2; ++graph) {
    const int32_t x = endless.tensor("x", kTfliteFloat, {2}), y = endless.tensor("y", kTfliteFloat, {2});
    endless.op(kCall, {x}, {y}, Options::CallOptions, tflite::CreateCallOptions(endless.fbb(), 1).Union());
    if (graph == 0) endless.end_graph({x}, {y});
    if (graph == 1) CHECK(Import(endless.finish({x}, {y})).says("called more than 16 in one another"));
  }
}

TEST_CASE("a called graph gets what its tensors are") {
  const auto call = [](int8_t type, const TfliteScales& inner, const TfliteScales& outer) {
    TfliteBuilder file;
    int32_t x = file.tensor("x", type, {2}, inner), y = file.tensor("y", type, {2}, inner);
    file.op(kTfliteReshape, {x}, {y});
    file.end_graph({x}, {y});
    x = file.tensor("x", outer.scale.empty() ? kTfliteFloat : kTfliteInt8, {2}, outer);
    y = file.tensor("y", outer.scale.empty() ? kTfliteFloat : kTfliteInt8, {2}, outer);
    file.op(kCall, {x}, {y}, Options::CallOptions, tflite::CreateCallOptions(file.fbb(), 1).Union());
    return Import(file.finish({x}, {y})).message();
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(call(kTfliteInt8, {{0.5f}}, {{0.5f}}).empty());
  CHECK(says(call(kTfliteInt8, {{0.5f}}, {{0.25f}}), "tensor 'x' has another scale where it is called"));
  CHECK(says(call(kTfliteInt8, {{0.5f}}, {}), "tensor 'x' has another element type where it is called"));
}

TEST_CASE("rows before a loop's first step and behind its last one are nothing") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {3, 2}), none = file.tensor("none", kTfliteFloat, {0, 2}),
                rest = file.tensor("rest", kTfliteFloat, {2, 2}), y = file.tensor("y", kTfliteFloat, {2, 2});
  const auto list = [&](const char* name, std::vector<int32_t> values) {
    return file.constant(name, kTfliteInt32, {2}, values);
  };
  file.op(kSlice, {x, list("b0", {3, 0}), list("s0", {-1, -1})}, {none});
  file.op(kSlice, {x, list("b1", {1, 0}), list("s1", {2, 2})}, {rest});
  file.op(kConcat, {none, rest}, {y}, Options::ConcatenationOptions,
          tflite::CreateConcatenationOptions(file.fbb(), 0).Union());
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, Reals{1, 2, 3, 4, 5, 6}) == Reals{3, 4, 5, 6});
}

TEST_CASE("what a called graph gives has the shape that the file says") {
  const auto call = [](const std::vector<int32_t>& shape, const std::vector<int32_t>& signature) {
    TfliteBuilder file;
    int32_t x = file.tensor("x", kTfliteFloat, {2, 3}), y = file.tensor("y", kTfliteFloat, {2, 3});
    file.op(kTfliteRelu, {x}, {y});
    file.end_graph({x}, {y});
    x = file.tensor("x", kTfliteFloat, {2, 3});
    y = file.open_tensor("y", kTfliteFloat, shape, signature);
    file.op(kCall, {x}, {y}, Options::CallOptions, tflite::CreateCallOptions(file.fbb(), 1).Union());
    return file.finish({x}, {y});
  };
  CHECK(Import(call({2, 3}, {})).good());
  CHECK(Import(call({1, 3}, {-1, 3})).good());
  CHECK(Import(call({}, {})).good());
  CHECK(Import(call({3, 2}, {}))
            .says("tensor 'y' is [3, 2] in the file, the graph that is called gives [2, 3]"));
  CHECK(Import(call({1, 2, 3}, {})).says("tensor 'y' is [1, 2, 3] in the file"));
  CHECK(Import(call({1, 4}, {-1, 4})).says("tensor 'y' is [1, 4] in the file"));
}

TEST_CASE("a composite is the graph that it stands for") {
  for (const int32_t graph : {1, 2}) {
    TfliteBuilder file;
    int32_t x = file.tensor("x", kTfliteFloat, {2}), y = file.tensor("y", kTfliteFloat, {2});
    file.op(kMul, {x, file.constant("factor", kTfliteFloat, {1}, Reals{4})}, {y}, Options::MulOptions,
            tflite::CreateMulOptions(file.fbb()).Union());
    file.end_graph({x}, {y});
    x = file.tensor("x", kTfliteFloat, {2});
    y = file.tensor("y", kTfliteFloat, {2});
    file.composite("odml.rms_norm", graph, {x}, {y});
    Import import(file.finish({x}, {y}));
    if (graph == 2) {
      CHECK(import.says("graph 2 does not exist"));
      continue;
    }
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(run_import<float>(import, Reals{1, -5}) == Reals{4, -20});
  }
}

}  // namespace intaglio::test::import_tflite_calls_test

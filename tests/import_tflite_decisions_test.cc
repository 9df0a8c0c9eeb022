// TFLite's IF where a run decides: both graphs are computed, and a Where chooses.
#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_decisions_test {
namespace {

using tflite::Options;
using Reals = std::vector<float>;

constexpr int8_t kTfliteBool = 6, kTfliteResource = 13;
constexpr int32_t kMul = 18, kCall = 31, kSub = 41, kCast = 53, kLess = 58, kSum = 74, kIf = 118,
                  kVarHandle = 142, kReadVariable = 143, kAssignVariable = 144;

// Whether the sum of x is less than 1: a truth value of this shape.
int32_t sum_is_small(TfliteBuilder& file, int32_t x, const std::vector<int32_t>& shape = {}) {
  const int32_t sum = file.tensor("sum", kTfliteFloat, shape), yes = file.tensor("yes", kTfliteBool, shape),
                axes = file.constant("axes", kTfliteInt32, {1}, std::vector<int32_t>{0});
  int32_t total = sum;
  if (!shape.empty()) total = file.tensor("total", kTfliteFloat, {});
  file.op(kSum, {x, axes}, {total}, Options::ReducerOptions,
          tflite::CreateReducerOptions(file.fbb()).Union());
  if (!shape.empty()) file.op(kTfliteReshape, {total}, {sum});
  file.op(kLess, {sum, file.constant("limit", kTfliteFloat, {}, Reals{1})}, {yes});
  return yes;
}

void choose(TfliteBuilder& file, const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs) {
  file.op(kIf, inputs, outputs, Options::IfOptions, tflite::CreateIfOptions(file.fbb(), 1, 2).Union());
}

void multiply(TfliteBuilder& file, int32_t x, int32_t factor, int32_t y) {
  file.op(kMul, {x, factor}, {y}, Options::MulOptions, tflite::CreateMulOptions(file.fbb()).Union());
}

// Graphs 1 and 2: x times 2, and x times -3 or, of another shape, x. Then an IF that a run decides.
std::string decision(const std::vector<int32_t>& of_second, const std::vector<int32_t>& of_condition = {}) {
  TfliteBuilder file;
  for (const float factor : {2.0f, -3.0f}) {
    const int32_t x = file.tensor("x", kTfliteFloat, {2});
    const int32_t y = file.tensor("y", kTfliteFloat, factor > 0 ? std::vector<int32_t>{2} : of_second);
    if (of_second.size() != 1)
      file.op(kTfliteReshape, {x}, {y});
    else
      multiply(file, x, file.constant("factor", kTfliteFloat, {1}, Reals{factor}), y);
    file.end_graph({x}, {y});
  }
  const int32_t x = file.tensor("x", kTfliteFloat, {2}), y = file.tensor("y", kTfliteFloat, {2});
  choose(file, {sum_is_small(file, x, of_condition), x}, {y});
  return file.finish({x}, {y});
}

// Graph 1 gives `first`, graph 2 `second`, each of the inputs a and b: 0 and 1.
void add_choosing_graphs(TfliteBuilder& file, const std::vector<int32_t>& a, const std::vector<int32_t>& b,
                         const std::vector<int32_t>& first, const std::vector<int32_t>& second) {
  for (const std::vector<int32_t>& outputs : {first, second}) {
    (void)file.tensor("a", kTfliteFloat, a);
    (void)file.tensor("b", kTfliteFloat, b);
    file.end_graph({0, 1}, outputs);
  }
}

// `count` IFs that a run decides, between graphs that give one of their inputs `repeats` times. The first output of each is
// the model's.
std::string many_choices(int32_t count, int32_t repeats, int32_t outputs) {
  TfliteBuilder file;
  const auto ends = [&](int32_t input) { return std::vector<int32_t>(static_cast<size_t>(repeats), input); };
  add_choosing_graphs(file, {2}, {2}, ends(0), ends(1));
  const int32_t a = file.tensor("a", kTfliteFloat, {2}), b = file.tensor("b", kTfliteFloat, {2}),
                yes = sum_is_small(file, a);
  std::vector<int32_t> firsts;
  for (int32_t i = 0; i < count; ++i) {
    std::vector<int32_t> given;
    for (int32_t k = 0; k < outputs; ++k) given.push_back(file.tensor("", kTfliteFloat, {2}));
    firsts.push_back(given[0]);
    choose(file, {yes, a, b}, given);
  }
  return file.finish({a, b}, firsts);
}

}  // namespace

TEST_CASE("an IF that a run decides computes both graphs and chooses") {
  for (const std::vector<int32_t>& of_condition :
       {std::vector<int32_t>{}, std::vector<int32_t>{1}, std::vector<int32_t>{1, 1, 1}}) {
    Import import(decision({2}, of_condition));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.dims(import.output()) == std::vector<int32_t>{2});
    CHECK(std::string(import.output().name) == "y");
    CHECK(run_import<float>(import, Reals{1, -5}) == Reals{2, -10});
    CHECK(run_import<float>(import, Reals{1, 5}) == Reals{-3, -15});
    CHECK(run_import<float>(import, Reals{0, 1}) == Reals{0, -3});  // not less
  }
  CHECK(Import(decision({1, 2})).says("its graphs give [2] and [1, 2]"));
}

TEST_CASE("an IF that a run decides chooses between codes") {
  const TfliteScales scales{{0.5f}, 3};
  TfliteBuilder file;
  for (const int32_t code : {kTfliteReshape, kTfliteRelu}) {
    const int32_t x = file.tensor("x", kTfliteInt8, {2}, scales),
                  y = file.tensor("y", kTfliteInt8, {2}, scales);
    file.op(code, {x}, {y});
    file.end_graph({x}, {y});
  }
  const int32_t x = file.tensor("x", kTfliteInt8, {2}, scales), real = file.tensor("real", kTfliteFloat, {2}),
                y = file.tensor("y", kTfliteInt8, {2}, scales);
  file.op(kTfliteDequantize, {x}, {real});
  choose(file, {sum_is_small(file, real), x}, {y});
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  using Codes = std::vector<int8_t>;
  CHECK(run_import<int8_t>(import, Codes{7, -9}) == Codes{7, -9});   // 2 - 6
  CHECK(run_import<int8_t>(import, Codes{20, -9}) == Codes{20, 3});  // 8.5 - 6
}

TEST_CASE("an IF that a run decides chooses between integers") {
  // With s32 as they come in, or as a run computes them, and constants.
  using Integers = std::vector<int32_t>;
  for (const bool computes : {false, true}) {
    TfliteBuilder file;
    int32_t n = file.tensor("n", kTfliteInt32, {2});
    file.end_graph({n}, {n, n});
    n = file.tensor("n", kTfliteInt32, {2});
    const int32_t other = computes ? file.tensor("other", kTfliteInt32, {2})
                                   : file.constant("other", kTfliteInt32, {2}, Integers{-7, 1 << 24});
    if (computes)
      file.op(kTfliteAdd, {n, file.constant("one", kTfliteInt32, {1}, Integers{1})}, {other},
              Options::AddOptions, tflite::CreateAddOptions(file.fbb()).Union());
    file.end_graph({n}, {other, n});
    n = file.tensor("n", kTfliteInt32, {2});
    const int32_t real = file.tensor("real", kTfliteFloat, {2}), y = file.tensor("y", kTfliteInt32, {2}),
                  same = file.tensor("same", kTfliteInt32, {2});
    file.op(kCast, {n}, {real});
    choose(file, {sum_is_small(file, real), n}, {y, same});
    Import import(file.finish({n}, {y, same}));
    REQUIRE_MESSAGE(import.good(), import.message());
    RunningModel model(import.write());
    REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
    CHECK(model.run<int32_t>(Integers{4, -9}) == Integers{4, -9});
    CHECK(model.run<int32_t>(Integers{4, 9}) == (computes ? Integers{5, 10} : Integers{-7, 1 << 24}));
    CHECK(import.output(1).dtype == DType::kS32);
  }
  TfliteBuilder file;
  for (const int32_t value : {5, (1 << 24) + 1}) {
    const int32_t given = file.constant("given", kTfliteInt32, {}, std::vector<int32_t>{value});
    file.end_graph({}, {given});
  }
  const int32_t x = file.tensor("x", kTfliteFloat, {2}), y = file.tensor("y", kTfliteInt32, {});
  choose(file, {sum_is_small(file, x)}, {y});
  CHECK(Import(file.finish({x}, {y})).says("constant 'given' holds 16777217: a run chooses"));
}

TEST_CASE("an IF that a run decides chooses between constants") {
  TfliteBuilder file;
  for (const float value : {2.0f, -3.0f}) {
    const int32_t number = file.constant("number", kTfliteFloat, {}, Reals{value}),
                  list = file.constant("list", kTfliteFloat, {2}, Reals{value, 8});
    file.end_graph({}, {number, list});
  }
  const int32_t x = file.tensor("x", kTfliteFloat, {2}), number = file.tensor("number", kTfliteFloat, {}),
                list = file.tensor("list", kTfliteFloat, {2}), y = file.tensor("y", kTfliteFloat, {2});
  choose(file, {sum_is_small(file, x)}, {number, list});
  multiply(file, list, number, y);
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, Reals{1, -5}) == Reals{4, 16});
  CHECK(run_import<float>(import, Reals{1, 5}) == Reals{9, -24});
}

TEST_CASE("a choice leaves its constants as they are for others") {
  TfliteBuilder file;
  for (const bool is_first : {true, false}) {
    const int32_t c = file.tensor("c", kTfliteFloat, {2}), x = file.tensor("x", kTfliteFloat, {2});
    file.end_graph({c, x}, {is_first ? c : x});
  }
  const int32_t x = file.tensor("x", kTfliteFloat, {2}), c = file.tensor("c", kTfliteFloat, {2}),
                chosen = file.tensor("chosen", kTfliteFloat, {2}),
                rest = file.tensor("rest", kTfliteFloat, {2}), y = file.tensor("y", kTfliteFloat, {2});
  // Computed while the file is read, and known as one constant from there on.
  multiply(file, file.constant("c0", kTfliteFloat, {2}, Reals{4, INFINITY}),
           file.constant("c1", kTfliteFloat, {2}, Reals{2, 1}), c);
  choose(file, {sum_is_small(file, x, {1, 1, 1}), c, x}, {chosen});
  file.op(kTfliteAdd, {x, c}, {rest}, Options::AddOptions, tflite::CreateAddOptions(file.fbb()).Union());
  file.op(kSub, {rest, chosen}, {y}, Options::SubOptions, tflite::CreateSubOptions(file.fbb()).Union());
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, Reals{1, -5})[0] == 1);
  CHECK(run_import<float>(import, Reals{1, 5})[0] == 8);
  // Each operator bounds infinities in its own way.
  CHECK(import.notes("node 'chosen' (IF): infinities in the constant 'c' are the largest floats here"));
  CHECK(import.notes("node 'rest' (ADD): infinities of constant 'c' are 1.3e30 here"));
}

TEST_CASE("graphs that a run decides between use no variables") {
  const auto refused = [](bool first_writes) {
    TfliteBuilder file;
    const auto handle = [&] {
      const int32_t made = file.tensor("handle", kTfliteResource, {});
      file.op(kVarHandle, {}, {made}, Options::VarHandleOptions,
              tflite::CreateVarHandleOptions(file.fbb(), 0, file.fbb().CreateString("v")).Union());
      return made;
    };
    int32_t t = file.tensor("t", kTfliteFloat, {2}), r = file.tensor("r", kTfliteFloat, {2});
    if (first_writes) file.op(kAssignVariable, {handle(), t}, {});
    file.end_graph({t, r}, {t});
    t = file.tensor("t", kTfliteFloat, {2}), r = file.tensor("r", kTfliteFloat, {2});
    const int32_t v = handle(), old = file.tensor("old", kTfliteFloat, {2});
    file.op(kReadVariable, {v}, {old});
    file.op(kAssignVariable, {v, first_writes ? r : t}, {});
    file.end_graph({t, r}, {old});
    t = file.tensor("t", kTfliteFloat, {2}), r = file.tensor("r", kTfliteFloat, {2});
    const int32_t y = file.tensor("y", kTfliteFloat, {2});
    file.op(kReadVariable, {handle()}, {r});
    choose(file, {sum_is_small(file, t), t, r}, {y});
    return Import(file.finish({t}, {y}))
        .says("its condition is computed by a run, and its graphs use variables");
  };
  CHECK(refused(false));
  CHECK(refused(true));  // the second one leaves the variable as it was before the first
}

TEST_CASE("an IF that a run decides is as large as the file says, and not larger") {
  Import import(many_choices(127, 256, 256));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.count(Op::kWhere) == 127);
  CHECK(Import(many_choices(128, 256, 256))
            .says("what this and earlier operators call has more than 32768 operators together"));
  CHECK(Import(many_choices(1, 257, 257))
            .says("the file has 257 outputs of a called graph; at most 256 are supported"));
  // Before it chooses: these would not fit.
  TfliteBuilder file;
  add_choosing_graphs(file, {2}, {3}, {0, 0}, {1, 1});
  const int32_t a = file.tensor("a", kTfliteFloat, {2}), b = file.tensor("b", kTfliteFloat, {3}),
                y = file.tensor("y", kTfliteFloat, {2});
  choose(file, {sum_is_small(file, a), a, b}, {y});
  CHECK(Import(file.finish({a, b}, {y})).says("the graph that it calls has 2 outputs, it has 1"));
  TfliteBuilder wide;
  wide.end_graph(std::vector<int32_t>(257, wide.tensor("a", kTfliteFloat, {2})), {0});
  const int32_t x = wide.tensor("x", kTfliteFloat, {2}), z = wide.tensor("z", kTfliteFloat, {2});
  wide.op(kCall, {x}, {z}, Options::CallOptions, tflite::CreateCallOptions(wide.fbb(), 1).Union());
  CHECK(Import(wide.finish({x}, {z})).says("the file has 257 inputs of a called graph; at most 256"));
}

}  // namespace intaglio::test::import_tflite_decisions_test

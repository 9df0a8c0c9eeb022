// ONNX operators that others compute.
#include "tests/support/fused_onnx.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

using Whole = std::vector<int64_t>;

// f(x) of integers -9 to 9 times 37 as FP32 goes in and comes out.
Whole of_integers(const std::string& op, int64_t constant, const char* direction = nullptr) {
  OnnxBuilder file(18);
  file.input("x", {19});
  file.integers("c", {constant});
  set(file.node("Cast", {"x"}, "i"), "to", int64_t{Type::INT64});
  std::vector<std::string> inputs{"i", "c"};
  if (op == "BitwiseNot") inputs.pop_back();
  auto& node = file.node(op, inputs, "b");
  if (direction != nullptr) set(node, "direction", direction);
  set(file.node("Cast", {"b"}, "y"), "to", int64_t{Type::FLOAT});
  file.output("y");
  Reals x;
  for (int32_t i = -9; i <= 9; ++i) x.push_back(static_cast<float>(37 * i));
  const Reals y = run_file(file.bytes(), x);
  return {y.begin(), y.end()};
}

template <typename Function>
Whole expected(Function function) {
  Whole list;
  for (int64_t i = -9; i <= 9; ++i) list.push_back(function(37 * i));
  return list;
}

// Sums of patches where they lie.
Reals summed(const Reals& x, int64_t channels, const Ints& sides, const Ints& block, const Ints& strides,
             const Ints& dilations, const Ints& pads) {
  Reals y(static_cast<size_t>(channels * sides[0] * sides[1]), 0.0f);
  Ints places;
  for (size_t i = 0; i < 2; ++i)
    places.push_back((sides[i] + pads[i] + pads[2 + i] - dilations[i] * (block[i] - 1) - 1) / strides[i] + 1);
  size_t n = 0;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t tap = 0; tap < block[0] * block[1]; ++tap)
      for (int64_t place = 0; place < places[0] * places[1]; ++place) {
        const int64_t row = place / places[1] * strides[0] + tap / block[1] * dilations[0] - pads[0],
                      column = place % places[1] * strides[1] + tap % block[1] * dilations[1] - pads[1];
        const float value = x[n++];
        if (row >= 0 && row < sides[0] && column >= 0 && column < sides[1])
          y[static_cast<size_t>((c * sides[0] + row) * sides[1] + column)] += value;
      }
  REQUIRE(n == x.size());
  return y;
}

}  // namespace

TEST_CASE("bits of integers") {
  for (const int64_t mask : {0, 1, 90, 255, -1, -8, -91}) {
    CAPTURE(mask);
    CHECK(of_integers("BitwiseAnd", mask) == expected([&](int64_t x) { return x & mask; }));
    CHECK(of_integers("BitwiseOr", mask) == expected([&](int64_t x) { return x | mask; }));
    CHECK(of_integers("BitwiseXor", mask) == expected([&](int64_t x) { return x ^ mask; }));
  }
  CHECK(of_integers("BitwiseNot", 0) == expected([](int64_t x) { return ~x; }));
  CHECK(of_integers("BitShift", 3, "LEFT") == expected([](int64_t x) { return x * 8; }));
  CHECK(of_integers("BitShift", 3, "RIGHT") == expected([](int64_t x) { return x >> 3; }));
  OnnxBuilder file(18);
  file.input("x", {4});
  file.integers("a", {12, 10, 7, 1});
  file.integers("b", {10});
  file.node("BitwiseXor", {"a", "b"}, "c");
  file.node("Cast", {"c"}, "r");
  set(*file.graph().mutable_node(1), "to", int64_t{Type::FLOAT});
  file.node("Add", {"x", "r"}, "y");
  file.output("y");
  CHECK(run_file(file.bytes(), {0, 0, 0, 0}) == Reals{6, 0, 13, 11});
}

TEST_CASE("patches are summed where they lie") {
  struct Case {
    Ints sides, block, strides, dilations, pads;
  };
  for (const Case& c : {Case{{6, 5}, {3, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
                        Case{{9, 8}, {3, 2}, {2, 1}, {1, 2}, {1, 0, 0, 1}},
                        Case{{10, 10}, {2, 2}, {3, 3}, {1, 1}, {0, 0, 0, 0}}}) {
    int64_t places = 1;
    for (size_t i = 0; i < 2; ++i)
      places *=
          (c.sides[i] + c.pads[i] + c.pads[2 + i] - c.dilations[i] * (c.block[i] - 1) - 1) / c.strides[i] + 1;
    OnnxBuilder file(18);
    const int64_t rows = 2 * c.block[0] * c.block[1];
    file.input("x", {1, rows, places});
    file.integers("sides", c.sides);
    file.integers("block", c.block);
    auto& node = file.node("Col2Im", {"x", "sides", "block"}, "y");
    set(node, "strides", c.strides);
    set(node, "dilations", c.dilations);
    set(node, "pads", c.pads);
    file.output("y");
    Random random(4);
    const Reals x = random.reals(static_cast<size_t>(rows * places), -1, 1);
    const Reals y = run_file(file.bytes(), x),
                sums = summed(x, 2, c.sides, c.block, c.strides, c.dilations, c.pads);
    REQUIRE(y.size() == sums.size());
    for (size_t i = 0; i < y.size(); ++i) CHECK(y[i] == doctest::Approx(sums[i]).epsilon(1e-5));
  }
}

TEST_CASE("places of the greatest, and numbers put back to them") {
  OnnxBuilder file(17);
  file.input("x", {1, 1, 4, 6});
  auto& pool = file.node("MaxPool", {"x"}, "p");
  pool.add_output("i");
  auto& back = file.node("MaxUnpool", {"p", "i"}, "u");
  for (auto* node : {&pool, &back}) {
    set(*node, "kernel_shape", Ints{2, 3});
    set(*node, "strides", Ints{2, 3});
  }
  set(file.node("Cast", {"i"}, "y"), "to", int64_t{Type::FLOAT});
  file.output("u");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  model.set_input(Reals{1, 2, 3, 9, 0, 0, 4, 8, 5, 9, 1, 2, -1, -2, -3, 0, 0, 0, -4, -5, -6, 0, 0, 7});
  model.session().run();
  CHECK(model.output<float>(0) ==
        Reals{0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7});
  CHECK(model.output<float>(1) == Reals{7, 3, 12, 23});
  set(pool, "pads", Ints{1, 1, 1, 1});
  CHECK(Import(file.bytes()).says("places of the greatest are not supported with pads"));
}

TEST_CASE("rows turned round, the greatest alone, and what is left of a mean") {
  {
    OnnxBuilder file(17);
    file.input("x", {3, 2});
    file.integers("n", {3, 2});
    file.node("ReverseSequence", {"x", "n"}, "y");
    file.output("y");
    CHECK(run_file(file.bytes(), {1, 2, 3, 4, 5, 6}) == Reals{5, 4, 3, 2, 1, 6});
  }
  {
    OnnxBuilder file(17);
    file.input("x", {2, 3});
    file.node("Hardmax", {"x"}, "y");
    file.output("y");
    CHECK(run_file(file.bytes(), {1, 5, 5, 0, -1, -2}) == Reals{0, 1, 0, 1, 0, 0});
  }
  OnnxBuilder file(17);
  file.input("x", {1, 1, 2, 2});
  file.node("MeanVarianceNormalization", {"x"}, "y");
  file.output("y");
  const Reals y = run_file(file.bytes(), {1, 1, 3, 3});
  for (size_t i = 0; i < 4; ++i) CHECK(y[i] == doctest::Approx(i < 2 ? -1.0 : 1.0));
}

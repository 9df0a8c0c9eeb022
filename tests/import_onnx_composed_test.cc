// ONNX operators that others compute.
#include "tests/support/fused_onnx.h"

namespace intaglio::test::import_onnx_composed_test {
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

void whole(OnnxBuilder& file, const std::string& name, const Ints& dims, const Ints& values) {
  auto& tensor = file.integers(name, values);
  tensor.dims.clear();
  for (const int64_t dim : dims) tensor.dims.push_back(dim);
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
}

TEST_CASE("bits of constants, of shapes that fit each other and of codes") {
  const auto folded = [](const std::string& op, const Ints& a, const Ints& b,
                         const char* direction = nullptr) {
    OnnxBuilder file(18);
    file.input("x", {2, 2});
    whole(file, "a", {2, 1}, a);
    std::vector<std::string> inputs{"a", "b"};
    if (b.empty()) inputs.pop_back();
    whole(file, "b", {1, 2}, b.empty() ? Ints{0, 0} : b);
    auto& node = file.node(op, inputs, "c");
    if (direction != nullptr) set(node, "direction", direction);
    set(file.node("Cast", {"c"}, "r"), "to", int64_t{Type::FLOAT});
    file.node("Add", {"x", "r"}, "y");
    file.output("y");
    Import import(file.bytes());
    if (!import.good()) MESSAGE(import.message());
    CHECK(import.count(Op::kAdd) == 1);
    CHECK(import.graph().nodes.size() == 1);
    return run_import<float>(import, Reals{0, 0, 0, 0});
  };
  CHECK(folded("BitwiseAnd", {12, -7}, {10, 9}) == Reals{8, 8, 8, 9});
  CHECK(folded("BitwiseOr", {12, -7}, {10, 9}) == Reals{14, 13, -5, -7});
  CHECK(folded("BitwiseXor", {12, -7}, {10, 9}) == Reals{6, 5, -13, -16});
  CHECK(folded("BitwiseNot", {12, -7}, {}) == Reals{-13, -13, 6, 6});
  CHECK(folded("BitShift", {12, -7}, {1, 2}, "RIGHT") == Reals{6, 3, -4, -2});
  CHECK(folded("BitShift", {12, -7}, {1, 2}, "LEFT") == Reals{24, 48, -14, -28});
  OnnxBuilder file(18);
  file.input("x", {2});
  file.integers("a", {1, 1});
  file.integers("b", {1, 64});
  auto& node = file.node("BitShift", {"a", "b"}, "c");
  set(node, "direction", "LEFT");
  set(file.node("Cast", {"c"}, "r"), "to", int64_t{Type::FLOAT});
  file.node("Add", {"x", "r"}, "y");
  file.output("y");
  CHECK(Import(file.bytes()).says("it shifts by 64 bits; 0 to 63 are supported"));
  node.attribute[0].s = "UP";
  CHECK(Import(file.bytes()).says("its direction 'UP' is not LEFT or RIGHT"));
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
  pool.output.push_back("i");
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
  CHECK(import.count(Op::kMaxUnpool2d) == 1);
  RunningModel model(import.write());
  model.set_input(Reals{1, 2, 3, 9, 0, 0, 4, 8, 5, 9, 1, 2, -1, -2, -3, 0, 0, 0, -4, -5, -6, 0, 0, 7});
  model.session().run();
  CHECK(model.output<float>(0) ==
        Reals{0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7});
  CHECK(model.output<float>(1) == Reals{7, 3, 12, 23});
  set(pool, "pads", Ints{1, 1, 1, 1});
  CHECK(Import(file.bytes()).says("places of the greatest are not supported with pads"));
}

TEST_CASE("numbers put back to their places on codes, whose map has another scale") {
  OnnxBuilder file(17);
  file.input("x", {1, 1, 2, 4});
  file.floats("s", {}, {0.5f});
  file.floats("t", {}, {0.25f});
  whole(file, "zero", {}, {0});
  set(file.node("Cast", {"zero"}, "z"), "to", int64_t{Type::INT8});
  file.node("QuantizeLinear", {"x", "s", "z"}, "q");
  file.node("DequantizeLinear", {"q", "s", "z"}, "d");
  auto& pool = file.node("MaxPool", {"d"}, "p");
  pool.output.push_back("i");
  file.node("QuantizeLinear", {"p", "t", "z"}, "pq");
  file.node("DequantizeLinear", {"pq", "t", "z"}, "pd");
  auto& back = file.node("MaxUnpool", {"pd", "i"}, "u");
  for (auto* node : {&pool, &back}) {
    set(*node, "kernel_shape", Ints{2, 2});
    set(*node, "strides", Ints{2, 2});
  }
  file.node("QuantizeLinear", {"u", "t", "z"}, "uq");
  file.node("DequantizeLinear", {"uq", "t", "z"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.count(Op::kQuantize) == 1);
  CHECK(import.count(Op::kDequantize) == 1);
  CHECK(run_import<float>(import, Reals{1, 2, -3, -4, 0.5f, 0, -1.5f, -1}) == Reals{0, 2, 0, 0, 0, 0, 0, -1});
}

TEST_CASE("windows and places that do not fit are refused") {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const auto unpool = [](const Ints& shape, const Ints& kernel, const Ints& places = {}) {
    OnnxBuilder file(17);
    file.input("x", shape);
    if (places.empty()) {
      file.input("i", shape);
      set_type(file, 1, Type::INT64);
    } else {
      whole(file, "i", shape, places);
    }
    auto& node = file.node("MaxUnpool", {"x", "i"}, "y");
    set(node, "kernel_shape", kernel);
    set(node, "strides", kernel);
    file.output("y");
    return Import(file.bytes()).message();
  };
  const auto says = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  CHECK(unpool({1, 1, 2, 2}, {2, 3}).empty());
  says(unpool({1, 1, 4, 4}, {1, kHuge}), "along axis 3 give more than 2^24 elements");
  says(unpool({1, 1, 4, 4}, {kHuge, 1}), "along axis 2 give more than 2^24 elements");
  says(unpool({1, 1, 4, 4}, {1 << 22, 1 << 22}), "it has more than 2^24 elements");
  CHECK(unpool({1, 1, 1, 2}, {2, 2}, {5, 2}).empty());
  says(unpool({1, 1, 1, 2}, {2, 2}, {5, 1}),
       "its index 1 lies outside of window 1, whose first element is 2");
  says(unpool({1, 1, 1, 2}, {2, 2}, {2, 3}), "its index 2 lies outside of window 0");
  says(unpool({1, 2, 1, 1}, {2, 2}, {3, 8}),
       "its index 8 lies outside of window 1, whose first element is 4");
  says(unpool({1, 1, 1, 2}, {2, 2}, {INT64_MIN, 2}), "lies outside of window 0");
  OnnxBuilder empty(17);
  empty.input("x", {1});
  empty.floats("none", {1, 1, 0, 4}, {});
  auto& pool = empty.node("MaxPool", {"none"}, "p");
  pool.output.push_back("y");
  set(pool, "kernel_shape", Ints{2, 2});
  set(pool, "strides", Ints{2, 2});
  empty.output("y");
  says(Import(empty.bytes()).message(), "its input has the shape [1, 1, 0, 4]");
  const auto col2im = [](int64_t side, int64_t block) {
    OnnxBuilder file(18);
    file.input("x", {1, 4, 4});
    file.integers("sides", {side, 3});
    file.integers("block", {block, 2});
    auto& node = file.node("Col2Im", {"x", "sides", "block"}, "y");
    set(node, "pads", Ints{1, 0, 1, 0});
    file.output("y");
    return Import(file.bytes()).message();
  };
  for (const int64_t side : {INT64_MAX, INT64_MIN, int64_t{0}})
    says(col2im(side, 2), "its picture has a side of " + std::to_string(side));
  says(col2im(1, 4), "its block does not fit into its picture, which has a side of 1");
}

TEST_CASE("rows turned round, the greatest alone, and what is left of a mean") {
  {
    OnnxBuilder file(17);
    file.input("x", {3, 2});
    file.integers("n", {3, 2});
    auto& node = file.node("ReverseSequence", {"x", "n"}, "y");
    file.output("y");
    CHECK(run_file(file.bytes(), {1, 2, 3, 4, 5, 6}) == Reals{5, 4, 3, 2, 1, 6});
    set(node, "batch_axis", int64_t{0});
    CHECK(Import(file.bytes()).says("time_axis 0 and batch_axis 0 are not allowed"));
    set(node, "time_axis", int64_t{1});
    CHECK(Import(file.bytes()).says("it has 2 constant lengths for 3 rows"));
    file.graph().initializer[0].dims[0] = 3;
    file.graph().initializer[0].int64_data.push_back(1);
    CHECK(Import(file.bytes()).says("a length is 3 of 2 steps"));
    file.graph().initializer[0].int64_data[0] = 1;
    CHECK(run_file(file.bytes(), {1, 2, 3, 4, 5, 6}) == Reals{1, 2, 4, 3, 5, 6});
  }
  const auto hardmax = [](int64_t opset, const Ints& shape, int64_t axis) {
    OnnxBuilder file(opset);
    file.input("x", shape);
    set(file.node("Hardmax", {"x"}, "y"), "axis", axis);
    file.output("y");
    return file;
  };
  const Reals x{1, 5, 5, 0, -1, -2};
  CHECK(run_file(hardmax(17, {2, 3}, -1).bytes(), x) == Reals{0, 1, 0, 1, 0, 0});
  CHECK(run_file(hardmax(17, {2, 3}, 0).bytes(), x) == Reals{1, 1, 1, 0, 0, 0});
  CHECK(run_file(hardmax(11, {2, 3}, 1).bytes(), x) == Reals{0, 1, 0, 1, 0, 0});
  CHECK(Import(hardmax(11, {2, 3, 2}, 1).bytes())
            .says("below opset 13 it is supported along the last axis alone"));
  for (const int64_t opset : {17, 18})
    for (const bool of_rows : {false, true}) {
      CAPTURE(opset);
      OnnxBuilder file(opset);
      file.input("x", {1, 1, 2, 2});
      auto& node = file.node("MeanVarianceNormalization", {"x"}, "y");
      if (of_rows) set(node, "axes", Ints{3});
      file.output("y");
      const Reals y = run_file(file.bytes(), {1, 3, 5, 7});
      // All four: mean 4, deviation the root of 5.
      for (int i = 0; i < 4; ++i)
        CHECK(y[static_cast<size_t>(i)] ==
              doctest::Approx(of_rows ? 2 * (i % 2) - 1 : (2 * i - 3) / std::sqrt(5.0)));
    }
}

}  // namespace intaglio::test::import_onnx_composed_test

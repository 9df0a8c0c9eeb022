// ONNX networks that take or give integers: token numbers, indices, positions, one-hot rows. The expected numbers are
// onnxruntime 1.31's.
#include <algorithm>
#include <cmath>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_integers_test {
namespace {

using Ints = std::vector<int64_t>;
using Reals = std::vector<float>;
using Type = onnx_file::TensorProto;

void input_of(OnnxBuilder& file, const std::string& name, const Ints& dims, Type::DataType type) {
  file.input(name, dims);
  auto& made = file.graph().input[file.graph().input.count() - 1];
  made.type.make().tensor_type.make().elem_type = type;
}

void table_of(OnnxBuilder& file, int64_t rows, int64_t columns) {
  Reals values;
  for (int64_t i = 0; i < rows * columns; ++i) values.push_back(static_cast<float>(i));
  file.floats("table", {rows, columns}, values);
}

}  // namespace

TEST_CASE("an embedding by token numbers; one beyond the table is the nearest") {
  for (const Type::DataType type : {Type::INT64, Type::INT32}) {
    OnnxBuilder file(13);
    input_of(file, "x", {1, 4}, type);
    table_of(file, 5, 2);
    file.node("Gather", {"table", "x"}, "y");
    CHECK(run_file<float>(file.output("y").bytes(), std::vector<int32_t>{4, 0, -2, 99}) ==
          Reals{8, 9, 0, 1, 6, 7, 8, 9});
    Import import(file.bytes());
    CHECK(import.notes("'x' is int64 in the file; here it is int32") == (type == Type::INT64));
    CHECK(import.input().dtype == DType::kS32);
    CHECK(import.output().shape.rank == 3);
  }
}

TEST_CASE("positions and an attention mask, as BERT has them") {
  OnnxBuilder file(11);
  input_of(file, "x", {1, 3}, Type::INT64);
  file.integers("axes", {1});
  set(file.node("Unsqueeze", {"x"}, "a"), "axes", Ints{1});
  set(file.node("Unsqueeze", {"a"}, "b"), "axes", Ints{2});
  set(file.node("Cast", {"b"}, "c"), "to", int64_t{Type::FLOAT});
  file.floats("one", {}, {1});
  file.floats("far", {}, {-10000});
  file.node("Sub", {"one", "c"}, "d");
  file.node("Mul", {"d", "far"}, "y");
  CHECK(run_file<float>(file.output("y").bytes(), std::vector<int32_t>{1, 0, 1}) == Reals{0, -10000, 0});
  Import import(file.bytes());
  CHECK(import.dims(import.output()) == std::vector<int32_t>{1, 1, 1, 3});
}

TEST_CASE("arithmetic on integers, and what comes of it as an index") {
  OnnxBuilder file(13);
  input_of(file, "x", {3}, Type::INT64);
  file.integers("two", {2});
  file.integers("three", {3});
  file.node("Mul", {"x", "two"}, "a");
  file.node("Sub", {"a", "three"}, "b");
  table_of(file, 8, 1);
  file.node("Gather", {"table", "b"}, "y");
  CHECK(run_file<float>(file.output("y").bytes(), std::vector<int32_t>{2, 4, 5}) == Reals{1, 5, 7});
}

TEST_CASE("a quotient of integers goes towards 0, whoever reads it") {
  for (const bool is_constant : {true, false}) {
    OnnxBuilder file(13);
    input_of(file, "x", {6}, Type::INT64);
    file.integers("zero", {0});
    file.integers("divisor", {49});
    file.node("Mul", {"x", "zero"}, "zeros");
    file.node("Add", {"zeros", "divisor"}, "computed");
    file.node("Div", {"x", is_constant ? "divisor" : "computed"}, "q");
    set(file.node("Cast", {"q"}, "real"), "to", int64_t{Type::FLOAT});
    file.floats("half", {}, {0.5f});
    file.node("Mul", {"real", "half"}, "y");
    CHECK(run_file<float>(file.output("y").bytes(), std::vector<int32_t>{0, 48, 49, -50, 97, -98}) ==
          Reals{0, 0, 0.5f, -0.5f, 0.5f, -1});
  }
  OnnxBuilder file(13);
  input_of(file, "x", {3}, Type::INT64);
  file.integers("zero", {0});
  file.node("Div", {"x", "zero"}, "y");
  CHECK(Import(file.output("y").bytes()).says("it divides by 0"));
}

TEST_CASE("sums and means of integers are whole") {
  // A mean of 41 or of 97, so many times, is just below the sum.
  for (const int64_t count : {41, 97}) {
    const float n = static_cast<float>(count);
    // 1 and zeros; 2 everywhere; one number that is a bit more than -2 n.
    const struct {
      std::string kind;
      float of_one, of_twos, of_least;
    } cases[] = {{"ReduceSum", 1, 2 * n, 1 - 2 * n},
                 {"ReduceL1", 1, 2 * n, 2 * n - 1},
                 {"ReduceSumSquare", 1, 4 * n, (2 * n - 1) * (2 * n - 1)},
                 {"ReduceL2", 1, std::floor(2 * std::sqrt(n)), 2 * n - 1},
                 {"ReduceMean", 0, 2, -1}};
    for (const auto& sum : cases) {
      const std::string& kind = sum.kind;  // clang captures no structured binding
      CAPTURE(count);
      CAPTURE(kind);
      OnnxBuilder file(11);
      input_of(file, "x", {1, count}, Type::INT64);
      set(file.node(kind, {"x"}, "sum"), "axes", Ints{1});
      set(file.node("Cast", {"sum"}, "y"), "to", int64_t{Type::FLOAT});
      file.output("y");
      std::vector<int32_t> x(static_cast<size_t>(count), 0);
      x[0] = 1;
      CHECK(run_file<float>(file.bytes(), x) == Reals{sum.of_one});
      x[0] = static_cast<int32_t>(1 - 2 * count);
      CHECK(run_file<float>(file.bytes(), x) == Reals{sum.of_least});
      x.assign(x.size(), 2);
      CHECK(run_file<float>(file.bytes(), x) == Reals{sum.of_twos});
    }
  }
}

TEST_CASE("sums of constant integers are whole, too") {
  for (const char* const kind : {"ReduceL1", "ReduceSumSquare", "ReduceL2"}) {
    OnnxBuilder file(13);
    file.input("x", {1});
    Ints one(97, 0);
    one[0] = 1;
    file.integers("one", one);
    set(file.node(kind, {"one"}, "sum"), "axes", Ints{0});
    set(file.node("Cast", {"sum"}, "real"), "to", int64_t{Type::FLOAT});
    file.node("Mul", {"x", "real"}, "y");
    CHECK(run_file<float>(file.output("y").bytes(), Reals{3}) == Reals{3});
  }
}

TEST_CASE("a sum of a mask in float is whole") {
  for (const bool is_bool : {true, false}) {
    OnnxBuilder file(13);
    input_of(file, "x", {1, 97}, Type::INT64);
    file.integers("axis", {1});
    set(file.node("Cast", {"x"}, "given"), "to", int64_t{is_bool ? Type::BOOL : Type::INT32});
    set(file.node("Cast", {"given"}, "mask"), "to", int64_t{Type::FLOAT});
    file.node("ReduceSum", {"mask", "axis"}, "length");
    set(file.node("Cast", {"length"}, "y"), "to", int64_t{Type::INT64});
    file.output("y");
    for (const int32_t length : {1, 2, 4, 97}) {
      std::vector<int32_t> x(97, 0);
      std::fill_n(x.begin(), length, 1);
      CHECK(run_file<int32_t>(file.bytes(), x) == std::vector<int32_t>{length});
    }
  }
}

TEST_CASE("results of integers leave as int32") {
  OnnxBuilder file(13);
  input_of(file, "x", {3}, Type::INT32);
  file.node("Mul", {"x", "x"}, "y");
  CHECK(run_file<int32_t>(file.output("y").bytes(), std::vector<int32_t>{2, -4, 4000}) ==
        std::vector<int32_t>{4, 16, 16000000});
}

TEST_CASE("Cast: float to integers goes towards 0; integers to bool") {
  {
    OnnxBuilder file(13);
    file.input("x", {5});
    set(file.node("Cast", {"x"}, "y"), "to", int64_t{Type::INT64});
    CHECK(run_file<int32_t>(file.output("y").bytes(), Reals{1.9f, -1.9f, 0.5f, -0.5f, 3}) ==
          std::vector<int32_t>{1, -1, 0, 0, 3});
  }
  OnnxBuilder file(13);
  input_of(file, "x", {4}, Type::INT32);
  set(file.node("Cast", {"x"}, "a"), "to", int64_t{Type::BOOL});
  set(file.node("Cast", {"a"}, "y"), "to", int64_t{Type::FLOAT});
  CHECK(run_file<float>(file.output("y").bytes(), std::vector<int32_t>{0, 1, -7, INT32_MAX}) ==
        Reals{0, 1, 1, 1});
}

TEST_CASE("ArgMax and ArgMin: of equal values the first, or the last where the file says so") {
  const Reals x = {1, 5, 5, 2, 7, 0, 7, 0};
  const struct {
    const char* op;
    int64_t axis, keep, last;
    std::vector<int32_t> expected, dims;
  } cases[] = {
      {"ArgMax", 1, 1, 0, {1, 0}, {2, 1}},    {"ArgMax", -1, 0, 1, {2, 2}, {2}},
      {"ArgMin", 1, 0, 0, {0, 1}, {2}},       {"ArgMin", 1, 0, 1, {0, 3}, {2}},
      {"ArgMax", 0, 0, 0, {1, 0, 1, 0}, {4}},
  };
  for (const auto& c : cases) {
    OnnxBuilder file(13);
    file.input("x", {2, 4});
    auto& node = file.node(c.op, {"x"}, "y");
    set(node, "axis", c.axis);
    set(node, "keepdims", c.keep);
    set(node, "select_last_index", c.last);
    CHECK(run_file<int32_t>(file.output("y").bytes(), x) == c.expected);
    Import import(file.bytes());
    CHECK(import.dims(import.output()) == c.dims);
  }
}

TEST_CASE("ArgMax over the channels of a picture: no Transpose is left") {
  OnnxBuilder file(13);
  file.input("x", {1, 3, 2, 2});
  file.floats("w", {3, 3, 1, 1}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  file.node("Conv", {"x", "w"}, "a");
  auto& node = file.node("ArgMax", {"a"}, "y");
  set(node, "axis", int64_t{1});
  set(node, "keepdims", int64_t{0});
  // As pixels: (1, 2, 3), (9, 0, 9), (4, 5, 4), (0, 0, 0).
  CHECK(run_file<int32_t>(file.output("y").bytes(), Reals{1, 2, 3, 9, 0, 9, 4, 5, 4, 0, 0, 0}) ==
        std::vector<int32_t>{2, 0, 1, 0});
  Import import(file.bytes());
  CHECK(import.count(Op::kTranspose) == 0);
}

TEST_CASE("TopK: values and indices, sorted") {
  for (const bool largest : {true, false}) {
    OnnxBuilder file(13);
    file.input("x", {2, 4});
    file.integers("k", {3});
    auto& node = file.node("TopK", {"x", "k"}, "y");
    node.output.push_back("indices");
    set(node, "axis", int64_t{-1});
    set(node, "largest", int64_t{largest});
    file.output("y");
    file.output("indices");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    RunningModel model(import.write());
    REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
    const Reals values = model.run<float>(Reals{3, 1, 3, 2, -1, -2, -1, -1});
    CHECK(values == (largest ? Reals{3, 3, 2, -1, -1, -1} : Reals{1, 2, 3, -2, -1, -1}));
    CHECK(model.output<int32_t>(1) ==
          (largest ? std::vector<int32_t>{0, 2, 3, 0, 2, 3} : std::vector<int32_t>{1, 3, 0, 1, 0, 2}));
  }
}

TEST_CASE("TopK, OneHot and GatherElements: what does not fit is refused") {
  const auto refused = [](const char* op, const Ints& second, const std::string& says) {
    OnnxBuilder file(13);
    file.input("x", {2, 4});
    file.integers("b", second);
    file.floats("c", {3}, {0, 1, 2});
    std::vector<std::string> inputs = {"x", "b"};
    if (op == std::string("OneHot")) inputs.emplace_back("c");
    file.node(op, inputs, "y");
    file.output("y");
    Import import(file.bytes());
    CHECK_MESSAGE(import.says(says), import.message());
  };
  refused("TopK", {5}, "(TopK): it takes 5 elements of an axis of 4");
  refused("TopK", {0}, "(TopK): it takes 0 elements of an axis of 4");
  refused("TopK", {INT64_MAX}, "(TopK): k 9223372036854775807");
  refused("TopK", {1, 2}, "(TopK): its k must be one number, it has 2");
  refused("OneHot", {0}, "(OneHot): its depth must be one number from 1 to 16777216");
  refused("OneHot", {4}, "(OneHot): its values must be two numbers, off and on; it has 3");
  refused("GatherElements", {1, 2}, "(GatherElements): its indices [2] differ from its input [2, 4]");
  refused("GatherND", {2, 0}, "(GatherND): its index 2 does not exist in axis 0 of [2, 4]");
  refused("GatherND", {0, 0, 0}, "(GatherND): its tuples of 3 indices do not fit [2, 4]");
}

TEST_CASE("OneHot") {
  OnnxBuilder file(13);
  input_of(file, "x", {4}, Type::INT64);
  file.integers("depth", {3});
  file.floats("values", {2}, {-1, 2});
  set(file.node("OneHot", {"x", "depth", "values"}, "y"), "axis", int64_t{0});
  CHECK(run_file<float>(file.output("y").bytes(), std::vector<int32_t>{0, 2, -1, 3}) ==
        Reals{2, -1, -1, -1, -1, -1, -1, -1, -1, 2, 2, -1});
}

TEST_CASE("GatherElements by computed and by constant indices") {
  for (const bool is_constant : {true, false}) {
    OnnxBuilder file(13);
    file.input("x", {2, 3});
    if (is_constant) {
      auto& indices = file.integers("i", {2, 0, 1, 1});
      indices.dims.clear();
      indices.dims.push_back(2);
      indices.dims.push_back(2);
    } else {
      file.integers("k", {2});
      auto& node = file.node("TopK", {"x", "k"}, "values");
      node.output.push_back("i");
    }
    set(file.node("GatherElements", {"x", "i"}, "y"), "axis", int64_t{1});
    CHECK(run_file<float>(file.output("y").bytes(), Reals{1, 2, 3, 6, 5, 4}) ==
          (is_constant ? Reals{3, 1, 5, 5} : Reals{3, 2, 6, 5}));
  }
}

TEST_CASE("GatherND and ScatterND with constant indices") {
  {
    OnnxBuilder file(13);
    file.input("x", {2, 2, 2});
    auto& indices = file.integers("i", {0, 1, 1, -2});
    indices.dims.clear();
    for (const int64_t dim : {2, 2}) indices.dims.push_back(dim);
    file.node("GatherND", {"x", "i"}, "y");
    CHECK(run_file<float>(file.output("y").bytes(), Reals{0, 1, 2, 3, 4, 5, 6, 7}) == Reals{2, 3, 4, 5});
  }
  OnnxBuilder file(13);
  file.input("x", {4, 2});
  auto& indices = file.integers("i", {3, 1, 3});
  indices.dims.clear();
  for (const int64_t dim : {3, 1}) indices.dims.push_back(dim);
  file.floats("u", {3, 2}, {-1, -2, -3, -4, -5, -6});
  file.node("ScatterND", {"x", "i", "u"}, "y");
  CHECK(run_file<float>(file.output("y").bytes(), Reals{0, 1, 2, 3, 4, 5, 6, 7}) ==
        Reals{0, 1, -3, -4, 4, 5, -5, -6});
}

TEST_CASE("uint8 pictures of a float network are float, and pixels") {
  OnnxBuilder file(13);
  input_of(file, "x", {1, 4, 4, 3}, Type::UINT8);
  set(file.node("Cast", {"x"}, "a"), "to", int64_t{Type::FLOAT});
  file.floats("scale", {}, {0.5f});
  file.node("Mul", {"a", "scale"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.input().dtype == DType::kF32);
  CHECK(import.notes("'x' is uint8 in the file; here it is float, with the same numbers"));
  CHECK(import.notes("'x' takes pictures: its numbers are the pixels, 0 to 255"));
  REQUIRE(import.graph().images.size() == 1);
  CHECK(import.graph().images[0].norm[2] == 1.0f);
  Reals x(48, 255.0f);
  CHECK(run_import<float>(import, x) == Reals(48, 127.5f));
}

TEST_CASE("uint8 inputs of a quantized network are codes") {
  OnnxBuilder file(13);
  input_of(file, "x", {1, 2}, Type::UINT8);
  file.floats("s", {}, {0.5f});
  auto& zero = file.integers("z", {3});
  zero.dims.clear();
  zero.int64_data.clear();
  zero.data_type = Type::UINT8;
  zero.int32_data.push_back(3);
  file.node("DequantizeLinear", {"x", "s", "z"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.input().dtype == DType::kS8);
  CHECK(import.input().quantization.zero_point == -125);
  CHECK(import.count(Op::kLookup) == 0);
  CHECK(run_import<float>(import, std::vector<int8_t>{-128, 127}) == Reals{-1.5f, 126.0f});
}

TEST_CASE("inputs of other types are refused by name") {
  OnnxBuilder file(13);
  input_of(file, "x", {2}, Type::UINT16);
  file.node("Identity", {"x"}, "y");
  file.output("y");
  CHECK(Import(file.bytes())
            .says("input 'x' holds uint16; float, float16, double, int8, uint8, int32, int64 and bool"));
}

TEST_CASE("an output that is a constant") {
  OnnxBuilder file(13);
  file.input("x", {2});
  file.node("Relu", {"x"}, "y");
  file.floats("c", {2, 1}, {4, 5});
  file.integers("n", {7, -8});
  for (const char* const name : {"y", "c", "n"}) file.output(name);
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
  CHECK(model.run<float>(Reals{-1, 2}) == Reals{0, 2});
  CHECK(model.output<float>(1) == Reals{4, 5});
  CHECK(model.output<int32_t>(2) == std::vector<int32_t>{7, -8});
}

TEST_CASE("an integer that FP32 does not hold is refused") {
  OnnxBuilder file(13);
  input_of(file, "x", {2}, Type::INT64);
  file.integers("c", {16777217});
  file.node("Add", {"x", "c"}, "y");
  file.output("y");
  CHECK(Import(file.bytes()).says("constant 'c' holds 16777217, which float does not hold"));
}

TEST_CASE("an integer that FP32 rounds up to 2^63 is refused") {
  OnnxBuilder file(13);
  input_of(file, "x", {2}, Type::INT64);
  file.integers("c", {INT64_MAX - 1});
  file.node("Add", {"x", "c"}, "y");
  file.output("y");
  CHECK(Import(file.bytes()).says("constant 'c' holds 9223372036854775806, which float does not hold"));
}

}  // namespace intaglio::test::import_onnx_integers_test

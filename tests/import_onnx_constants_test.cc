// Inputs of ONNX files that the user says are constants.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_constants_test {
namespace {

// A file with the input x [1, 2, 3], and n of this type and these dimensions.
OnnxBuilder with_input(int32_t type, const std::vector<int64_t>& dims, bool has_shape = true) {
  OnnxBuilder file;
  file.input("x", {1, 2, 3});
  auto& input = file.graph().input.add();
  input.name = "n";
  auto& tensor = input.type.make().tensor_type.make();
  tensor.elem_type = type;
  if (has_shape) tensor.shape.make();
  for (const int64_t dim : dims) {
    auto& made = tensor.shape.make().dim.add();
    if (dim > 0) made.dim_value = dim;
  }
  return file;
}

ImportOptions given(const std::vector<float>& values, const std::vector<int32_t>& dims = {}) {
  ImportOptions options;
  options.constants = {{"n", dims, values}};
  return options;
}

}  // namespace

TEST_CASE("an input that is given as a constant decides shapes and branches, and is no input") {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{3}, std::vector<int64_t>{0}}) {
    OnnxBuilder file = with_input(onnx_file::TensorProto::INT64, dims);
    file.node("Reshape", {"x", "n"}, "y");
    file.output("y");
    Import import(file.bytes(), given({3, 1, 2}));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.graph().inputs.size() == 1);
    CHECK(import.dims(import.output()) == std::vector<int32_t>{3, 1, 2});
  }
  for (const float rate : {16000.0f, 8000.0f}) {
    OnnxBuilder file = with_input(onnx_file::TensorProto::INT64, {});
    file.integers("wide", {16000}).dims.clear();
    file.node("Equal", {"n", "wide"}, "is_wide");
    auto& choice = file.node("If", {"is_wide"}, "y");
    for (const bool first : {true, false}) {
      auto& attribute = choice.attribute.add();
      attribute.name = first ? "then_branch" : "else_branch";
      attribute.type = onnx_file::AttributeProto::GRAPH;
      auto& node = attribute.g.make().node.add();
      node.op_type = first ? "Abs" : "Neg";
      node.input.push_back("x");
      node.output.push_back("z");
      attribute.g.make().output.add().name = "z";
    }
    file.output("y");
    Import import(file.bytes(), given({rate}));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(run_import<float>(import, std::vector<float>{1, -2, 3, -4, 5, -6})[0] ==
          (rate == 16000.0f ? 1.0f : -1.0f));
  }
}

TEST_CASE("a constant input takes one number for all, a list, or an array with open dimensions") {
  const auto sum = [](const std::vector<int64_t>& dims, bool has_shape, const ImportOptions& options) {
    OnnxBuilder file = with_input(onnx_file::TensorProto::FLOAT, dims, has_shape);
    file.node("Add", {"x", "n"}, "y");
    file.output("y");
    Import import(file.bytes(), options);
    REQUIRE_MESSAGE(import.good(), import.message());
    return run_import<float>(import, std::vector<float>{0, 0, 0, 0, 0, 0});
  };
  CHECK(sum({2, 3}, true, given({7})) == std::vector<float>{7, 7, 7, 7, 7, 7});
  CHECK(sum({2, 3}, true, given({1, 2, 3, 4, 5, 6})) == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(sum({0, 3}, true, given({1, 2, 3, 4, 5, 6})) == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(sum({0, 0}, true, given({1, 2}, {2, 1})) == std::vector<float>{1, 1, 1, 2, 2, 2});
  CHECK(sum({}, false, given({1, 2, 3})) == std::vector<float>{1, 2, 3, 1, 2, 3});
  CHECK(sum({}, false, given({4})) == std::vector<float>{4, 4, 4, 4, 4, 4});
}

TEST_CASE("constants that do not fit their input are refused, and what must be one says so") {
  const auto message = [](int32_t type, const std::vector<int64_t>& dims, const ImportOptions& options) {
    OnnxBuilder file = with_input(type, dims);
    file.node("Reshape", {"x", "n"}, "y");
    file.output("y");
    return Import(file.bytes(), options).message();
  };
  const auto says = [](const std::string& text, const char* part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  constexpr int32_t kInt64 = onnx_file::TensorProto::INT64;
  says(message(kInt64, {3}, given({1, 2})),
       "--constant n gives 2 values, which do not fit the input's shape [3]");
  says(message(kInt64, {0, 0}, given({1, 2})), "--constant n gives 2 values");
  says(message(kInt64, {2, 3}, given({1, 2, 3, 4, 5, 6}, {3, 2})),
       "--constant n gives 6 values, which do not fit the input's shape [2, 3]");
  says(message(kInt64, {2, 3}, given({1, 2, 3, 4, 5, 6}, {6})), "do not fit the input's shape [2, 3]");
  says(message(kInt64, {3}, given({1, 2, 0.5f})), "0.5 is none of 24 bits");
  says(message(kInt64, {3}, {}), "if it is the same in each run, import with --constant n=FILE.npy");
  ImportOptions other;
  other.constants = {{"m", {}, {1}}};
  says(message(kInt64, {3}, other),
       "--constant names the input 'm', which the model does not have; it has 'x', 'n'");
}

TEST_CASE("an input that is a single number has one axis here") {
  OnnxBuilder file = with_input(onnx_file::TensorProto::FLOAT, {});
  file.node("Mul", {"x", "n"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.dims(import.input(1)) == std::vector<int32_t>{1});
}

}  // namespace intaglio::test::import_onnx_constants_test

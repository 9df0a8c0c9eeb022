// One node of an ONNX file as its handler sees it: each access by itself, with what it refuses.
#include "importers/onnx/onnx_op.h"

#include "tests/support/thrown.h"

namespace intaglio::test::import_onnx_op_test {

using namespace importers;
using importers::Shape;
namespace onnx_file = intaglio::onnx_file;
using onnx_file::AttributeProto;
using onnx_file::NodeProto;
using onnx_file::TensorProto;

namespace {

using Reals = std::vector<float>;
using Integers = std::vector<int64_t>;

// A node with inputs a, b, ... and an output y; values are added by name.
struct OneNode {
  explicit OneNode(int inputs = 1) {
    file.draft = &draft;
    node.op_type = "Test";
    for (int i = 0; i < inputs; ++i) node.input.push_back(std::string(1, static_cast<char>('a' + i)));
    node.output.push_back("y");
  }
  TensorProto& constant(const std::string& name, TensorProto::DataType type, const Integers& dims) {
    tensors.push_back(std::make_unique<TensorProto>());
    tensors.back()->data_type = type;
    for (const int64_t dim : dims) tensors.back()->dims.push_back(dim);
    file.values[name] = {-1, tensors.back().get(), false, false, {}, {}};
    return *tensors.back();
  }
  OnnxOp op() { return {file, node}; }

  Draft draft;
  OnnxFile file;
  NodeProto node;
  std::vector<std::unique_ptr<TensorProto>> tensors;
};

template <typename T>
void set_raw(TensorProto& tensor, const std::vector<T>& values) {
  tensor.raw_data.set(values.data(), values.size() * sizeof(T));
}

AttributeProto& attribute(OneNode& one, const std::string& name, AttributeProto::AttributeType type) {
  AttributeProto& made = one.node.attribute.add();
  made.name = name;
  made.type = type;
  return made;
}

}  // namespace

TEST_CASE("names, inputs and their number") {
  OneNode one(3);
  CHECK(one.op().name() == "y");
  one.node.name = "n";
  CHECK(one.op().name() == "n");
  one.node.input[1] = "";
  const OnnxOp op = one.op();
  CHECK(op.has_input(0));
  CHECK(!op.has_input(1));
  CHECK(op.has_input(2));
  CHECK(!op.has_input(3));
  const auto says = [&](int least, int most) { return thrown([&] { op.check_inputs(least, most); }); };
  CHECK(says(3, 3).empty());
  CHECK(says(1, 3).empty());
  CHECK(says(3, 4).empty());
  CHECK(says(1, 2) == "it has 3 inputs where 1 to 2 are expected");
  CHECK(says(4, 5) == "it has 3 inputs where 4 to 5 are expected");
  CHECK(thrown([&] { (void)op.is_constant(1); }) == "input 1 is missing");
  CHECK(thrown([&] { (void)op.is_constant(3); }) == "input 3 is missing");
  CHECK(thrown([&] { (void)op.is_constant(2); }) == "input 2 ('c') is read before anything writes it");
  one.file.values["a"].failed = true;
  CHECK_THROWS_AS((void)op.is_constant(0), ReadsFailed);
  one.node.output.clear();
  CHECK(thrown([&] { (void)one.op(); }) == "it has no output");
  one.node.output.push_back("");
  CHECK(thrown([&] { (void)one.op(); }) == "it has no output");
}

TEST_CASE("constants and activations are told apart") {
  OneNode one(3);
  one.constant("a", TensorProto::DOUBLE, {1});
  one.file.values["b"].tensor = add_activation(one.draft, "b", intaglio::DType::kF32, {2});
  one.file.values["c"].tensor = add_activation(one.draft, "c", intaglio::DType::kS8, {2});
  OnnxOp op = one.op();
  CHECK(op.is_constant(0));
  CHECK(!op.is_constant(1));
  CHECK(op.is_constant_of(0, TensorProto::DOUBLE));
  CHECK(!op.is_constant_of(0, TensorProto::FLOAT));
  CHECK(!op.is_constant_of(1, TensorProto::FLOAT));
  CHECK(op.is_constant_of_reals(0));
  CHECK(!op.is_constant_of_reals(1));
  CHECK(!op.all_constant());
  CHECK(op.activation(1) == one.file.values["b"].tensor);
  CHECK(op.activation_or_codes(2) == one.file.values["c"].tensor);
  CHECK(thrown([&] { (void)op.activation(2); }) ==
        "input 2 ('c') holds int8 codes; a DequantizeLinear must stand between");
  CHECK(thrown([&] { (void)op.activation(0); }) == "input 0 ('a') is a constant");
  CHECK(thrown([&] { (void)op.activation_or_codes(0); }) == "input 0 ('a') is a constant");
  CHECK(thrown([&] { (void)op.floats(1); }) == "input 'b' must be a constant");
  CHECK(thrown([&] { (void)op.integers(1); }) == "input 'b' must be a constant");
  one.node.input[1] = "";
  one.node.input[2] = "a";
  CHECK(one.op().all_constant());
  for (const auto type :
       {TensorProto::FLOAT, TensorProto::DOUBLE, TensorProto::FLOAT16, TensorProto::BFLOAT16})
    CHECK(is_onnx_real(type));
  for (const auto type : {TensorProto::INT8, TensorProto::INT64, TensorProto::BOOL, TensorProto::STRING,
                          TensorProto::UNDEFINED})
    CHECK(!is_onnx_real(type));
}

TEST_CASE("constants of every type, in raw bytes and in fields") {
  OneNode one(1);
  const auto floats = [&] { return one.op().floats(0); };
  const auto integers = [&] { return one.op().integers(0); };
  set_raw<float>(one.constant("a", TensorProto::FLOAT, {2, 1}), {1.5f, -2.0f});
  CHECK(floats().values == Reals{1.5f, -2.0f});
  CHECK(floats().shape == Shape{2, 1});
  one.constant("a", TensorProto::FLOAT, {2}).float_data.push_back(3.0f);
  CHECK(thrown(floats) == "constant 'a': it holds 1 values, its dimensions need 2");
  TensorProto& field = one.constant("a", TensorProto::FLOAT, {});
  field.float_data.push_back(4.0f);
  CHECK(floats().values == Reals{4.0f});
  CHECK(floats().shape.empty());
  set_raw<double>(one.constant("a", TensorProto::DOUBLE, {1}), {0.1});
  CHECK(floats().values == Reals{0.1f});
  set_raw<uint16_t>(one.constant("a", TensorProto::FLOAT16, {2}), {0x3c00, 0xc000});
  CHECK(floats().values == Reals{1.0f, -2.0f});
  TensorProto& half = one.constant("a", TensorProto::FLOAT16, {1});
  half.int32_data.push_back(0x3800);
  CHECK(floats().values == Reals{0.5f});
  set_raw<uint16_t>(one.constant("a", TensorProto::BFLOAT16, {1}), {0x3fc0});
  CHECK(floats().values == Reals{1.5f});
  CHECK(thrown(integers) == "constant 'a': it holds bfloat16; int64 is expected");

  set_raw<int64_t>(one.constant("a", TensorProto::INT64, {2}), {INT64_MIN, 7});
  CHECK(integers().values == Integers{INT64_MIN, 7});
  CHECK(thrown(floats) == "constant 'a': it holds int64; float is expected");
  set_raw<int32_t>(one.constant("a", TensorProto::INT32, {1}), {-5});
  CHECK(integers().values == Integers{-5});
  set_raw<int8_t>(one.constant("a", TensorProto::INT8, {1}), {-1});
  CHECK(integers().values == Integers{-1});
  set_raw<uint8_t>(one.constant("a", TensorProto::UINT8, {1}), {255});
  CHECK(integers().values == Integers{255});
  set_raw<uint8_t>(one.constant("a", TensorProto::BOOL, {2}), {1, 0});
  CHECK(integers().values == Integers{1, 0});
  one.constant("a", TensorProto::STRING, {1});
  CHECK(thrown(floats) == "constant 'a': it holds string; float is expected");
  one.constant("a", TensorProto::UNDEFINED, {1}).data_type = 99;
  CHECK(thrown(integers) == "constant 'a': it holds type 99; int64 is expected");
  one.file.values["a"] = {-1, nullptr, false, false, {}, {}};
  set_raw<float>(one.constant("a", TensorProto::FLOAT, {0}), {});
  CHECK(floats().values.empty());
}

TEST_CASE("constants whose bytes, places or dimensions are wrong") {
  OneNode one(1);
  const auto floats = [&] { return one.op().floats(0); };
  set_raw<float>(one.constant("a", TensorProto::FLOAT, {3}), {1, 2});
  CHECK(thrown(floats) == "constant 'a': it holds 8 bytes, its dimensions need 12");
  set_raw<float>(one.constant("a", TensorProto::FLOAT, {1}), {1, 2});
  CHECK(thrown(floats) == "constant 'a': it holds 8 bytes, its dimensions need 4");
  const std::string external =
      "constant 'a': its data stands in another file (external data), which is looked for beside a network that is given "
      "by its path; give the path, or save the model as one file";
  one.constant("a", TensorProto::FLOAT, {1}).data_location = TensorProto::EXTERNAL;
  CHECK(thrown(floats) == external);
  one.constant("a", TensorProto::FLOAT, {1}).external_data.add().key = "location";
  CHECK(thrown(floats) == external);
  one.constant("a", TensorProto::FLOAT, {1}).segment.make();
  CHECK(thrown(floats) == "constant 'a': segmented tensors are not supported");
  const auto dimension = [](int64_t dim) {
    return "constant 'a': dimension " + std::to_string(dim) +
           " is not allowed: a tensor holds at most 1073741824 bytes";
  };
  constexpr int64_t kGiB = int64_t{1} << 30;
  for (const auto& [dims, wrong] :
       std::vector<std::pair<Integers, int64_t>>{{{-1}, -1},
                                                 {{2, -3}, -3},
                                                 {{kGiB + 1}, kGiB + 1},
                                                 {{kGiB / 4 + 1}, kGiB / 4 + 1},
                                                 {{1 << 14, (1 << 14) + 1}, (1 << 14) + 1},
                                                 {{INT64_MAX}, INT64_MAX}}) {
    one.constant("a", TensorProto::FLOAT, dims);
    CHECK(thrown(floats) == dimension(wrong));
  }
  const auto spent = [&] { return one.draft.budget->spent().memory; };
  one.draft.budget = std::make_shared<ImportBudget>(ImportLimits{0, kGiB + 256 + 300});
  one.constant("a", TensorProto::FLOAT, {kGiB / 4});
  CHECK_THROWS_AS(floats(), OverBudget);  // of operations
  one.draft.budget = std::make_shared<ImportBudget>(ImportLimits{INT64_MAX, kGiB + 256 + 300});
  CHECK(thrown(floats) == "constant 'a': it holds 0 values, its dimensions need 268435456");
  // Constants are counted each time that one is used.
  CHECK(spent() == static_cast<uint64_t>(kGiB) + 256);
  one.constant("a", TensorProto::FLOAT, {1}).float_data.push_back(1.0f);
  CHECK(thrown(floats).empty());
  CHECK(spent() == static_cast<uint64_t>(kGiB) + 2 * 256 + 4);
  CHECK_THROWS_AS(floats(), OverBudget);
  CHECK(spent() == static_cast<uint64_t>(kGiB) + 2 * 256 + 4);
}

TEST_CASE("attributes: types, defaults, and those that nobody asked for") {
  OneNode one;
  attribute(one, "i", AttributeProto::INT).i = 5;
  attribute(one, "f", AttributeProto::FLOAT).f = 0.5f;
  attribute(one, "s", AttributeProto::STRING).s = "text";
  AttributeProto& list = attribute(one, "is", AttributeProto::INTS);
  list.ints.push_back(1);
  list.ints.push_back(-2);
  attribute(one, "fs", AttributeProto::FLOATS).floats.push_back(1.5f);
  attribute(one, "t", AttributeProto::TENSOR).t.make().name = "inner";
  const OnnxOp op = one.op();
  CHECK(op.integer("i", 1) == 5);
  CHECK(op.real("f", 1.0f) == 0.5f);
  CHECK(op.string("s", "") == "text");
  CHECK(op.integers("is") == Integers{1, -2});
  CHECK(op.reals("fs") == Reals{1.5f});
  REQUIRE(op.tensor("t") != nullptr);
  CHECK(op.tensor("t")->name == "inner");
  CHECK(op.integer("none", 7) == 7);
  CHECK(op.real("none", 2.5f) == 2.5f);
  CHECK(op.string("none", "other") == "other");
  CHECK(op.integers("none").empty());
  CHECK(op.reals("none").empty());
  CHECK(op.tensor("none") == nullptr);
  CHECK(op.has("i"));
  CHECK(!op.has("none"));
  CHECK(thrown([&] { (void)op.integer("f", 0); }) ==
        "attribute 'f' has another type than the operator asks for");
  CHECK(thrown([&] { (void)op.reals("f"); }) == "attribute 'f' has another type than the operator asks for");
  CHECK(thrown([&] { op.check_all_read(); }).empty());
  attribute(one, "late", AttributeProto::INT);
  attribute(one, "old", AttributeProto::UNDEFINED).i = 3;  // as old files leave it
  CHECK(thrown([&] { op.check_all_read(); }) == "attribute 'late' is not supported");
  op.ignore("late");
  CHECK(thrown([&] { op.check_all_read(); }) == "attribute 'old' is not supported");
  CHECK(op.integer("old", 0) == 3);
  CHECK(thrown([&] { op.check_all_read(); }).empty());
}

TEST_CASE("results: tensors and constants, each once") {
  OneNode one(1);
  one.node.output.push_back("z");
  OnnxOp op = one.op();
  const int32_t y = op.new_tensor({2, 3}), z = add_activation(one.draft, op.output_name(1), DType::kF32, {4});
  CHECK(one.draft.tensor(y).name == "y");
  CHECK(one.draft.tensor(z).name == "z");
  CHECK(one.draft.tensor(z).shape == Shape{4});
  op.set_output(y);
  CHECK(one.file.values["y"].tensor == y);
  CHECK(one.file.values["y"].constant == nullptr);
  CHECK(thrown([&] { op.set_output(z); }) == "its output 'y' is written twice");
  const uint64_t before = one.draft.budget->spent().memory;
  const auto spent = [&] { return one.draft.budget->spent().memory - before; };
  op.set_floats({{2}, {1.0f, 2.0f}}, 1);
  CHECK(one.file.values["z"].tensor == -1);
  CHECK(spent() == 8 + 256);
  NodeProto reader;
  reader.input.push_back("z");
  reader.output.push_back("w");
  OnnxOp reads(one.file, reader);
  CHECK(reads.floats(0).values == Reals{1.0f, 2.0f});
  CHECK(spent() == 16 + 2 * 256);
  reads.set_integers({{}, {-9}});
  CHECK(spent() == 24 + 3 * 256);
  const int32_t x = add_activation(one.draft, "x", intaglio::DType::kF32, {1, 2, 3});
  CHECK(thrown([&] { (void)op.nhwc(x); }) ==
        "its input has the shape [1, 2, 3]; [batch, channels, height, width] is expected");
}

TEST_CASE("the grid of a quantized constant goes with it, by its own axis") {
  OneNode one(1);
  OnnxOp op = one.op();
  const int32_t made = add_constant(one.draft, "k", intaglio::DType::kF32, {1, 1, 1, 2}, Reals{1.0f, -2.0f});
  const auto taken = [&](int32_t axis) {
    one.draft.tensor(made).scales.clear();
    one.draft.tensor(made).axis = -5;
    op.take_grid(0, axis, made, 3);
    return one.draft.tensor(made);
  };
  CHECK(taken(1).scales.empty());
  CHECK(taken(1).axis == -5);
  one.file.grids["a"] = {{0.5f}, -1};
  CHECK(taken(1).scales == Reals{0.5f});
  CHECK(taken(1).axis == -1);
  one.file.grids["a"] = {{0.5f, 0.25f}, 1};
  CHECK(taken(1).scales == Reals{0.5f, 0.25f});
  CHECK(taken(1).axis == 3);
  // Along another axis, or along several: one whose greatest values have the code 127.
  CHECK(taken(0).scales == Reals{1.0f / 127, 2.0f / 127});
  CHECK(taken(0).axis == 3);
  one.file.grids["a"] = {{}, -1, true};
  CHECK(taken(1).scales == Reals{1.0f / 127, 2.0f / 127});
  op.set_grid({{2.0f}, -1});
  CHECK(one.file.grids["y"].scales == Reals{2.0f});
}

}  // namespace intaglio::test::import_onnx_op_test

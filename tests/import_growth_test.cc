// Small files whose nodes or names would become many: each is refused by a number, before memory of that size is taken.
#include "tests/support/imported.h"
#include "tests/support/ir_builder.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_growth_test {
namespace {

// A Scan whose body gives its last input, of `inputs` times the same list of `rows` slices.
std::string scan(int64_t opset, int inputs, int64_t rows) {
  OnnxBuilder file(opset);
  file.input("x", opset < 9 ? std::vector<int64_t>{rows, 1, 1} : std::vector<int64_t>{rows, 1});
  std::vector<std::string> lists(static_cast<size_t>(inputs), "x");
  if (opset < 9) lists.insert(lists.begin(), "");
  auto& node = file.node("Scan", lists, "y");
  set(node, "num_scan_inputs", int64_t{inputs});
  auto& attribute = node.attribute.add();
  attribute.name = "body";
  attribute.type = onnx_file::AttributeProto::GRAPH;
  auto& body = attribute.g.make();
  for (int i = 0; i < inputs; ++i) body.input.add().name = "in" + std::to_string(i);
  body.output.add().name = "out";
  append_node(body, "Identity", {"in0"}, "out");
  file.output("y");
  return file.bytes();
}

std::string add_onnx(const std::string& node_name, const std::string& input, const std::string& constant) {
  OnnxBuilder file;
  file.input(input, {1, 4});
  file.floats(constant, {1}, {2});
  file.node("Add", {input, constant}, "y").name = node_name;
  file.output("y");
  return file.bytes();
}

std::string relu_tflite(const std::string& name) {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 4}), y = file.tensor(name, kTfliteFloat, {1, 4});
  file.op(kTfliteRelu, {x}, {y});
  return file.finish({x}, {y});
}

}  // namespace

TEST_CASE("a Scan of hundreds of lists, of which each row would be taken apart") {
  for (const int64_t opset : {8, 9}) {
    CHECK(Import(scan(opset, 300, 300)).says("become more than 65536 simpler nodes together"));
    CHECK(Import(scan(opset, 2, 3)).good());
  }
}

TEST_CASE("a DeformConv with an offset for each of many channels") {
  const auto deformed = [](int64_t channels) {
    OnnxBuilder file(19);
    file.input("x", {1, channels, 1, 1});
    file.input("o", {1, 2 * channels, 1, 1});
    file.floats("w", {1, channels, 1, 1}, std::vector<float>(static_cast<size_t>(channels), 1.0f));
    set(file.node("DeformConv", {"x", "w", "o"}, "y"), "offset_group", channels);
    file.output("y");
    return file.bytes();
  };
  CHECK(Import(deformed(65)).says("it has 65 groups of offsets for 65 channels; 1 to 64 are supported"));
  Import most(deformed(64));
  CHECK_MESSAGE(most.good(), most.message());
}

TEST_CASE("an IR's list of axes, each of which is a node") {
  const auto reversed = [](size_t axes) {
    Ir ir;
    const int x = ir.input("x", {1, 4});
    ir.output(
        ir.layer("Reverse", "y", {x, ir.integers(std::vector<int64_t>(axes, 1))}, {1, 4}, "mode=\"index\""));
    return ir;
  };
  const Ir many = reversed(70000), few = reversed(3);
  CHECK(Import(many.xml(), many.options()).says("become more than 65536 nodes together"));
  Import good(few.xml(), few.options());
  REQUIRE_MESSAGE(good.good(), good.message());
  CHECK(run_import<float>(good, std::vector<float>{1, 2, 3, 4}) == std::vector<float>{4, 3, 2, 1});
}

TEST_CASE("the last integer as the beginning of an IR's slice") {
  const auto sliced = [](int64_t begin) {
    Ir ir;
    const int x = ir.input("x", {1, 4});
    ir.output(ir.layer("StridedSlice", "y",
                       {x, ir.integers({0, begin}), ir.integers({1, 4}), ir.integers({1, 1})}, {1},
                       "begin_mask=\"1, 1\" end_mask=\"1, 1\" shrink_axis_mask=\"0, 1\""));
    return ir;
  };
  const Ir good = sliced(2), bad = sliced(INT64_MAX);  // whose next one is none: the sanitizer would say so
  Import one(good.xml(), good.options());
  REQUIRE_MESSAGE(one.good(), one.message());
  CHECK(run_import<float>(one, std::vector<float>{1, 2, 3, 4}) == std::vector<float>{3});
  CHECK(!Import(bad.xml(), bad.options()).good());
}

TEST_CASE("a name of thousands of bytes, which all that is made of its node would have") {
  const std::string longest(4096, 'n'), more = longest + "n";
  const std::string words = "' has 4097 bytes; at most 4096 are supported";
  CHECK(Import(add_onnx("node", "x", "c")).good());
  CHECK(Import(add_onnx(more, "x", "c")).says(words));
  CHECK(Import(add_onnx("node", more, "c")).says(words));
  CHECK(Import(add_onnx("node", "x", more)).says(words));
  CHECK(Import(add_onnx(longest, "x", "c")).good());
  Import cut(relu_tflite(more));  // whose names converters join
  REQUIRE_MESSAGE(cut.good(), cut.message());
  CHECK(std::string(cut.output().name) == std::string(255, 'n'));
  const auto layered = [](const std::string& name) {
    Ir ir;
    ir.output(ir.layer("ReLU", name, {ir.input("x", {1, 4})}, {1, 4}));
    return Import(ir.xml(), ir.options()).outcome.message();
  };
  CHECK(layered(more).find(words) != std::string::npos);
  CHECK(layered(longest).find(words) == std::string::npos);
}

TEST_CASE("a large attribute that a function's nodes refer to again and again") {
  const auto calling = [](int nodes, size_t bytes) {
    OnnxBuilder file(17);
    file.input("x", {1, 4});
    auto& function = file.function("Long", "a", "b0");
    function.attribute.push_back("words");
    for (int i = 0; i < nodes; ++i) {
      auto& node = function.node.add();
      node.op_type = "Relu";
      node.input.push_back("a");
      node.output.push_back("b" + std::to_string(i));
      auto& attribute = node.attribute.add();
      attribute.name = "alpha";
      attribute.ref_attr_name = "words";
    }
    auto& call = file.node("Long", {"x"}, "y");
    call.domain = "own";
    set(call, "words", std::string(bytes, 'w').c_str());
    file.output("y");
    return file.bytes();
  };
  // So many nodes take a megabyte each: the last one that fits leaves less than that of the limit.
  Import many(calling(1100, 1000000));
  CAPTURE(many.message());
  CHECK(many.says("node 'y_node' (Long): a copy of its function takes 1000"));
  CHECK(Import(calling(3, 100)).says("attribute 'alpha' is not supported"));
}

TEST_CASE("steps that convolutions put off, one behind the other, until no integer counts them") {
  OnnxBuilder file(13);
  file.input("x", {1, 1, 2, 1});
  file.floats("w", {1, 1, 4096, 1}, std::vector<float>(4096, 0.0f));
  std::string last = "x";
  for (int i = 0; i < 140; ++i) {
    const std::string next = "y" + std::to_string(i);
    auto& node = file.node("Conv", {last, "w"}, next);
    set(node, "dilations", std::vector<int64_t>{4096, 1});
    set(node, "pads", std::vector<int64_t>{0, 0, 4095 * 4096, 0});
    last = next;
  }
  file.output(last);
  ImportOptions options;
  options.stream = 2;
  CHECK(Import(file.bytes(), options).says("gives its first row after more than 1073741824 steps"));
}

TEST_CASE("recurrent layers one behind the other, each of hundreds of steps") {
  const auto chain = [](int layers, int64_t steps) {
    OnnxBuilder file(14);
    file.input("x", {steps, 1, 1});
    file.floats("w", {1, 3, 1}, {1, 1, 1});
    std::string last = "x";
    for (int i = 0; i < layers; ++i) {
      const std::string next = "y" + std::to_string(i), flat = "z" + std::to_string(i);
      set(file.node("GRU", {last, "w", "w"}, next), "hidden_size", int64_t{1});
      file.integers("to" + std::to_string(i), {steps, 1, 1});
      file.node("Reshape", {next, "to" + std::to_string(i)}, flat);
      last = flat;
    }
    file.output(last);
    return file.bytes();
  };
  CHECK(Import(chain(12, 500)).says("(GRU): it and what stands before it become more than 65536 nodes"));
  Import few(chain(2, 3));
  CHECK_MESSAGE(few.good(), few.message());
}

}  // namespace intaglio::test::import_growth_test

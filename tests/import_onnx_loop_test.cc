// Loops of ONNX files whose number of runs the file says: copies of the body.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_loop_test {
namespace {

// A Loop of `runs` ("" for none) with one state s, which begins with x. `build` writes the body: its inputs are run, on and
// in; it writes out, and go_on.
struct LoopFile {
  explicit LoopFile(int64_t opset = 17) : file(opset) {
    file.input("x", {1, 2});
    file.integers("three", {3}).dims.clear();
    file.integers("yes", {1}).dims.clear();
    file.floats("half", {}, {0.5f});
  }
  onnx_file::NodeProto& node(const char* op, const std::vector<std::string>& inputs, const char* output) {
    return append_node(body, op, inputs, output);
  }
  OnnxBuilder& finish(const std::string& runs, const std::string& condition, bool has_scan) {
    for (const std::string& name : {number, std::string("on"), std::string("in")})
      body.input.add().name = name;
    for (const char* name : {"go_on", "out"}) body.output.add().name = name;
    if (has_scan) body.output.add().name = "row";
    auto& loop = file.node("Loop", {runs, condition, "x"}, "s");
    if (has_scan) loop.output.push_back("rows");
    auto& attribute = loop.attribute.add();
    attribute.name = "body";
    attribute.type = onnx_file::AttributeProto::GRAPH;
    attribute.g.make() = body;
    file.output(has_scan ? "rows" : "s");
    return file;
  }

  OnnxBuilder file;
  onnx_file::GraphProto body;
  std::string number = "run";  // the body's name for the number of the run
};

}  // namespace

TEST_CASE("a loop runs as often as its number says, and knows which run it is") {
  LoopFile loop;
  // in * 0.5 + the run's number, three times
  loop.node("Mul", {"in", "half"}, "halved");
  set(loop.node("Cast", {"run"}, "number"), "to", int64_t{onnx_file::TensorProto::FLOAT});
  loop.node("Add", {"halved", "number"}, "out");
  loop.node("Identity", {"on"}, "go_on");
  CHECK(run_file(loop.finish("three", "", false).bytes(), {8, -16}) == std::vector<float>{3.5f, 0.5f});
}

TEST_CASE("what each run gives stands in rows, for old opsets, too") {
  for (const int64_t opset : {11, 17}) {
    CAPTURE(opset);
    LoopFile loop(opset);
    loop.node("Add", {"in", "in"}, "out");
    loop.node("Identity", {"on"}, "go_on");
    loop.node("Sub", {"out", "x"}, "row");  // x is the graph's own
    Import import(loop.finish("three", "yes", true).bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.dims(import.output()) == std::vector<int32_t>{3, 1, 2});
    CHECK(run_import<float>(import, std::vector<float>{1, -2}) == std::vector<float>{1, -2, 3, -6, 7, -14});
  }
}

TEST_CASE("more runs than a Concat takes inputs") {
  LoopFile loop;
  loop.file.integers("many", {150}).dims.clear();
  loop.node("Add", {"in", "half"}, "out");
  loop.node("Identity", {"on"}, "go_on");
  loop.node("Identity", {"out"}, "row");
  const std::vector<float> y = run_file(loop.finish("many", "yes", true).bytes(), {0, 1});
  REQUIRE(y.size() == 300);
  for (size_t i = 0; i < 150; ++i) CHECK(y[2 * i] == 0.5f * static_cast<float>(i + 1));
}

TEST_CASE("a condition that the runs' numbers decide ends a loop") {
  LoopFile loop;
  loop.node("Add", {"in", "in"}, "out");
  loop.node("Less", {"run", "three"}, "go_on");  // runs 0, 1, 2 and 3
  CHECK(run_file(loop.finish("", "yes", false).bytes(), {1, -2}) == std::vector<float>{16, -32});
}

TEST_CASE("loops that a run decides, that never end or do not fit are refused") {
  const auto message = [](const char* runs, const char* condition, const char* compared, bool has_scan) {
    LoopFile loop;
    loop.file.integers("none", {0}).dims.clear();
    loop.node("Add", {"in", "in"}, "out");
    if (has_scan) loop.node("Identity", {"in"}, "row");
    if (compared == nullptr)
      loop.node("Identity", {"on"}, "go_on");
    else
      loop.node("Less", {compared, "half"}, "go_on");
    return Import(loop.finish(runs, condition, has_scan).bytes()).message();
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(says(message("three", "yes", "in", false), "its condition is computed by a run"));
  CHECK(says(message("x", "yes", nullptr, false), "must be a constant"));
  CHECK(says(message("", "", nullptr, false), "runs its loops more than 4096 times"));
  CHECK(says(message("none", "yes", nullptr, true), "it never runs, and its output 'rows' would be empty"));
  LoopFile several;
  several.file.integers("two_numbers", {1, 2});
  several.node("Identity", {"on"}, "go_on");
  several.node("Identity", {"in"}, "out");
  CHECK(says(Import(several.finish("two_numbers", "yes", false).bytes()).message(),
             "input 0 must be one number, it has 2"));
  LoopFile loop;
  loop.node("Identity", {"on"}, "go_on");
  loop.node("Identity", {"in"}, "out");
  loop.body.input.add().name = "more";
  CHECK(says(Import(loop.finish("three", "yes", false).bytes()).message(),
             "its body has 4 inputs and 2 outputs"));
}

TEST_CASE("names that the importer makes give way to those of the file") {
  for (const int64_t opset : {11, 17}) {
    LoopFile loop(opset);
    loop.number = "i";
    for (const char* name : {"s_node/goes_on", "s_node/run", "rows/axes", "rows/0", "s/1", "s/2"})
      loop.file.floats(name, {}, {1});
    loop.node("Add", {"in", "half"}, "run");  // which is no number of a run here
    loop.node("Identity", {"run"}, "out");
    loop.node("Identity", {"on"}, "go_on");
    loop.node("Identity", {"run"}, "row");
    CHECK(run_file(loop.finish("three", "", true).bytes(), {0, 1}) ==
          std::vector<float>{0.5f, 1.5f, 1, 2, 1.5f, 2.5f});
  }
}

TEST_CASE("what a body holds as constants is read once") {
  LoopFile loop;
  loop.file.integers("many", {4000}).dims.clear();
  auto& table = loop.body.initializer.add();  // 4000 times this is more than a model may have
  table.name = "table";
  table.data_type = onnx_file::TensorProto::FLOAT;
  table.dims.push_back(75000);
  table.raw_data.set(std::string(300000, '\0'));
  auto& summand = loop.body.initializer.add();
  summand.name = "summand";
  summand.data_type = onnx_file::TensorProto::FLOAT;
  summand.float_data.push_back(0.25f);
  loop.node("Identity", {"on"}, "go_on");
  loop.node("Less", {"run", "three"}, "early");
  auto& choice = loop.node("If", {"early"}, "out");
  for (const bool adds : {true, false}) {
    auto& attribute = choice.attribute.add();
    attribute.name = adds ? "then_branch" : "else_branch";
    attribute.type = onnx_file::AttributeProto::GRAPH;
    auto& node = attribute.g.make().node.add();
    node.op_type = adds ? "Add" : "Identity";
    node.input.push_back("in");
    if (adds) node.input.push_back("summand");
    node.output.push_back("z");
    attribute.g.make().output.add().name = "z";
  }
  CHECK(run_file(loop.finish("many", "yes", false).bytes(), {1, -2}) == std::vector<float>{1.75f, -1.25f});
}

}  // namespace intaglio::test::import_onnx_loop_test

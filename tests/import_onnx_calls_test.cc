// ONNX functions that a file defines itself: their nodes stand in place of the call.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_calls_test {
namespace {

using Reals = std::vector<float>;

OnnxBuilder::Node& node(onnx_file::FunctionProto& function, const char* op, const char* domain,
                        const std::vector<std::string>& inputs, const char* output) {
  auto& made = function.node.add();
  made.op_type = op;
  made.domain = domain;
  for (const std::string& input : inputs) made.input.push_back(input);
  made.output.push_back(output);
  return made;
}

// leaky(x) = LeakyRelu(x) with the call's alpha, twice(x) = leaky(leaky(x)).
OnnxBuilder nested() {
  OnnxBuilder file(13);
  auto& leaky = file.function("leaky");
  leaky.attribute.push_back("slope");
  auto& alpha = node(leaky, "LeakyRelu", "", {"a"}, "b").attribute.add();
  alpha.name = "alpha";
  alpha.type = onnx_file::AttributeProto::FLOAT;
  alpha.ref_attr_name = "slope";
  auto& twice = file.function("twice");
  set(node(twice, "leaky", "own", {"a"}, "x"), "slope", 0.5f);  // "x" is the graph's name, too
  node(twice, "leaky", "own", {"x"}, "b");
  file.input("x", {1, 4});
  file.node("twice", {"x"}, "z").domain = "own";
  set(file.node("leaky", {"z"}, "y"), "slope", 0.25f);
  file.graph().node[1].domain = "own";
  file.output("y");
  return file;
}

}  // namespace

TEST_CASE("calls within calls, each with its own names and attributes") {
  Import import(nested().bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, Reals{-100, 1, -200, 0}) ==
        Reals{-100 * 0.5f * 0.01f * 0.25f, 1, -200 * 0.5f * 0.01f * 0.25f, 0});
}

TEST_CASE("an attribute's value in the function holds where the call gives none") {
  OnnxBuilder file = nested();
  onnx_file::AttributeProto own;
  own.name = "slope";
  own.type = onnx_file::AttributeProto::FLOAT;
  own.f = 0.125f;
  file.model().functions[0].attribute_proto.add(own);
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, Reals{-64, 1, 2, 3}) == Reals{-64 * 0.5f * 0.125f * 0.25f, 1, 2, 3});
}

TEST_CASE("a function that calls itself, or does not fit its call, is refused") {
  OnnxBuilder endless(13);
  node(endless.function("f"), "f", "own", {"a"}, "b");
  endless.input("x", {1, 4});
  endless.node("f", {"x"}, "y").domain = "own";
  endless.output("y");
  CHECK(Import(endless.bytes()).says("more than 32 in one another"));

  OnnxBuilder wide(13);
  node(wide.function("f"), "Relu", "", {"a"}, "b");
  wide.input("x", {1, 4});
  wide.node("f", {"x", "x"}, "y").domain = "own";
  wide.output("y");
  CHECK(Import(wide.bytes()).says("it has 2 inputs and 1 outputs; its function 'f' has 1 and 1"));

  OnnxBuilder silent(13);
  silent.function("f");
  silent.input("x", {1, 4});
  silent.node("f", {"x"}, "y").domain = "own";
  silent.output("y");
  CHECK(Import(silent.bytes()).says("output 'y' is not written by any node"));

  // A call doubles the calls: 2^20 nodes, which the limits end.
  OnnxBuilder many(13);
  std::string inner = "Relu", domain;
  for (int i = 0; i < 20; ++i) {
    auto& f = many.function("f" + std::to_string(i));
    node(f, inner.c_str(), domain.c_str(), {"a"}, "c");
    node(f, inner.c_str(), domain.c_str(), {"c"}, "b");
    inner = f.name;
    domain = "own";
  }
  many.input("x", {1, 4});
  many.node(inner, {"x"}, "y").domain = "own";
  many.output("y");
  CHECK(Import(many.bytes()).says("calls its functions and runs its loops more than 4096 times"));
}

}  // namespace intaglio::test::import_onnx_calls_test

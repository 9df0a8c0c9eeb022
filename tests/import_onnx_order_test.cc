// Nodes of an ONNX file that stand in another order than they run.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_order_test {

TEST_CASE("a node may stand before what it reads") {
  OnnxBuilder file(17);
  file.input("x", {1, 2});
  file.floats("two", {}, {2});
  file.node("Add", {"b", "a"}, "y");
  file.node("Mul", {"a", "two"}, "b");
  file.node("Neg", {"x"}, "a");
  file.output("y");
  CHECK(run_file(file.bytes(), {1, -3}) == std::vector<float>{-3, 9});
}

TEST_CASE("nodes in a ring are refused by name") {
  OnnxBuilder file(17);
  file.input("x", {1, 2});
  file.node("Add", {"x", "b"}, "a");
  file.node("Neg", {"a"}, "b");
  file.output("b");
  CHECK(Import(file.bytes()).says("node 'a_node' (Add): input 1 ('b') is read before anything writes it"));
}

}  // namespace intaglio::test::import_onnx_order_test

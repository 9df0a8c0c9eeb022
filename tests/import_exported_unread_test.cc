// ONNX export where the file has nodes that nothing needs: the import passes them over, whatever they are.
#include <doctest/doctest.h>

#include "exporters/onnx/onnx_export.h"
#include "tests/support/calibrated_network.h"
#include "tests/support/small_onnx_network.h"

namespace intaglio::test::import_exported_unread_test {
namespace {

constexpr OnnxForm kForms[] = {OnnxForm::kQdq, OnnxForm::kQOperator, OnnxForm::kFakeQuantize};

const CalibratedNetwork& calibrated() {
  static const CalibratedNetwork net(small_network());
  return net;
}

onnx_file::ModelProto network() { return parsed_onnx(calibrated().network); }

// The export of this network in a form; empty where it is refused, with a message.
std::string exported(const onnx_file::ModelProto& file, OnnxForm form) {
  const std::string bytes = serialize(file);
  const Result<Model> model = Model::open(calibrated().int8.view());
  REQUIRE(static_cast<bool>(model));
  const auto made = export_onnx({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "net.onnx",
                                {}, *model, "net.int8.itg", form);
  if (!made) CHECK(!made.message().empty());
  return made ? made->bytes : "";
}

}  // namespace

TEST_CASE("a ring, and a long row, of bounds that nothing needs") {
  onnx_file::ModelProto ring = network();
  append_node(ring.graph.make(), "Relu", {"rb"}, "ra");
  append_node(ring.graph.make(), "Relu", {"ra"}, "rb");
  for (const OnnxForm form : kForms) (void)exported(ring, form);
  onnx_file::ModelProto row = network();
  const std::string start = row.graph->input[0].name;
  for (int i = 0; i < 15000; ++i)
    append_node(row.graph.make(), "Relu", {i == 0 ? start : "dead" + std::to_string(i)},
                "dead" + std::to_string(i + 1));
  for (const OnnxForm form : kForms) {
    const std::string bytes = exported(row, form);
    const onnx_file::ModelProto made = parsed_onnx(bytes);
    CHECK(made.graph->node.count() > 5);  // without them
  }
}

TEST_CASE("nodes of a layer's name without inputs, or without outputs") {
  for (const bool has_inputs : {false, true}) {
    onnx_file::ModelProto file = network();
    const onnx_file::GraphProto graph = *file.graph;
    file.graph.make().node.clear();
    for (const auto& node : graph.node) {
      auto& twin = file.graph.make().node.add();
      twin = node;
      twin.output.clear();
      if (!has_inputs) twin.input.clear();
      file.graph.make().node.add() = node;
    }
    for (const OnnxForm form : kForms) (void)exported(file, form);
  }
}

TEST_CASE("nodes of an older opset without inputs or outputs") {
  OnnxBuilder older(9);
  older.input("x", {1, 4});
  older.floats("w", {4, 4}, Random(3).reals(16, -1, 1));
  older.node("MatMul", {"x", "w"}, "p");
  older.node("Relu", {"p"}, "y");
  older.output("y");
  const CalibratedNetwork net(older);
  const Result<Model> model = Model::open(net.int8.view());
  REQUIRE(static_cast<bool>(model));
  for (const std::string op : {"Softmax", "Clip", "Squeeze", "Split", "Relu"}) {
    onnx_file::ModelProto file = parsed_onnx(net.network);
    auto& node = file.graph.make().node.add();
    node.op_type = op;
    for (const char* const name : {"axes", "split", "min", "max"}) set(node, name, std::vector<int64_t>{1});
    CAPTURE(op);
    const std::string bytes = serialize(file);
    for (const OnnxForm form : kForms) {
      const auto made = export_onnx({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                                    "net.onnx", {}, *model, "net.int8.itg", form);
      CHECK_MESSAGE(made, made.message());
    }
  }
}

}  // namespace intaglio::test::import_exported_unread_test

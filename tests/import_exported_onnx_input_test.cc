// ONNX export where the network's file gives an input back as an output.
#include <doctest/doctest.h>

#include "exporters/onnx/onnx_export.h"
#include "tests/support/calibrated_network.h"
#include "tests/support/small_onnx_network.h"

namespace intaglio::test::import_exported_onnx_input_test {

TEST_CASE("an input that is an output, too, stays what it is") {
  const CalibratedNetwork net(small_network());
  onnx_file::ModelProto file = parsed_onnx(net.network);
  file.graph.make().output.add() = file.graph->input[0];
  const std::string network = serialize(file), input = file.graph->input[0].name;
  Import imported(network);
  REQUIRE_MESSAGE(imported.good(), imported.message());
  const AlignedBytes fp32 = imported.write();
  const Result<Model> model = Model::open(fp32.view());
  REQUIRE(static_cast<bool>(model));
  const auto ends = read_onnx_ends({reinterpret_cast<const uint8_t*>(network.data()), network.size()}, "net.onnx");
  REQUIRE_MESSAGE(ends, ends.message());
  for (const OnnxForm form : {OnnxForm::kQdq, OnnxForm::kQOperator, OnnxForm::kFakeQuantize}) {
    const auto made = export_onnx(*model, "net.itg", form, &*ends);
    REQUIRE_MESSAGE(made, made.message());
    file = parsed_onnx(made->bytes);
    REQUIRE(file.graph->output.count() == 2);
    CHECK(file.graph->output[1].name == input + "~2");
    for (const auto& node : file.graph->node)
      for (const std::string& output : node.output) CHECK(output != input);
  }
}

}  // namespace intaglio::test::import_exported_onnx_input_test

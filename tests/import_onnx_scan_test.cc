// Scan of ONNX files: copies of the body, one for each slice of its inputs.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

// A Scan over x [1, 2, 3] whose body adds a slice to the state, which begins with zeros, and gives the sum as a row.
struct ScanFile {
  explicit ScanFile(int64_t opset = 17) : file(opset) {
    file.input("x", {1, 2, 3});
    file.floats("zeros", {1, 2}, {0, 0});
    for (const char* name : {"in", "piece"}) body.add_input()->set_name(name);
    for (const char* name : {"out", "row"}) body.add_output()->set_name(name);
    node("Add", {"in", "piece"}, "out");
    node("Identity", {"out"}, "row");
  }
  onnx_file::NodeProto& node(const char* op, const std::vector<std::string>& inputs, const char* output) {
    return append_node(body, op, inputs, output);
  }
  OnnxBuilder::Node& scan(const std::vector<std::string>& inputs = {"zeros", "x"}, int64_t slices = 1) {
    auto& made = file.node("Scan", inputs, "last");
    made.add_output("rows");
    auto& attribute = *made.add_attribute();
    attribute.set_name("body");
    attribute.set_type(onnx_file::AttributeProto::GRAPH);
    *attribute.mutable_g() = body;
    set(made, "num_scan_inputs", slices);
    return made;
  }

  OnnxBuilder file;
  onnx_file::GraphProto body;
};

}  // namespace

TEST_CASE("a scan takes one slice after the other and stacks what each run gives") {
  for (const int64_t opset : {9, 11, 17}) {
    CAPTURE(opset);
    ScanFile file(opset);
    set(file.scan(), "scan_input_axes", std::vector<int64_t>{-1});
    file.file.output("rows").output("last");
    Import import(file.file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.dims(import.output(0)) == std::vector<int32_t>{3, 1, 2});
    CHECK(import.dims(import.output(1)) == std::vector<int32_t>{1, 2});
    CHECK(run_import<float>(import, std::vector<float>{1, 2, 4, 10, 20, 40}) ==
          std::vector<float>{1, 10, 3, 30, 7, 70});
  }
}

TEST_CASE("a scan goes backwards, in and out, and stacks along any axis") {
  ScanFile file;
  auto& scan = file.scan();
  set(scan, "scan_input_axes", std::vector<int64_t>{2});
  set(scan, "scan_input_directions", std::vector<int64_t>{1});
  set(scan, "scan_output_axes", std::vector<int64_t>{-1});
  set(scan, "scan_output_directions", std::vector<int64_t>{1});
  Import import(file.file.output("rows").bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.dims(import.output()) == std::vector<int32_t>{1, 2, 3});
  CHECK(run_import<float>(import, std::vector<float>{1, 2, 4, 10, 20, 40}) ==
        std::vector<float>{7, 6, 4, 70, 60, 40});
}

TEST_CASE("single numbers that the runs of a scan give are a list") {
  ScanFile file;
  file.body.mutable_output(1)->set_name("number");
  file.body.mutable_output(1)->mutable_type()->mutable_tensor_type()->mutable_shape();
  auto& sum = file.node("ReduceSum", {"out"}, "number");
  set(sum, "keepdims", int64_t{0});
  set(file.scan(), "scan_input_axes", std::vector<int64_t>{2});
  Import import(file.file.output("rows").bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.dims(import.output()) == std::vector<int32_t>{3});
  CHECK(run_import<float>(import, std::vector<float>{1, 2, 4, 10, 20, 40}) == std::vector<float>{11, 33, 77});
}

TEST_CASE("scans that do not fit are refused") {
  {
    ScanFile file(8);
    file.scan();
    CHECK(Import(file.file.output("rows").bytes()).says("it has one more axis and input before opset 9"));
  }
  {
    ScanFile file;
    file.scan({"zeros", "x"}, 3);
    CHECK(
        Import(file.file.output("rows").bytes())
            .says("its body has 2 inputs and 2 outputs, which do not fit its 2 inputs, 3 of them in slices"));
  }
  {
    ScanFile file;
    set(file.scan(), "scan_input_axes", std::vector<int64_t>{2, 1});
    CHECK(Import(file.file.output("rows").bytes())
              .says("its attribute scan_input_axes has 2 numbers where 1 are expected"));
  }
  {
    ScanFile file;
    file.body.add_input()->set_name("more");
    set(file.scan({"zeros", "x", "x"}, 2), "scan_input_axes", std::vector<int64_t>{2, 1});
    CHECK(Import(file.file.output("rows").bytes()).says("its inputs have 3 and 2 slices"));
  }
  {
    ScanFile file;
    set(file.scan(), "scan_input_axes", std::vector<int64_t>{3});
    CHECK(!Import(file.file.output("rows").bytes()).good());
  }
}

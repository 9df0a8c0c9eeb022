// Scan of ONNX files: copies of the body, one for each slice of its inputs.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_scan_test {
namespace {

// A Scan over x [1, 2, 3] whose body adds a slice to the state, which begins with zeros, and gives the sum as a row.
struct ScanFile {
  explicit ScanFile(int64_t opset = 17) : file(opset) {
    file.input("x", {1, 2, 3});
    file.floats("zeros", {1, 2}, {0, 0});
    for (const char* name : {"in", "piece"}) body.input.add().name = name;
    for (const char* name : {"out", "row"}) body.output.add().name = name;
    node("Add", {"in", "piece"}, "out");
    node("Identity", {"out"}, "row");
  }
  onnx_file::NodeProto& node(const char* op, const std::vector<std::string>& inputs, const char* output) {
    return append_node(body, op, inputs, output);
  }
  OnnxBuilder::Node& scan(const std::vector<std::string>& inputs = {"zeros", "x"}, int64_t slices = 1) {
    auto& made = file.node("Scan", inputs, "last");
    made.output.push_back("rows");
    auto& attribute = made.attribute.add();
    attribute.name = "body";
    attribute.type = onnx_file::AttributeProto::GRAPH;
    attribute.g.make() = body;
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
  file.body.output[1].name = "number";
  file.body.output[1].type.make().tensor_type.make().shape.make();
  auto& sum = file.node("ReduceSum", {"out"}, "number");
  set(sum, "keepdims", int64_t{0});
  set(file.scan(), "scan_input_axes", std::vector<int64_t>{2});
  Import import(file.file.output("rows").bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.dims(import.output()) == std::vector<int32_t>{3});
  CHECK(run_import<float>(import, std::vector<float>{1, 2, 4, 10, 20, 40}) == std::vector<float>{11, 33, 77});
}

namespace {

// A Scan of opset 8: a batch of two rows of three numbers, whose sums so far it gives.
struct BatchedScanFile : ScanFile {
  BatchedScanFile() : ScanFile(8) {
    file.graph().input.clear();
    file.input("x", {2, 3, 1});
    file.floats("begin", {2, 1}, {100, 200});
  }
  OnnxBuilder::Node& batched_scan(const std::string& lengths = "") { return scan({lengths, "begin", "x"}); }
};

const std::vector<float> kTwoRows{1, 2, 4, 10, 20, 40};

}  // namespace

TEST_CASE("before opset 9 a scan takes each row of a batch") {
  BatchedScanFile file;
  file.batched_scan();
  Import import(file.file.output("rows").bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.dims(import.output()) == std::vector<int32_t>{2, 3, 1});
  CHECK(run_import<float>(import, kTwoRows) == std::vector<float>{101, 103, 107, 210, 230, 270});
  BatchedScanFile last;
  last.batched_scan();
  CHECK(run_file(last.file.output("last").bytes(), kTwoRows) == std::vector<float>{107, 270});
}

TEST_CASE("rows of a batch have their own lengths, and go backwards from their end") {
  for (const bool backwards : {false, true}) {
    BatchedScanFile file;
    file.file.integers("lengths", {2, 3});
    auto& scan = file.batched_scan("lengths");
    if (backwards) set(scan, "directions", std::vector<int64_t>{1});
    using Sums = std::vector<float>;
    CHECK(run_file(file.file.output("rows").bytes(), kTwoRows) ==
          (backwards ? Sums{102, 103, 0, 240, 260, 270} : Sums{101, 103, 0, 210, 230, 270}));
  }
}

TEST_CASE("a batch of single numbers keeps its axes") {
  BatchedScanFile file;
  file.file.graph().input.clear();
  file.file.input("x", {2, 3});
  file.file.floats("numbers", {2}, {100, 200});
  for (auto& output : file.body.output) output.type.make().tensor_type.make().shape.make();
  file.scan({"", "numbers", "x"});
  Import import(file.file.output("rows").output("last").bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.dims(import.output(0)) == std::vector<int32_t>{2, 3});
  CHECK(import.dims(import.output(1)) == std::vector<int32_t>{2});
  CHECK(run_import<float>(import, kTwoRows) == std::vector<float>{101, 103, 107, 210, 230, 270});
}

TEST_CASE("scans that do not fit are refused") {
  {
    BatchedScanFile file;
    set(file.file.node("Cast", {"x"}, "whole"), "to", int64_t{onnx_file::TensorProto::INT64});
    file.batched_scan("whole");
    CHECK(
        Import(file.file.output("rows").bytes())
            .says(
                "its sequence_lens are computed by a run; give them as a constant, with --constant whole=V"));
  }
  for (const int64_t length : {int64_t{0}, int64_t{4}}) {
    BatchedScanFile file;
    file.file.integers("lengths", {3, length});
    file.batched_scan("lengths");
    CHECK(Import(file.file.output("rows").bytes())
              .says("its sequence_lens hold " + std::to_string(length) + " of 3 slices"));
  }
  {
    BatchedScanFile file;
    file.file.integers("lengths", {3});
    file.batched_scan("lengths");
    CHECK(Import(file.file.output("rows").bytes()).says("it has 1 sequence_lens for 2 rows of the batch"));
  }
  {
    BatchedScanFile file;
    file.file.floats("three", {3, 1}, {0, 0, 0});
    file.scan({"", "three", "x"});
    CHECK(Import(file.file.output("rows").bytes())
              .says("input 2 has the shape [2, 3, 1], where a batch of 3 and 3 slices are expected"));
  }
  {
    BatchedScanFile file;
    file.file.graph().input.clear();
    file.file.input("x", {4097, 3, 1});
    file.file.input("many", {4097, 1});
    file.scan({"", "many", "x"});
    CHECK(Import(file.file.output("rows").bytes()).says("it has a batch of 4097; 1 to 4096 are supported"));
  }
  {
    ScanFile file(8);
    file.scan();  // of the newer form
    CHECK(
        Import(file.file.output("rows").bytes())
            .says(
                "its body has 2 inputs and 2 outputs, which do not fit its 1 inputs behind sequence_lens, 1 of"));
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
    file.body.input.add().name = "more";
    set(file.scan({"zeros", "x", "x"}, 2), "scan_input_axes", std::vector<int64_t>{2, 1});
    CHECK(Import(file.file.output("rows").bytes()).says("its inputs have 3 and 2 slices"));
  }
  {
    ScanFile file;
    set(file.scan(), "scan_input_axes", std::vector<int64_t>{3});
    CHECK(!Import(file.file.output("rows").bytes()).good());
  }
}

}  // namespace intaglio::test::import_onnx_scan_test

// Inputs whose dimensions a file leaves open: the message holds the words that give them.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_open_shapes_test {
namespace {

// A sum of all inputs, each of [open, 3, open].
OnnxBuilder sum_of(const std::vector<std::string>& names) {
  OnnxBuilder file;
  for (const std::string& name : names) file.input(name, {0, 3, 0});
  file.node("Sum", names, "y");
  file.output("y");
  return file;
}

void name_dimension(OnnxBuilder& file, int input, int dimension, const std::string& name) {
  file.graph().input[input].type.make().tensor_type.make().shape.make().dim[dimension].dim_param = name;
}

}  // namespace

TEST_CASE("each open input has its words, with the file's names for what is open") {
  OnnxBuilder file = sum_of({"tokens", "the mask"});
  name_dimension(file, 0, 2, "sequence");
  name_dimension(file, 1, 2, "past + 1");
  CHECK(
      Import(file.bytes())
          .says(
              "input 'tokens' leaves dimension 2 ('sequence') open, input 'the mask' leaves dimension 2 "
              "('past + 1') open; give the sizes, with numbers for what is open: --shape tokens=1,3,sequence "
              "--shape 'the mask=1,3,D2'"));
  ImportOptions options;
  options.batch = 4;
  options.shapes = {{"tokens", {4, 3, 7}}};
  CHECK(Import(file.bytes(), options)
            .says("input 'the mask' leaves dimension 2 ('past + 1') open; give the sizes, with numbers for "
                  "what is open: --shape 'the mask=4,3,D2'"));
  options.shapes.push_back({"the mask", {4, 3, 7}});
  Import import(file.bytes(), options);
  CHECK_MESSAGE(import.good(), import.message());
}

TEST_CASE("of many open inputs the first ones are shown") {
  std::vector<std::string> names;
  for (int i = 0; i < 9; ++i) names.push_back("x" + std::to_string(i));
  const Import import(sum_of(names).bytes());
  CHECK(import.says("input 'x7' leaves dimension 2 ('N') open, ...; give"));
  CHECK(import.says("--shape x7=1,3,N ..."));
}

TEST_CASE("open dimensions of TFLite files have numbers") {
  TfliteBuilder file;
  const int32_t x = file.open_tensor("x", kTfliteFloat, {1, 1, 1, 3}, {-1, -1, -1, 3}),
                y = file.open_tensor("y", kTfliteFloat, {1, 1, 1, 3}, {-1, -1, -1, 3});
  file.op(kTfliteRelu, {x}, {y});
  CHECK(
      Import(file.finish({x}, {y}))
          .says(
              "input 'x' leaves dimension 1, 2 open; give the sizes, with numbers for what is open: --shape "
              "x=1,D1,D2,3"));
}

TEST_CASE("TFLite's reshapes follow an input of another shape") {
  constexpr int32_t kExpandDims = 70;
  TfliteBuilder file;
  const int32_t x = file.open_tensor("x", kTfliteFloat, {1, 1}, {1, -1}),
                a = file.open_tensor("a", kTfliteFloat, {1, 1, 1}, {1, 1, -1}),
                b = file.open_tensor("b", kTfliteFloat, {1, 1, 1}, {1, -1, 1}),
                c = file.open_tensor("c", kTfliteFloat, {1, 1}, {1, -1}),
                d = file.open_tensor("d", kTfliteFloat, {1, 2}, {-1, 2}),
                y = file.open_tensor("y", kTfliteFloat, {1, 2}, {-1, 2});
  const int32_t axis = file.constant("axis", kTfliteInt32, {1}, std::vector<int32_t>{1}),
                order = file.constant("order", kTfliteInt32, {3}, std::vector<int32_t>{0, 2, 1}),
                pairs = file.constant("pairs", kTfliteInt32, {2}, std::vector<int32_t>{-1, 2});
  const std::vector<int32_t> last{-1};
  file.op(kExpandDims, {x, axis}, {a});
  file.op(kTfliteTranspose, {a, order}, {b});
  file.op(kTfliteSqueeze, {b}, {c}, tflite::Options::SqueezeOptions,
          tflite::CreateSqueezeOptionsDirect(file.fbb(), &last).Union());
  file.op(kTfliteReshape, {c, pairs}, {d});
  file.op(kTfliteRelu, {d}, {y});
  ImportOptions options;
  options.shapes = {{"x", {1, 6}}};
  Import import(file.finish({x}, {y}), options);
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.dims(import.output()) == std::vector<int32_t>{3, 2});
  CHECK(run_import<float>(import, std::vector<float>{-1, 2, 3, 4, -5, 6}) ==
        std::vector<float>{0, 2, 3, 4, 0, 6});
}

TEST_CASE("TFLite's reshape to a single number") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 1}), one = file.tensor("one", kTfliteFloat, {}),
                y = file.tensor("y", kTfliteFloat, {1, 1});
  const int32_t none = file.constant("none", kTfliteInt32, {0}, std::vector<int32_t>{});
  file.op(kTfliteReshape, {x, none}, {one});
  file.op(kTfliteAdd, {x, one}, {y}, tflite::Options::AddOptions,
          tflite::CreateAddOptions(file.fbb()).Union());
  CHECK(run_file(file.finish({x}, {y}), {3}) == std::vector<float>{6});
}

}  // namespace intaglio::test::import_open_shapes_test

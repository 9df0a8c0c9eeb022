// Small files that ask for much: sizes whose products do not fit, constants that no file has to hold, and chains of any length.
// Each is refused by a number, before anything of that size is made.
#include "tests/support/fused_onnx.h"
#include "tests/support/imported.h"
#include "tests/support/ir_builder.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_limits_test {
namespace {

constexpr int64_t kMany = int64_t{1} << 28;  // FP32 numbers: as many bytes as a model may have
constexpr int32_t kFill = 94, kZerosLike = 93, kScatterNd = 122, kRfft = 131, kRnn = 24;

void refused(const std::string& bytes, const std::string& part) {
  Import import(bytes);
  CHECK(!import.good());
  CHECK_MESSAGE(import.says(part), import.message());
}

}  // namespace

TEST_CASE("updates of one place, each time for every element of a large tensor") {
  OnnxBuilder file(18);
  file.input("x", {kMany});
  file.integers("i", {1, 1});
  file.floats("u", {2}, {1, 2});
  set(file.node("ScatterElements", {"x", "i", "u"}, "y"), "reduction", "add");
  file.output("y");
  refused(file.bytes(), "a constant that it needs takes 1073741828 bytes of memory");
}

TEST_CASE("a transposed convolution whose result is cut off but for one element") {
  constexpr int64_t kSide = 1 << 20, kStride = 4096, kWhole = (kSide - 1) * kStride + 1;
  OnnxBuilder file(17);
  file.input("x", {1, 1, kSide});
  file.floats("w", {1, 1, 1}, {1});
  auto& node = file.node("ConvTranspose", {"x", "w"}, "y");
  set(node, "strides", Ints{kStride});
  set(node, "pads", Ints{INT32_MAX, kWhole - INT32_MAX - 1});
  file.output("y");
  refused(file.bytes(), "is larger than the limit");
}

TEST_CASE("constants of very many dimensions") {
  OnnxBuilder file(17);
  file.input("x", {1});
  file.floats("c", Ints(33, 1), {1});
  file.node("Squeeze", {"c"}, "s");
  file.node("Add", {"x", "s"}, "y");
  file.output("y");
  refused(file.bytes(), "it has 33 dimensions; at most 32 are supported");
  TfliteBuilder lite;
  const int32_t x = lite.tensor("x", kTfliteFloat, {1}), y = lite.tensor("y", kTfliteFloat, {1});
  const int32_t filled = lite.tensor("filled", kTfliteFloat, {1});
  const int32_t dims = lite.constant("dims", kTfliteInt32, {33}, std::vector<int32_t>(33, 1)),
                one = lite.constant("one", kTfliteFloat, {}, std::vector<float>{1});
  lite.op(kFill, {dims, one}, {filled});
  lite.op(kTfliteAdd, {x, filled}, {y});
  refused(lite.finish({x}, {y}), "its constant result has 33 dimensions");
}

TEST_CASE("constants that TFLite operators are made of") {
  const auto large = static_cast<int32_t>(kMany);
  {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {1, large / 4}),
                  y = file.tensor("y", kTfliteFloat, {1, 3});
    file.op(kRfft, {x, file.constant("lengths", kTfliteInt32, {2}, std::vector<int32_t>{1, 4})}, {y});
    refused(file.finish({x}, {y}), "a constant that it needs takes 1610612736 bytes of memory");
  }
  {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {1, 1}), y = file.tensor("y", kTfliteFloat, {large});
    const int32_t place = file.constant("place", kTfliteInt32, {1, 1}, std::vector<int32_t>{0}),
                  shape = file.constant("shape", kTfliteInt32, {1}, std::vector<int32_t>{large}),
                  update = file.constant("update", kTfliteFloat, {1}, std::vector<float>{1});
    const int32_t sum = file.tensor("sum", kTfliteFloat, {1, 1});
    file.op(kTfliteAdd, {x, update}, {sum});
    const int32_t row = file.tensor("row", kTfliteFloat, {1});
    file.op(kTfliteReshape, {sum}, {row});
    file.op(kScatterNd, {place, row, shape}, {y});
    refused(file.finish({x}, {y}), "a constant that it needs takes 1073741824 bytes of memory");
  }
  {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {large}), y = file.tensor("y", kTfliteFloat, {large});
    const int32_t one = file.constant("one", kTfliteFloat, {1}, std::vector<float>{1});
    const int32_t sum = file.tensor("sum", kTfliteFloat, {large});
    file.op(kTfliteAdd, {x, one}, {sum});
    file.op(kZerosLike, {sum}, {y});
    refused(file.finish({x}, {y}), "a constant that it needs takes 1073741824 bytes of memory");
  }
}

TEST_CASE("a state whose number of elements does not fit 64 bits") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2}), y = file.tensor("y", kTfliteFloat, {1, 2});
  const std::vector<float> w(4, 0.5f);
  const std::vector<int32_t> inputs{
      x, file.constant("w", kTfliteFloat, {2, 2}, w), file.constant("r", kTfliteFloat, {2, 2}, w),
      file.constant("b", kTfliteFloat, {2}, std::vector<float>(2, 0.0f)),
      file.variable_tensor("h", kTfliteFloat, {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX})};
  file.op(kRnn, inputs, {y}, tflite::Options::RNNOptions,
          tflite::CreateRNNOptions(file.fbb(), tflite::Activation::Tanh).Union());
  refused(file.finish({x}, {y}), "is larger than the limit");
}

TEST_CASE("OpenVINO weights behind a long chain of layers that keep them") {
  Ir ir;
  const int x = ir.input("x", {1, 1, 2, 2});
  const int shape = ir.integers({1, 1, 1, 1});
  int w = ir.floats({1, 1, 1, 1}, {3});
  for (int i = 0; i < 8000; ++i) {
    const std::string name = "w" + std::to_string(i);
    w = ir.layer("Convert", name + "c", {w}, {1, 1, 1, 1}, "destination_type=\"f32\"");
    w = ir.layer("Reshape", name + "r", {w, shape}, {1, 1, 1, 1}, "special_zero=\"false\"");
  }
  ir.output(ir.layer("Convolution", "conv", {x, w}, {1, 1, 2, 2},
                     "strides=\"1, 1\" dilations=\"1, 1\" pads_begin=\"0, 0\" pads_end=\"0, 0\""));
  Import import(ir.xml(), ir.options());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, std::vector<float>{1, 2, 3, 4}) == std::vector<float>{3, 6, 9, 12});
}

}  // namespace intaglio::test::import_limits_test

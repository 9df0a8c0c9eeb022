// TFLite operators beyond convolutions, uint8 files, and weights that are dequantized at import.
#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

using tflite::Options;

constexpr int8_t kTfliteHalf = 1;

// A fully connected layer of two inputs, with these weights and their quantization.
template <typename T>
std::string linear(int8_t type, int8_t weight_type, const std::vector<T>& w, const TfliteScales& x_scales,
                   const TfliteScales& w_scales, const TfliteScales& y_scales) {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", type, {1, 2}, x_scales);
  const int32_t weights = file.constant("w", weight_type, {1, 2}, w, w_scales);
  const int32_t y = file.tensor("y", type, {1, 1}, y_scales);
  file.op(kTfliteFullyConnected, {x, weights}, {y}, Options::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(file.fbb()).Union());
  return file.finish({x}, {y});
}

}  // namespace

TEST_CASE("hybrid weights are dequantized") {
  Import import(linear<int8_t>(kTfliteFloat, kTfliteInt8, {10, -20}, {}, {{0.1f}}, {}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(std::fabs(run_import<float>(import, std::vector<float>{1, 2})[0] + 3) < 1e-5);
}

TEST_CASE("float16 weights behind a DEQUANTIZE") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2});
  const int32_t half = file.constant("h", kTfliteHalf, {1, 2}, std::vector<uint16_t>{0x3c00, 0xc100});
  const int32_t w = file.tensor("w", kTfliteFloat, {1, 2});
  const int32_t y = file.tensor("y", kTfliteFloat, {1, 1});
  file.op(kTfliteDequantize, {half}, {w});
  file.op(kTfliteFullyConnected, {x, w}, {y}, Options::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(file.fbb()).Union());
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, std::vector<float>{3, 2}) == std::vector<float>{3 - 5});
}

TEST_CASE("uint8: codes are shifted by 128, and weights beyond int8 get a scale of their own") {
  // Weights 3 - 3 = 0 and 253 - 3 = 250: beyond int8.
  Import import(
      linear<uint8_t>(kTfliteUint8, kTfliteUint8, {3, 253}, {{0.5f}, 128}, {{0.01f}, 3}, {{0.5f}, 130}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.input().quantization.zero_point == 0);
  CHECK(import.output().quantization.zero_point == 2);
  size_t coarser = 0;
  for (const std::string& note : import.outcome->report.notes)
    coarser += note.find("1 of 1 channels hold weights beyond int8") != std::string::npos;
  CHECK(coarser == 1);
  // 40 * 0.5 * 2.5 = 50 = 100 * 0.5
  CHECK(run_import<int8_t>(import, std::vector<int8_t>{10, 40}) == std::vector<int8_t>{102});
}

TEST_CASE("uint8 weights that fit are kept, -128 too") {
  Import import(
      linear<uint8_t>(kTfliteUint8, kTfliteUint8, {0, 255}, {{1.0f}, 128}, {{1.0f}, 128}, {{64.0f}, 128}));
  REQUIRE_MESSAGE(import.good(), import.message());
  const Span<const uint8_t> codes = import.tensor(import.node(Op::kFullyConnected).inputs[1]).constant;
  CHECK(static_cast<int8_t>(codes[0]) == -128);
  CHECK(static_cast<int8_t>(codes[1]) == 127);
}

TEST_CASE("int8 functions are tables, and CONCATENATION brings its inputs to one scale") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteInt8, {1, 2}, TfliteScales{{0.25f}});
  const int32_t s = file.tensor("s", kTfliteInt8, {1, 2}, {{1.0f / 256}, -128});
  const int32_t l = file.tensor("l", kTfliteInt8, {1, 2}, TfliteScales{{0.25f}});
  const int32_t y = file.tensor("y", kTfliteInt8, {1, 4}, TfliteScales{{0.25f}});
  file.op(14, {x}, {s});  // LOGISTIC
  file.op(98, {x}, {l}, Options::LeakyReluOptions, tflite::CreateLeakyReluOptions(file.fbb(), 0.5f).Union());
  file.op(2, {s, l}, {y}, Options::ConcatenationOptions,
          tflite::CreateConcatenationOptions(file.fbb(), 1).Union());
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.count(Op::kLookup) == 3);
  // Sigmoid of -8 and 20 is about 0 and 1.
  CHECK(run_import<int8_t>(import, std::vector<int8_t>{-32, 80}) == std::vector<int8_t>{0, 4, -16, 80});
}

TEST_CASE("STRIDED_SLICE with masks, SUB, RESIZE_NEAREST_NEIGHBOR") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2, 2, 3});
  const int32_t size = file.constant("size", kTfliteInt32, {2}, std::vector<int32_t>{4, 4});
  const int32_t begin = file.constant("begin", kTfliteInt32, {4}, std::vector<int32_t>{0, 3, 0, 2});
  const int32_t end = file.constant("end", kTfliteInt32, {4}, std::vector<int32_t>{1, 4, 4, -9});
  const int32_t step = file.constant("step", kTfliteInt32, {4}, std::vector<int32_t>{1, 1, 2, -2});
  const int32_t ten = file.constant("ten", kTfliteFloat, {}, std::vector<float>{10});
  const int32_t r = file.tensor("r", kTfliteFloat, {1, 4, 4, 3});
  const int32_t p = file.tensor("p", kTfliteFloat, {1, 2, 2});
  const int32_t y = file.tensor("y", kTfliteFloat, {1, 2, 2});
  file.op(97, {x, size}, {r}, Options::ResizeNearestNeighborOptions,
          tflite::CreateResizeNearestNeighborOptions(file.fbb()).Union());
  file.op(45, {r, begin, end, step}, {p}, Options::StridedSliceOptions,
          tflite::CreateStridedSliceOptions(file.fbb(), 0, 0, 0, 0, 2).Union());
  file.op(41, {ten, p}, {y});
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  std::vector<float> input(12);
  for (size_t i = 0; i < 12; ++i) input[i] = static_cast<float>(i);
  CHECK(run_import<float>(import, input) == std::vector<float>{2, 4, -1, 1});
}

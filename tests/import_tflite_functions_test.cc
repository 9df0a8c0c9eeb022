// TFLite operators beyond convolutions, uint8 files, and weights that are dequantized at import.
#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_functions_test {
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

TEST_CASE("uint8: codes are shifted by 128, and weights beyond int8 are exact") {
  // Weights 3 - 3 = 0 and 253 - 3 = 250: beyond int8.
  Import import(
      linear<uint8_t>(kTfliteUint8, kTfliteUint8, {3, 253}, {{0.5f}, 128}, {{0.01f}, 3}, {{0.5f}, 130}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.input().quantization.zero_point == 0);
  CHECK(import.output().quantization.zero_point == 2);
  CHECK(import.notes("weights less their zero point are beyond int8 in 1 layer"));
  // 40 * 0.5 * 2.5 = 50 = 100 * 0.5
  CHECK(run_import<int8_t>(import, std::vector<int8_t>{10, 40}) == std::vector<int8_t>{102});
}

TEST_CASE("ADD and SUB of int8 give XNNPACK's codes, for each pair of codes") {
  constexpr int32_t kCodes = 256, kSub = 41;
  constexpr float kScales[] = {0.27853474f, 0.33066204f, 0.38627315f};
  constexpr int32_t kZeroPoints[] = {-6, 26, 23};
  std::vector<int8_t> all(kCodes);
  for (int32_t i = 0; i < kCodes; ++i) all[static_cast<size_t>(i)] = static_cast<int8_t>(i - 128);
  for (const int32_t code : {int32_t{kTfliteAdd}, kSub}) {
    CAPTURE(code);
    TfliteBuilder file;
    const int32_t x =
        file.tensor("x", kTfliteInt8, {1, kCodes, 1}, TfliteScales{{kScales[0]}, kZeroPoints[0]});
    const int32_t k =
        file.constant("k", kTfliteInt8, {1, 1, kCodes}, all, TfliteScales{{kScales[1]}, kZeroPoints[1]});
    const int32_t y =
        file.tensor("y", kTfliteInt8, {1, kCodes, kCodes}, TfliteScales{{kScales[2]}, kZeroPoints[2]});
    file.op(code, {x, k}, {y}, code == kSub ? Options::SubOptions : Options::AddOptions,
            code == kSub ? tflite::CreateSubOptions(file.fbb()).Union()
                         : tflite::CreateAddOptions(file.fbb()).Union());
    const std::vector<int8_t> got = run_file<int8_t>(file.finish({x}, {y}), all);
    // The larger ratio is in [2^-1, 1): the shift is 21.
    const auto multiplier = [&](int i) { return std::lrint(std::ldexp(kScales[i] / kScales[2], 21)); };
    const int64_t by_a = multiplier(0), by_b = code == kSub ? -multiplier(1) : multiplier(1);
    std::vector<int8_t> expected;
    for (int32_t a = -128; a < 128; ++a)
      for (int32_t b = -128; b < 128; ++b) {
        const int64_t sum = (a - kZeroPoints[0]) * by_a + (b - kZeroPoints[1]) * by_b + (1 << 20);
        expected.push_back(
            static_cast<int8_t>(std::clamp(static_cast<int32_t>(sum >> 21) + kZeroPoints[2], -128, 127)));
      }
    CHECK(got == expected);
  }
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
  CHECK(import.count(Op::kLookup) == 2);  // the sigmoid goes to CONCATENATION's scale at once
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

TEST_CASE("SPLIT_V, UNPACK and PACK take apart and put together") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {2, 3});
  const int32_t sizes = file.constant("sizes", kTfliteInt32, {2}, std::vector<int32_t>{1, -1});
  const int32_t axis = file.constant("axis", kTfliteInt32, {}, std::vector<int32_t>{-1});
  const int32_t first = file.tensor("first", kTfliteFloat, {2, 1});
  const int32_t rest = file.tensor("rest", kTfliteFloat, {2, 2});
  file.op(102, {x, sizes, axis}, {first, rest});
  const int32_t left = file.tensor("left", kTfliteFloat, {2}),
                right = file.tensor("right", kTfliteFloat, {2});
  file.op(88, {rest}, {left, right}, Options::UnpackOptions,
          tflite::CreateUnpackOptions(file.fbb(), 2, 1).Union());
  const int32_t y = file.tensor("y", kTfliteFloat, {2, 2});
  file.op(83, {right, left}, {y}, Options::PackOptions, tflite::CreatePackOptions(file.fbb(), 2, 0).Union());
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, std::vector<float>{1, 2, 3, 4, 5, 6}) == std::vector<float>{3, 6, 2, 5});
}

TEST_CASE("a convolution between SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND is a dilated one") {
  for (const bool alone : {false, true}) {  // without a convolution they are Reshape, Transpose and a slice
    CAPTURE(alone);
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {1, 5, 1, 1});
    const int32_t block = file.constant("block", kTfliteInt32, {2}, std::vector<int32_t>{2, 1});
    const int32_t pads = file.constant("pads", kTfliteInt32, {2, 2}, std::vector<int32_t>{2, 3, 0, 0});
    const int32_t crops =
        file.constant("crops", kTfliteInt32, {2, 2},
                      alone ? std::vector<int32_t>{2, 3, 0, 0} : std::vector<int32_t>{0, 1, 0, 0});
    const int32_t apart = file.tensor("apart", kTfliteFloat, {2, 5, 1, 1});
    file.op(38, {x, block, pads}, {apart});
    int32_t result = apart;
    if (!alone) {
      const int32_t w = file.constant("w", kTfliteFloat, {1, 3, 1, 1}, std::vector<float>{1, 10, 100});
      result = file.tensor("conv", kTfliteFloat, {2, 3, 1, 1});
      file.op(kTfliteConv, {apart, w}, {result}, Options::Conv2DOptions,
              tflite::CreateConv2DOptions(file.fbb(), tflite::Padding::Valid, 1, 1).Union());
    }
    const int32_t y = file.tensor("y", kTfliteFloat, {1, 5, 1, 1});
    file.op(37, {result, block, crops}, {y});
    Import import(file.finish({x}, {y}));
    REQUIRE_MESSAGE(import.good(), import.message());
    const std::vector<float> input{1, 2, 3, 4, 5};
    if (alone) {
      CHECK(run_import<float>(import, input) == input);
      continue;
    }
    CHECK(import.ops() == std::vector<Op>{Op::kConv2d});
    CHECK(import.node(Op::kConv2d).options.as<Window2d>().dilation_h == 2);
    CHECK(import.node(Op::kConv2d).options.as<Window2d>().pad_top == 2);
    CHECK(run_import<float>(import, input) == std::vector<float>{310, 420, 531, 42, 53});
  }
}

TEST_CASE("arithmetic on shapes leaves no node, and CAST none on constants") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {2, 3, 4});
  const int32_t zero = file.constant("zero", kTfliteInt32, {1}, std::vector<int32_t>{0});
  const int32_t one = file.constant("one", kTfliteInt32, {1}, std::vector<int32_t>{1});
  const int32_t twelve = file.constant("twelve", kTfliteFloat, {}, std::vector<float>{12});
  const int32_t shape = file.tensor("shape", kTfliteInt32, {3}),
                batch = file.tensor("batch", kTfliteInt32, {});
  const int32_t columns = file.tensor("columns", kTfliteInt32, {}), to = file.tensor("to", kTfliteInt32, {2});
  const int32_t y = file.tensor("y", kTfliteFloat, {2, 12});
  file.op(77, {x}, {shape});
  file.op(45, {shape, zero, one, one}, {batch}, Options::StridedSliceOptions,
          tflite::CreateStridedSliceOptions(file.fbb(), 0, 0, 0, 0, 1).Union());
  file.op(53, {twelve}, {columns});
  file.op(83, {batch, columns}, {to}, Options::PackOptions,
          tflite::CreatePackOptions(file.fbb(), 2, 0).Union());
  file.op(kTfliteReshape, {x, to}, {y});
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kReshape});
}

TEST_CASE("int8: SUM has the scale of its output, MAXIMUM compares codes of one scale") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteInt8, {1, 4}, {{0.02f}, 3});
  const int32_t axis = file.constant("axis", kTfliteInt32, {1}, std::vector<int32_t>{1});
  const int32_t s = file.tensor("s", kTfliteInt8, {1, 1}, {{0.1f}, -5});
  const int32_t c = file.constant("c", kTfliteInt8, {1, 2}, std::vector<int8_t>{-9, 4}, {{0.1f}, -5});
  const int32_t y = file.tensor("y", kTfliteInt8, {1, 2}, {{0.1f}, -5});
  file.op(74, {x, axis}, {s}, Options::ReducerOptions,
          tflite::CreateReducerOptions(file.fbb(), true).Union());
  file.op(55, {s, c}, {y});
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  // (7 + 17 + 27 - 43) * 0.02 = 0.16 = 0.1 * 2, rounded
  CHECK(run_import<int8_t>(import, std::vector<int8_t>{10, 20, 30, -40}) == std::vector<int8_t>{-3, 4});
}

TEST_CASE("functions, GATHER, TILE, MIRROR_PAD, L2_NORMALIZATION") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 3});
  const int32_t order = file.constant("order", kTfliteInt32, {2}, std::vector<int32_t>{2, 0});
  const int32_t pads = file.constant("pads", kTfliteInt32, {2, 2}, std::vector<int32_t>{0, 0, 2, 0});
  const int32_t twice = file.constant("twice", kTfliteInt32, {2}, std::vector<int32_t>{2, 1});
  const int32_t r = file.tensor("r", kTfliteFloat, {1, 3}), g = file.tensor("g", kTfliteFloat, {1, 2});
  const int32_t p = file.tensor("p", kTfliteFloat, {1, 4}), l = file.tensor("l", kTfliteFloat, {1, 4});
  const int32_t y = file.tensor("y", kTfliteFloat, {2, 4});
  file.op(75, {x}, {r});  // SQRT
  file.op(36, {r, order}, {g}, Options::GatherOptions, tflite::CreateGatherOptions(file.fbb(), 1).Union());
  file.op(100, {g, pads}, {p}, Options::MirrorPadOptions,
          tflite::CreateMirrorPadOptions(file.fbb(), 1).Union());
  file.op(11, {p}, {l});
  file.op(69, {l, twice}, {y});
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  // Roots 3, 4, 5 to 5, 3 to 3, 5, 5, 3, whose squares add up to 68.
  const std::vector<float> got = run_import<float>(import, std::vector<float>{9, 16, 25});
  const double norm = std::sqrt(68.0), expected[] = {3, 5, 5, 3, 3, 5, 5, 3};
  for (size_t i = 0; i < 8; ++i) CHECK(std::fabs(got[i] - expected[i] / norm) < 1e-6);
}

TEST_CASE("MIRROR_PAD into another scale") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteInt8, {1, 2}, {{0.5f}, 0});
  const int32_t pads = file.constant("pads", kTfliteInt32, {2, 2}, std::vector<int32_t>{0, 0, 1, 1});
  const int32_t y = file.tensor("y", kTfliteInt8, {1, 4}, {{1.0f}, 0});
  file.op(100, {x, pads}, {y}, Options::MirrorPadOptions,
          tflite::CreateMirrorPadOptions(file.fbb(), 0).Union());
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<int8_t>(import, std::vector<int8_t>{2, 8}) == std::vector<int8_t>{4, 1, 4, 1});
}

}  // namespace intaglio::test::import_tflite_functions_test

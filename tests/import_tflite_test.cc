// The TFLite importer on small files made in memory: numbers, structure, refusals.
#include "tests/support/imported.h"
#include "tests/support/random.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_test {
namespace {

using tflite::Activation;
using tflite::Options;
using tflite::Padding;

void holds(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}

// A float convolution of a 1 x 4 x 4 x 1 picture with a window of ones.
struct ConvFile {
  int32_t stride = 1, dilation = 1;
  Padding padding = Padding::Same;
  Activation activation = Activation::None;
  int8_t input_type = kTfliteFloat;
  std::vector<int32_t> out = {1, 4, 4, 1};
  bool variable_weights = false, pad = false, relu = false;
  size_t weight_count = 9;

  std::string bytes() const {
    TfliteBuilder file;
    int32_t x = file.tensor("x", input_type, {1, 4, 4, 1});
    const int32_t input = x;
    if (pad) {
      const int32_t pads =
          file.constant("pads", kTfliteInt32, {4, 2}, std::vector<int32_t>{0, 0, 1, 1, 1, 1, 0, 0});
      const int32_t padded = file.tensor("padded", kTfliteFloat, {1, 6, 6, 1});
      file.op(kTflitePad, {x, pads}, {padded});
      x = padded;
    }
    const int32_t w = variable_weights ? file.tensor("w", kTfliteFloat, {1, 3, 3, 1})
                                       : file.constant("w", kTfliteFloat, {1, 3, 3, 1},
                                                       std::vector<float>(weight_count, 1));
    int32_t y = file.tensor("y", kTfliteFloat, out);
    file.op(kTfliteConv, {x, w}, {y}, Options::Conv2DOptions,
            tflite::CreateConv2DOptions(file.fbb(), padding, stride, stride, activation, dilation, dilation)
                .Union());
    if (relu) {
      const int32_t z = file.tensor("z", kTfliteFloat, out);
      file.op(kTfliteRelu6, {y}, {z});
      y = z;
    }
    return file.finish({input}, {y});
  }
};

const std::vector<float> kPicture = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

// An int8 network: quantize, convolution, depthwise, add, pool, fully connected, softmax, dequantize.
std::string int8_network() {
  Random random(1);
  TfliteBuilder file;
  const auto picture = [&](const char* name, int32_t side, int32_t c, float scale, int64_t zero_point) {
    return file.tensor(name, kTfliteInt8, {1, side, side, c}, {{scale}, zero_point});
  };
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 8, 8, 3});
  const int32_t q = picture("q", 8, 3, 0.01f, 3);
  file.op(kTfliteQuantize, {x}, {q});
  const std::vector<float> channel_scales = {0.01f, 0.02f, 0.03f, 0.04f};
  const int32_t w1 =
      file.constant("w1", kTfliteInt8, {4, 3, 3, 3}, random.codes(108), {channel_scales, 0, 0});
  std::vector<float> bias_scales;
  for (const float s : channel_scales) bias_scales.push_back(s * 0.01f);
  const int32_t b1 =
      file.constant("b1", kTfliteInt32, {4}, std::vector<int32_t>{100, -100, 0, 5}, {bias_scales, 0, 0});
  const int32_t c1 = picture("c1", 8, 4, 0.1f, -128);
  file.op(kTfliteConv, {q, w1, b1}, {c1}, Options::Conv2DOptions,
          tflite::CreateConv2DOptions(file.fbb(), Padding::Same, 1, 1, Activation::Relu6).Union());
  const int32_t w2 = file.constant("w2", kTfliteInt8, {1, 3, 3, 4}, random.codes(36), {channel_scales, 0, 3});
  const int32_t c2 = picture("c2", 8, 4, 0.2f, 10);
  file.op(kTfliteDepthwise, {c1, w2}, {c2}, Options::DepthwiseConv2DOptions,
          tflite::CreateDepthwiseConv2DOptions(file.fbb(), Padding::Same, 1, 1, 1).Union());
  const int32_t a = picture("a", 8, 4, 0.25f, -10);
  file.op(kTfliteAdd, {c1, c2}, {a}, Options::AddOptions,
          tflite::CreateAddOptions(file.fbb(), Activation::Relu).Union());
  const int32_t m = picture("m", 4, 4, 0.3f, 0);  // another scale than its input's
  file.op(kTfliteMaxPool, {a}, {m}, Options::Pool2DOptions,
          tflite::CreatePool2DOptions(file.fbb(), Padding::Valid, 2, 2, 2, 2).Union());
  const int32_t axes = file.constant("axes", kTfliteInt32, {2}, std::vector<int32_t>{1, 2});
  const int32_t g = file.tensor("g", kTfliteInt8, {1, 4}, {{0.2f}, 1});
  file.op(kTfliteMean, {m, axes}, {g}, Options::ReducerOptions,
          tflite::CreateReducerOptions(file.fbb(), false).Union());
  const int32_t w3 = file.constant("w3", kTfliteInt8, {5, 4}, random.codes(20), {{0.05f}, 0, 0});
  const int32_t f = file.tensor("f", kTfliteInt8, {1, 5}, {{0.5f}, 2});
  file.op(kTfliteFullyConnected, {g, w3, -1}, {f}, Options::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(file.fbb()).Union());
  const int32_t s = file.tensor("s", kTfliteInt8, {1, 5}, {{1.0f / 256}, -128});
  file.op(kTfliteSoftmax, {f}, {s}, Options::SoftmaxOptions,
          tflite::CreateSoftmaxOptions(file.fbb(), 1.0f).Union());
  const int32_t y = file.tensor("y", kTfliteFloat, {1, 5});
  file.op(kTfliteDequantize, {s}, {y});
  return file.finish({x}, {y});
}

}  // namespace

TEST_CASE("SAME, VALID, stride and dilation") {
  ConvFile file;
  Import same(file.bytes());
  REQUIRE_MESSAGE(same.good(), same.message());
  const std::vector<float> sums = run_import<float>(same, kPicture);
  CHECK(sums[0] == 1 + 2 + 5 + 6);
  CHECK(sums[5] == 54);
  file.padding = Padding::Valid;
  file.out = {1, 2, 2, 1};
  Import valid(file.bytes());
  CHECK(run_import<float>(valid, kPicture) == std::vector<float>{54, 63, 90, 99});
  file.padding = Padding::Same;
  file.stride = 2;  // the odd row goes behind
  Import strided(file.bytes());
  CHECK(run_import<float>(strided, kPicture) == std::vector<float>{54, 45, 72, 54});
  file.stride = 1;
  file.dilation = 2;
  file.out = {1, 4, 4, 1};
  Import dilated(file.bytes());
  CHECK(run_import<float>(dilated, kPicture)[0] == 1 + 3 + 9 + 11);
}

TEST_CASE("fused and standalone activations, and Pad") {
  ConvFile file;
  file.activation = Activation::Relu;
  Import fused(file.bytes());
  CHECK(fused.node(Op::kConv2d).options.as<Clamp>().min == 0.0f);
  CHECK(fused.node(Op::kConv2d).options.as<Clamp>().max == std::numeric_limits<float>::infinity());
  file.pad = true;
  file.relu = true;
  file.padding = Padding::Valid;
  Import padded(file.bytes());
  REQUIRE_MESSAGE(padded.good(), padded.message());
  CHECK(padded.ops() == std::vector<Op>{Op::kConv2d});
  const NodeOptions& options = padded.node(Op::kConv2d).options;
  CHECK(options.as<Window2d>().pad_top == 1);
  CHECK(options.as<Window2d>().pad_right == 1);
  CHECK(options.as<Clamp>().max == 6.0f);
  CHECK(std::string(padded.output().name) == "z");
}

TEST_CASE("an int8 network keeps its scales") {
  Import import(int8_network());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kQuantize, Op::kConv2d, Op::kDepthwiseConv2d, Op::kAdd,
                                        Op::kMaxPool2d, Op::kLookup, Op::kMean, Op::kFullyConnected,
                                        Op::kSoftmax, Op::kDequantize});
  const GraphNode& conv = import.node(Op::kConv2d);
  CHECK(conv.options.as<Clamp>().lo == -128);
  CHECK(conv.options.as<Clamp>().hi == -68);  // 6 / 0.1 above the zero point
  const TensorInfo& weights = import.tensor(conv.inputs[1]);
  CHECK(weights.quantization.axis == 0);
  CHECK(weights.quantization.scales.size == 4);
  const TensorInfo& depthwise = import.tensor(import.node(Op::kDepthwiseConv2d).inputs[1]);
  CHECK(import.dims(depthwise) == std::vector<int32_t>{3, 3, 4});
  CHECK(depthwise.quantization.axis == 2);
  CHECK(import.node(Op::kAdd).options.as<Clamp>().lo == -10);
  const TensorInfo& table = import.tensor(import.node(Op::kSoftmax).inputs[1]);
  CHECK(table.dtype == DType::kS32);
  CHECK(reinterpret_cast<const int32_t*>(table.constant.data)[0] == 1 << 23);
  Random random(2);
  const auto out = run_import<float>(import, random.reals(192, -1, 1));
  float sum = 0;
  for (const float v : out) sum += v;
  CHECK(sum == doctest::Approx(1).epsilon(0.02));
}

TEST_CASE("an int8 Relu with another scale becomes a table") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteInt8, {1, 4}, {{0.5f}, 10});
  const int32_t y = file.tensor("y", kTfliteInt8, {1, 4}, {{0.25f}, -128});
  file.op(kTfliteRelu, {x}, {y});
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kLookup});
  CHECK(run_import<int8_t>(import, std::vector<int8_t>{0, 10, 11, 127}) ==
        std::vector<int8_t>{-128, -128, -126, 106});
}

TEST_CASE("a batch of several") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2, 2});
  const int32_t r = file.tensor("r", kTfliteFloat, {1, 4});
  const int32_t shape = file.constant("shape", kTfliteInt32, {2}, std::vector<int32_t>{1, 4});
  const int32_t w = file.constant("w", kTfliteFloat, {1, 4}, std::vector<float>{1, 1, 1, 1});
  const int32_t y = file.tensor("y", kTfliteFloat, {1, 1});
  file.op(kTfliteReshape, {x, shape}, {r});
  file.op(kTfliteFullyConnected, {r, w}, {y}, Options::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(file.fbb()).Union());
  const std::string bytes = file.finish({x}, {y});
  ImportOptions options;
  options.batch = 3;
  Import import(bytes, options);
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.dims(import.output()) == std::vector<int32_t>{3, 1});
  CHECK(run_import<float>(import, std::vector<float>{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}) ==
        std::vector<float>{4, 8, 12});
}

TEST_CASE("faults of the file are named") {
  ConvFile file;
  const auto message = [&] { return Import(file.bytes()).message(); };
  SUBCASE("output shape") {
    file.out = {1, 4, 5, 1};
    holds(message(),
          "node 'y' (CONV_2D): its output is [1, 4, 5, 1] in the file, its inputs give [1, 4, 4, 1]");
  }
  SUBCASE("stride 0") {
    file.stride = 0;
    holds(message(), "stride 0 is not allowed");
  }
  SUBCASE("an element type that no tensor has here") {
    constexpr int8_t kComplex128 = 11;
    file.input_type = kComplex128;
    holds(message(), "tensor 'x': element type 11 is not supported");
  }
  SUBCASE("complex numbers") {
    constexpr int8_t kComplex64 = 8;
    file.input_type = kComplex64;
    holds(message(), "input 'x' holds complex numbers");
  }
  SUBCASE("weights that are no constant") {
    file.variable_weights = true;
    holds(message(), "input 1 ('w') is read before anything writes it");
  }
  SUBCASE("weights that are too short") {
    file.weight_count = 8;
    holds(message(), "tensor 'w': it holds 32 bytes, its shape [1, 3, 3, 1] needs 36");
  }
  SUBCASE("an activation that is not known") {
    file.activation = Activation::Tanh;
    holds(message(), "fused activation 4");
  }
}

TEST_CASE("unknown operators and bad indices are refused") {
  {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {1, 2});
    const int32_t y = file.tensor("y", kTfliteFloat, {1, 2}), z = file.tensor("z", kTfliteFloat, {1, 2});
    file.op(103, {x}, {y});
    file.op(113, {y}, {z});
    const std::string message = Import(file.finish({x}, {z})).message();
    holds(message, "2 problems");
    holds(message, "node 'y' (UNIQUE): this operator is not supported");
    holds(message, "node 'z' (MATRIX_DIAG): this operator is not supported");
  }
  for (const int32_t bad : {-2, 7, 1 << 30}) {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {1, 2}), y = file.tensor("y", kTfliteFloat, {1, 2});
    file.op(kTfliteRelu, {bad}, {y});
    holds(Import(file.finish({x}, {y})).message(), "tensor index " + std::to_string(bad) + " does not exist");
  }
  {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {1, 2}), y = file.tensor("y", kTfliteFloat, {1, 2});
    file.op(kTfliteRelu, {y}, {y});
    holds(Import(file.finish({x}, {y})).message(), "is read before anything writes it");
  }
  {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {1 << 20, 1 << 20}),
                  y = file.tensor("y", kTfliteFloat, {1, 2});
    file.op(kTfliteRelu, {x}, {y});
    holds(Import(file.finish({x}, {y})).message(), "is larger than the limit");
  }
}

// Found by the fuzzer.
TEST_CASE("64-bit numbers that are not aligned") {
  for (const bool filled : {false, true}) {
    TfliteBuilder file;
    auto& fbb = file.fbb();
    const auto scale = fbb.CreateVector(std::vector<float>{0.5f});
    if (filled)
      fbb.CreateVector(std::vector<int32_t>{1, 2});  // 12 bytes: moves what follows by half a number
    // The vector of one 64-bit 7 inside one of 32-bit numbers: its length, 1, stands before it.
    const auto numbers = fbb.CreateVector(std::vector<int32_t>{1, 7, 0});
    const flatbuffers::Offset<flatbuffers::Vector<int64_t>> zero_point(numbers.o - 4);
    const auto quantization = tflite::CreateQuantization(fbb, scale, zero_point);
    const int32_t x = file.tensor("x", kTfliteInt8, {1, 2}, quantization);
    const int32_t y = file.tensor("y", kTfliteFloat, {1, 2});
    file.op(kTfliteDequantize, {x}, {y});
    Import import(file.finish({x}, {y}));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.input().quantization.zero_point == 7);
  }
}

TEST_CASE("bytes that are neither format") {
  holds(Import(std::string("hello, world, this is no model")).message(), "neither a TFLite file");
  holds(Import(std::string("abc")).message(), "too few");
  holds(Import(std::string("\x18\0\0\0TFL3", 8)).message(), "damaged");
}

TEST_CASE("cut short at every length: refused") {
  for (const std::string& bytes : {int8_network(), ConvFile().bytes()}) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      const AlignedBytes exact(Span<const uint8_t>(reinterpret_cast<const uint8_t*>(bytes.data()), size));
      Import import(exact.view());
      CHECK(!import.good());
      CHECK(!import.message().empty());
    }
  }
}

TEST_CASE("random damage: refused with a message, or a model that opens") {
  check_random_damage(int8_network(), 3, 6000, 3);
}

}  // namespace intaglio::test::import_tflite_test

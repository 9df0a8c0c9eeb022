// Nodes that a TFLite file has in 16 bits compute on codes of 16 bits.
#include <cmath>

#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_16_bits_test {
namespace {

using tflite::Options;
using Reals = std::vector<float>;

constexpr int8_t kFloat16 = 1, kInt16 = 7, kInt4 = 17;

TfliteScales by(float scale, int64_t zero_point = 0) { return {{scale}, zero_point}; }

float as_code(double real, float scale) {
  return scale * static_cast<float>(std::nearbyint(std::clamp(real / scale, -32768.0, 32767.0)));
}

// Between the Quantize of each input and the Dequantize of the output every activation has 16 bits.
bool is_on_codes(Import& import) {
  size_t others = 0;
  for (const GraphNode& node : import.graph().nodes)
    others += import.tensor(node.outputs[0]).dtype != DType::kS16;
  return others == 1 && import.graph().nodes[import.graph().nodes.size() - 1].op == Op::kDequantize;
}

}  // namespace

TEST_CASE("a layer of 16 bits with int8 weights and a bias of 64 bits") {
  for (const int8_t bias_type : {kTfliteInt64, kTfliteInt32}) {
    TfliteBuilder file;
    const float x_scale = 0.5f, y_scale = 0.01f;
    const Reals w_scales{0.25f, 2.0f};
    const int32_t x = file.tensor("x", kInt16, {1, 3}, by(x_scale));
    const std::vector<int8_t> codes{1, -2, 3, 127, 0, -128};
    const int32_t w = file.constant("w", kTfliteInt8, {2, 3}, codes, TfliteScales{w_scales});
    const TfliteScales products{{x_scale * w_scales[0], x_scale * w_scales[1]}};
    const int32_t b = bias_type == kTfliteInt64
                          ? file.constant("b", kTfliteInt64, {2}, std::vector<int64_t>{40, -3}, products)
                          : file.constant("b", kTfliteInt32, {2}, std::vector<int32_t>{40, -3}, products);
    const int32_t y = file.tensor("y", kInt16, {1, 2}, by(y_scale));
    file.op(kTfliteFullyConnected, {x, w, b}, {y}, Options::FullyConnectedOptions,
            tflite::CreateFullyConnectedOptions(file.fbb()).Union());
    const std::string bytes = file.finish({x}, {y});
    const Reals got = run_file(bytes, {4.0f, -2.0f, 0.5f});
    CHECK(got == Reals{as_code(0.25 * (4 + 4 + 1.5) + 40 * 0.125, y_scale), y_scale * 32767});
    CHECK(run_file(bytes, {-4.0f, 0.0f, 0.5f})[1] == y_scale * -32768);
    Import import(bytes);
    CHECK(import.notes("input 'x' is int16 in the file; here it is float, and becomes codes behind it"));
    CHECK(import.ops() == std::vector<Op>{Op::kQuantize, Op::kFullyConnected, Op::kDequantize});
    CHECK(is_on_codes(import));
    CHECK(import.tensor(import.node(Op::kFullyConnected).inputs[1]).dtype == DType::kS8);
  }
}

TEST_CASE(
    "int32 with a scale is the numbers that its codes stand for, between codes of 8 and 16 bits and reals") {
  constexpr int32_t kQuantize = 114, kDequantize = 6;
  constexpr float kFine = 0x1p-20f, kCoarse = 0x1p-10f;
  const struct {
    int32_t code;
    int8_t from, to;
    float from_scale, to_scale;  // 0: none
    Reals in, out;               // as the model has them: integers are codes, all else is reals
  } cases[] = {
      {kQuantize, kInt16, kTfliteInt32, kCoarse, kFine, {2.5f, -0.25f}, {2.5f / kFine, -0.25f / kFine}},
      {kQuantize, kTfliteInt32, kInt16, kFine, kCoarse, {2621440.0f, -262144.0f}, {2.5f, -0.25f}},
      {kQuantize, kTfliteInt32, kTfliteInt32, kFine, kCoarse, {2621440.0f, -1536.0f}, {2560, -2}},
      {kQuantize, 0, kTfliteInt32, 0, kCoarse, {2.5f, -0.25f}, {2560, -256}},
      {kDequantize, kTfliteInt32, 0, kFine, 0, {2621440.0f, -262144.0f}, {2.5f, -0.25f}},
      {kDequantize, kTfliteInt32, 0, 0, 0, {7, -3}, {7, -3}}};
  for (const auto& c : cases) {
    CAPTURE(static_cast<int>(c.from));
    CAPTURE(static_cast<int>(c.to));
    TfliteBuilder file;
    const int32_t x = c.from_scale == 0 ? file.tensor("x", c.from, {1, 2})
                                        : file.tensor("x", c.from, {1, 2}, by(c.from_scale));
    const int32_t y =
        c.to_scale == 0 ? file.tensor("y", c.to, {1, 2}) : file.tensor("y", c.to, {1, 2}, by(c.to_scale));
    file.op(c.code, {x}, {y});
    Import import(file.finish({x}, {y}));
    REQUIRE_MESSAGE(import.good(), import.message());
    const std::vector<int32_t> codes(c.in.begin(), c.in.end());
    const bool gives_integers = c.to == kTfliteInt32;
    Reals got;
    const auto take = [&](const auto& values) { got.assign(values.begin(), values.end()); };
    if (c.from == kTfliteInt32 && gives_integers) take(run_import<int32_t>(import, codes));
    if (c.from == kTfliteInt32 && !gives_integers) take(run_import<float>(import, codes));
    if (c.from != kTfliteInt32 && gives_integers) take(run_import<int32_t>(import, c.in));
    CHECK(got == c.out);
  }
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteInt32, {1, 2}, by(kFine, 3));
  const int32_t y = file.tensor("y", kInt16, {1, 2}, by(kCoarse));
  file.op(kQuantize, {x}, {y});
  CHECK(Import(file.finish({x}, {y})).says("needs one scale and the zero point 0"));
}

TEST_CASE("what only moves elements has no bounds, what rescales has") {
  for (const float scale : {0.5f, 0.25f}) {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kInt16, {1, 4}, by(0.5f));
    const int32_t y = file.tensor("y", kInt16, {2, 2}, by(scale));
    file.op(kTfliteReshape, {x}, {y});
    const std::string bytes = file.finish({x}, {y});
    const Reals values{16383.5f, -16384.0f, 1.0f, 0.0f};
    Reals expected = values;
    if (scale < 0.5f) expected[0] = 32767 * scale;
    if (scale < 0.5f) expected[1] = -32768 * scale;
    CHECK(run_file(bytes, values) == expected);
    Import import(bytes);
    CHECK(import.count(Op::kQuantize) == (scale < 0.5f ? 2 : 1));
    CHECK(is_on_codes(import));
  }
}

TEST_CASE("what only moves elements has no bounds, whatever else it reads") {
  using Numbers = std::vector<int32_t>;
  constexpr int32_t kPadV2 = 60;
  struct Case {
    int32_t code;
    Numbers shape, second, second_shape;
  };
  for (const Case& c :
       {Case{kTfliteReshape, {3, 2}, {3, 2}, {2}}, Case{kTfliteTranspose, {3, 2}, {1, 0}, {2}},
        Case{kTflitePad, {3, 3}, {0, 1, 0, 0}, {2, 2}}, Case{kPadV2, {3, 3}, {0, 1, 0, 0}, {2, 2}}}) {
    CAPTURE(c.code);
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kInt16, {2, 3}, by(0.5f)),
                  y = file.tensor("y", kInt16, c.shape, by(0.5f));
    std::vector<int32_t> inputs{x, file.constant("second", kTfliteInt32, c.second_shape, c.second)};
    if (c.code == kPadV2)
      inputs.push_back(file.constant("value", kInt16, {1}, std::vector<int16_t>{3}, by(0.5f)));
    file.op(c.code, inputs, {y});
    Import import(file.finish({x}, {y}));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.ops().size() == 3);
    CHECK(import.count(Op::kQuantize) == 1);
    CHECK(is_on_codes(import));
  }
}

TEST_CASE("what computes saturates, also where its operands have the result's scale") {
  enum Code : int32_t { kMul = 18, kSub = 41 };
  for (const int32_t code : {int32_t{kTfliteAdd}, int32_t{kSub}, int32_t{kMul}}) {
    CAPTURE(code);
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kInt16, {1, 2}, by(0.5f)),
                  y = file.tensor("y", kInt16, {1, 2}, by(0.5f));
    const int32_t k = file.constant("k", kInt16, {1, 2}, std::vector<int16_t>{32767, -32768}, by(0.5f));
    const auto options = code == kMul   ? tflite::CreateMulOptions(file.fbb()).Union()
                         : code == kSub ? tflite::CreateSubOptions(file.fbb()).Union()
                                        : tflite::CreateAddOptions(file.fbb()).Union();
    const Options kind = code == kMul   ? Options::MulOptions
                         : code == kSub ? Options::SubOptions
                                        : Options::AddOptions;
    file.op(code, {x, k}, {y}, kind, options);
    const Reals x_values = code == kSub   ? Reals{-4.0f, 4.0f}
                           : code == kMul ? Reals{4.0f, 4.0f}
                                          : Reals{4.0f, -4.0f};
    const Reals ends{16383.5f, -16384.0f};
    const std::string bytes = file.finish({x}, {y});
    CHECK(run_file(bytes, x_values) == (code == kSub ? Reals{ends[1], ends[0]} : ends));
    Import import(bytes);
    CHECK(is_on_codes(import));
  }
}

TEST_CASE("a constant of 16 bits, with a scale and without") {
  for (const bool has_scale : {true, false}) {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kInt16, {1, 2}, by(0.5f)),
                  y = file.tensor("y", kInt16, {1, 2}, by(1.0f));
    const TfliteScales scales = has_scale ? by(0.125f) : TfliteScales{};
    const int32_t k = file.constant("k", kInt16, {1, 2}, std::vector<int16_t>{-32768, 8}, scales);
    file.op(kTfliteAdd, {x, k}, {y}, Options::AddOptions, tflite::CreateAddOptions(file.fbb()).Union());
    const float unit = has_scale ? 0.125f : 1.0f;
    CHECK(run_file(file.finish({x}, {y}), {2.0f, 3.0f}) == Reals{-32768 * unit + 2, 8 * unit + 3});
  }
}

TEST_CASE("between 16 bits, 8 bits and float") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 3});
  const int32_t wide = file.tensor("wide", kInt16, {1, 3}, by(0.001f));
  const int32_t narrow = file.tensor("narrow", kTfliteInt8, {1, 3}, by(0.5f, 3));
  const int32_t again = file.tensor("again", kInt16, {1, 3}, by(0.01f));
  const int32_t y = file.tensor("y", kTfliteFloat, {1, 3});
  file.op(kTfliteQuantize, {x}, {wide});
  file.op(kTfliteQuantize, {wide}, {narrow});
  file.op(kTfliteQuantize, {narrow}, {again});
  file.op(kTfliteDequantize, {again}, {y});
  const std::string bytes = file.finish({x}, {y});
  CHECK(run_file(bytes, {1.3f, 100.0f, -7.0f}) == Reals{1.5f, 33.0f, -7.0f});  // 100 ends at 32.767
  Import import(bytes);
  CHECK(import.ops() == std::vector<Op>{Op::kQuantize, Op::kQuantize, Op::kQuantize, Op::kDequantize});
}

TEST_CASE("a softmax of 16 bits has a table of two halves") {
  TfliteBuilder file;
  const float x_scale = 0.001f, y_scale = 1.0f / 32768.0f;
  const int32_t x = file.tensor("x", kInt16, {2, 3}, by(x_scale)),
                y = file.tensor("y", kInt16, {2, 3}, by(y_scale));
  file.op(kTfliteSoftmax, {x}, {y}, Options::SoftmaxOptions,
          tflite::CreateSoftmaxOptions(file.fbb(), 1.0f).Union());
  const std::string bytes = file.finish({x}, {y});
  const Reals values{0.5f, -1.25f, 3.0f, 30.0f, -30.0f, 0.0f};
  const Reals got = run_file(bytes, values);
  for (size_t row = 0; row < 6; row += 3) {
    double sum = 0.0;
    for (size_t i = row; i < row + 3; ++i) sum += std::exp(double{values[i]});
    for (size_t i = row; i < row + 3; ++i)
      CHECK(std::fabs(double{got[i]} - std::min(std::exp(double{values[i]}) / sum, 32767.0 / 32768)) <=
            double{y_scale});
  }
  Import import(bytes);
  CHECK(is_on_codes(import));
  CHECK(import.tensor(import.node(Op::kSoftmax).inputs[1]).shape.elements() == 512);
}

TEST_CASE("a product of two activations of 16 bits") {
  constexpr int32_t kBatchMatmul = 126;
  for (const bool transposed : {false, true}) {
    TfliteBuilder file;
    const int32_t a = file.tensor("a", kInt16, {1, 2, 2}, by(0.5f)),
                  b = file.tensor("b", kInt16, {1, 2, 2}, by(0.25f)),
                  y = file.tensor("y", kInt16, {1, 2, 2}, by(0.125f));
    file.op(kBatchMatmul, {a, b}, {y}, Options::BatchMatMulOptions,
            tflite::CreateBatchMatMulOptions(file.fbb(), false, transposed).Union());
    Import import(file.finish({a, b}, {y}));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.count(Op::kBatchMatMul) == 1);
    CHECK(import.tensor(import.node(Op::kBatchMatMul).outputs[0]).dtype == DType::kS16);
    CHECK(import.count(Op::kQuantize) == 2);
    CHECK(import.count(Op::kDequantize) == 1);
  }
}

TEST_CASE("activations of float16, and weights of 4 bits") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kFloat16, {1, 3}), y = file.tensor("y", kFloat16, {1, 1});
  const int32_t w = file.constant("w", kInt4, {1, 3}, std::vector<uint8_t>{0x87, 0x0f}, by(0.5f));
  file.op(kTfliteFullyConnected, {x, w}, {y}, Options::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(file.fbb()).Union());
  const std::string bytes = file.finish({x}, {y});
  CHECK(run_file(bytes, {1.0f, 10.0f, 100.0f}) == Reals{0.5f * (7 - 80 - 100)});
  Import import(bytes);
  CHECK(import.notes("input 'x' is float16 in the file; here it is float"));
}

TEST_CASE("what is wrong with 16 bits is named") {
  // An activation's scale has the limits of 8 bits, not those of a bias, which is the product of two. One that is nearly
  // nothing, as of a layer that is never open, becomes the least scale.
  const auto sum = [](float scale) {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kInt16, {1, 2}, by(0.5f)),
                  y = file.tensor("y", kInt16, {1, 2}, by(scale));
    file.op(kTfliteAdd, {x, x}, {y}, Options::AddOptions, tflite::CreateAddOptions(file.fbb()).Union());
    return file.finish({x}, {y});
  };
  CHECK(Import(sum(std::ldexp(1.0f, 41))).message().find("tensor 'y': the scale ") != std::string::npos);
  CHECK(Import(sum(0.0f)).message().find("tensor 'y': the scale 0 is not above 0") != std::string::npos);
  for (const float value : run_file(sum(1e-17f), {0.0f, 3.0f})) CHECK((value >= 0.0f && value < 1e-7f));
  const auto message = [](const TfliteScales& scales, size_t values) {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kInt16, {1, 2}, by(0.5f)),
                  y = file.tensor("y", kInt16, {1, 2}, by(1.0f));
    const int32_t k = file.constant("k", kInt16, {1, 2}, std::vector<int16_t>(values, 1), scales);
    file.op(kTfliteAdd, {x, k}, {y}, Options::AddOptions, tflite::CreateAddOptions(file.fbb()).Union());
    return Import(file.finish({x}, {y})).message();
  };
  CHECK(message(by(0.5f), 2).empty());
  CHECK(message(by(0.5f), 3).find("tensor 'k': it holds 6 bytes, its shape [1, 2] needs 4") !=
        std::string::npos);
  CHECK(message(by(INFINITY), 2).find("tensor 'k': the scale inf is not above 0 and at most 2^40") !=
        std::string::npos);
}

TEST_CASE("what computes does so on codes, and gives what its definition gives") {
  enum Code : int32_t { kLogistic = 14, kTanh = 28, kHardSwish = 117 };
  struct Case {
    int32_t code;
    double (*function)(double);
    float x_scale, y_scale;
  };
  const Case cases[] = {
      {kLogistic, [](double x) { return 1 / (1 + std::exp(-x)); }, 8.0f / 32768, 1.0f / 32768},
      {kTanh, [](double x) { return std::tanh(x); }, 4.0f / 32768, 1.0f / 32768},
      {kTfliteRelu, [](double x) { return std::max(x, 0.0); }, 8.0f / 32768, 4.0f / 32768},
      {kTfliteRelu6, [](double x) { return std::clamp(x, 0.0, 6.0); }, 8.0f / 32768, 8.0f / 32768},
      {kHardSwish, [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }, 8.0f / 32768, 8.0f / 32768},
  };
  Reals values;
  for (int32_t i = -2048; i <= 2047; ++i) values.push_back(static_cast<float>(i) / 256);
  const auto count = static_cast<int32_t>(values.size());
  for (const Case& c : cases) {
    CAPTURE(c.code);
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kInt16, {1, count}, by(c.x_scale)),
                  y = file.tensor("y", kInt16, {1, count}, by(c.y_scale));
    file.op(c.code, {x}, {y});
    const std::string bytes = file.finish({x}, {y});
    Import import(bytes);
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.ops().size() == 3);
    CHECK(is_on_codes(import));
    const Reals got = run_file(bytes, values);
    double worst = 0.0;  // in codes
    for (size_t i = 0; i < values.size(); ++i) {
      const double in = double{as_code(values[i], c.x_scale)};
      worst = std::max(worst, std::fabs(double{got[i]} - double{as_code(c.function(in), c.y_scale)}));
    }
    CHECK(worst <= 1.01 * c.y_scale);
  }
}

TEST_CASE("a LeakyRelu and an Abs are exact to half a code, also where a line meets an end of the codes") {
  constexpr int32_t kLeakyRelu = 98, kAbs = 101, kCodes = 65536;
  const float x_scale = 0.001f;
  Reals values;
  for (int32_t code = -32768; code < 32768; ++code) values.push_back(static_cast<float>(code) * x_scale);
  struct Case {
    int32_t code;
    float slope;
    size_t nodes;
  };
  const Case cases[] = {{kLeakyRelu, 0.25f, 5},
                        {kLeakyRelu, 1.7f, 5},
                        {kLeakyRelu, -0.3f, 5},
                        {kLeakyRelu, 0.0f, 3},
                        {kAbs, -1.0f, 5}};
  for (const Case& c : cases)
    for (const float y_scale : {0.0003f, 0.001f, 0.0041f}) {
      CAPTURE(c.slope);
      CAPTURE(y_scale);
      TfliteBuilder file;
      const int32_t x = file.tensor("x", kInt16, {1, kCodes}, by(x_scale)),
                    y = file.tensor("y", kInt16, {1, kCodes}, by(y_scale));
      if (c.code == kLeakyRelu)
        file.op(c.code, {x}, {y}, Options::LeakyReluOptions,
                tflite::CreateLeakyReluOptions(file.fbb(), c.slope).Union());
      else
        file.op(c.code, {x}, {y});
      const std::string bytes = file.finish({x}, {y});
      Import import(bytes);
      REQUIRE_MESSAGE(import.good(), import.message());
      CHECK(import.ops().size() == c.nodes);
      CHECK(is_on_codes(import));
      const Reals got = run_file(bytes, values);
      double worst = 0.0;  // in codes
      for (int32_t code = -32768; code < 32768; ++code) {
        const double real = double{x_scale} * code * (code < 0 ? double{c.slope} : 1.0);
        const double exact = std::clamp(real / double{y_scale}, -32768.0, 32767.0);
        const auto i = static_cast<size_t>(code + 32768);
        worst = std::max(worst, std::fabs(double{got[i]} / double{y_scale} - exact));
      }
      CHECK(worst <= 0.51);
    }
}

TEST_CASE("a transposed convolution, and what moves between it and its codes") {
  constexpr int32_t kTransposeConv = 67;
  TfliteBuilder file;
  const float x_scale = 1.0f / 1024, w_scale = 0.5f, y_scale = 1.0f / 256;
  const int32_t x = file.tensor("x", kInt16, {1, 1, 3, 1}, by(x_scale));
  const int32_t shape =
      file.constant("shape", kTfliteInt32, {4}, std::vector<int32_t>{1, 1, 6, 1}, TfliteScales{});
  const int32_t w = file.constant("w", kTfliteInt8, {1, 1, 2, 1}, std::vector<int8_t>{3, -5}, by(w_scale));
  const int32_t b = file.constant("b", kTfliteInt64, {1}, std::vector<int64_t>{7}, by(x_scale * w_scale));
  const int32_t y = file.tensor("y", kInt16, {1, 1, 6, 1}, by(y_scale));
  file.op(kTransposeConv, {shape, w, x, b}, {y}, Options::TransposeConvOptions,
          tflite::CreateTransposeConvOptions(file.fbb(), tflite::Padding::Valid, 2, 1).Union());
  const std::string bytes = file.finish({x}, {y});
  Import import(bytes);
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(is_on_codes(import));
  Reals expected;
  const Reals values{1.0f, -2.5f, 0.75f};
  for (const float value : values)
    for (const double weight : {1.5, -2.5})
      expected.push_back(as_code(value * weight + 7 * double{x_scale * w_scale}, y_scale));
  CHECK(run_file(bytes, values) == expected);
}

TEST_CASE("a bias that needs its 32 bits keeps them, a larger one gets a coarser scale") {
  for (const int64_t bias : {(int64_t{1} << 31) - 128, int64_t{1} << 33}) {
    TfliteBuilder file;
    const float x_scale = 0x1p-12f, w_scale = 0x1p-6f, y_scale = 16.0f;
    const int32_t x = file.tensor("x", kInt16, {1, 2}, by(x_scale));
    const int32_t w = file.constant("w", kTfliteInt8, {1, 2}, std::vector<int8_t>{96, -64}, by(w_scale));
    const int32_t b =
        file.constant("b", kTfliteInt64, {1}, std::vector<int64_t>{bias}, by(x_scale * w_scale));
    const int32_t y = file.tensor("y", kInt16, {1, 1}, by(y_scale));
    file.op(kTfliteFullyConnected, {x, w, b}, {y}, Options::FullyConnectedOptions,
            tflite::CreateFullyConnectedOptions(file.fbb()).Union());
    const std::string bytes = file.finish({x}, {y});
    Import import(bytes);
    REQUIRE_MESSAGE(import.good(), import.message());
    const bool fits = bias <= INT32_MAX;
    CHECK(import.notes("1 of 1 channels have a scale too small for their bias") == !fits);
    CHECK(import.tensor(import.node(Op::kFullyConnected).inputs[1]).quantization.scales[0] ==
          (fits ? w_scale
                : static_cast<float>(static_cast<double>(bias) * double{x_scale * w_scale} /
                                     (double{x_scale} * 2147483647.0))));
    const double real = 7 * 1.5 - 3 * 1.0 + static_cast<double>(bias) * double{x_scale * w_scale};
    CHECK(run_file(bytes, {7.0f, 3.0f}) == Reals{as_code(real, y_scale)});
  }
}

TEST_CASE("codes of 16 bits with a zero point stay in FP32, within their range") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2});
  const int32_t y = file.tensor("y", kInt16, {1, 2}, by(0.5f, 100));
  file.op(kTfliteQuantize, {x}, {y});
  const std::string bytes = file.finish({x}, {y});
  Import import(bytes);
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.notes("tensor 'y' (QUANTIZE): its codes of 16 bits have the zero point 100"));
  for (const TensorInfo& tensor : import.graph().tensors) CHECK(tensor.dtype != DType::kS16);
  CHECK(run_file(bytes, {1e6f, -1e6f}) == Reals{0.5f * (32767 - 100), 0.5f * (-32768 - 100)});
}

}  // namespace intaglio::test::import_tflite_16_bits_test

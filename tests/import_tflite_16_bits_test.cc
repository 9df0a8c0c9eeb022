// What a TFLite file has in 16 bits is FP32 here, within the range of its codes.
#include <cmath>

#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

using tflite::Options;
using Reals = std::vector<float>;

constexpr int8_t kFloat16 = 1, kInt16 = 7, kInt4 = 17;

TfliteScales by(float scale, int64_t zero_point = 0) { return {{scale}, zero_point}; }

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
    CHECK(got == Reals{0.25f * (4 + 4 + 1.5f) + 40 * 0.125f,
                       2.0f * (508 - 64) - 3 * 1.0f > 327.67f ? y_scale * 32767 : 0.0f});
    CHECK(run_file(bytes, {-4.0f, 0.0f, 0.5f})[1] == y_scale * -32768);
    Import import(bytes);
    CHECK(import.notes("input 'x' is int16 in the file; here it is float, as all of 16 bits"));
    CHECK(import.ops() == std::vector<Op>{Op::kFullyConnected});  // the bounds are its own
  }
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
    CHECK((import.count(Op::kClamp) == 1) == (scale < 0.5f));
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
    CHECK(import.ops().size() == 1);
    CHECK(import.count(Op::kClamp) == 0);
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
    CHECK(run_file(file.finish({x}, {y}), x_values) == (code == kSub ? Reals{ends[1], ends[0]} : ends));
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
  const Reals got = run_file(file.finish({x}, {y}), {1.3f, 100.0f, -7.0f});
  CHECK(got == Reals{1.5f, 33.0f, -7.0f});  // 100 ends at 32.767, which is nearest to 33
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
  CHECK(message(by(INFINITY), 2).find("tensor 'k': the scale inf is not within 2^-40 to 2^40") !=
        std::string::npos);
}

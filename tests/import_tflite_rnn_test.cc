// TFLite's RNN and SVDF beside their definition in doubles, run after run: what they hold goes on.
#include <cmath>

#include "tests/support/recurrent_check.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_rnn_test {
namespace {

using tflite::Activation;
using tflite::Options;

constexpr int32_t kRnn = 24, kSvdf = 27, kSequenceRnn = 35;
constexpr int8_t kTfliteInt16 = 7;
constexpr int32_t kInputs = 3, kCells = 5;

}  // namespace

TEST_CASE("an RNN is its definition") {
  Random random(2);
  const std::vector<float> w = random.reals(kCells * kInputs, -1, 1),
                           r = random.reals(kCells * kCells, -0.5f, 0.5f),
                           b = random.reals(kCells, -0.3f, 0.3f);
  for (const int32_t length : {4, 130, 0}) {  // 130: more than one Concat takes
    const bool has_time = length > 0;
    TfliteBuilder file;
    const std::vector<int32_t> in = has_time ? std::vector<int32_t>{1, length, kInputs}
                                             : std::vector<int32_t>{1, kInputs},
                               out = has_time ? std::vector<int32_t>{1, length, kCells}
                                              : std::vector<int32_t>{1, kCells};
    const int32_t x = file.tensor("x", kTfliteFloat, in), y = file.tensor("y", kTfliteFloat, out);
    const std::vector<int32_t> inputs{x, file.constant("w", kTfliteFloat, {kCells, kInputs}, w),
                                      file.constant("r", kTfliteFloat, {kCells, kCells}, r),
                                      file.constant("b", kTfliteFloat, {kCells}, b),
                                      file.variable_tensor("h", kTfliteFloat, {1, kCells})};
    if (has_time)
      file.op(kSequenceRnn, inputs, {y}, Options::SequenceRNNOptions,
              tflite::CreateSequenceRNNOptions(file.fbb(), false, Activation::Tanh).Union());
    else
      file.op(kRnn, inputs, {y}, Options::RNNOptions,
              tflite::CreateRNNOptions(file.fbb(), Activation::Relu).Union());
    RunningModel model = running(file.finish({x}, {y}));
    std::vector<double> h(kCells);
    for (int run = 0; run < 3; ++run) {
      const auto steps = static_cast<size_t>(std::max(length, 1));
      const std::vector<float> given = random.reals(steps * kInputs, -2, 2);
      std::vector<double> expected;
      for (size_t t = 0; t < steps; ++t) {
        const std::vector<double> row(given.begin() + static_cast<std::ptrdiff_t>(t * kInputs),
                                      given.begin() + static_cast<std::ptrdiff_t>((t + 1) * kInputs));
        std::vector<double> next(kCells);
        for (size_t o = 0; o < kCells; ++o) {
          const double sum =
              dot(w, o, row.data(), kInputs) + dot(r, o, h.data(), kCells) + static_cast<double>(b[o]);
          next[o] = has_time ? std::tanh(sum) : std::max(sum, 0.0);
        }
        h = next;
        expected.insert(expected.end(), h.begin(), h.end());
      }
      check_near(model.run<float>(given), expected, 3e-6);
    }
  }
}

TEST_CASE("weights of 32 bits have a scale for each row, not for each of their numbers") {
  TfliteBuilder file;
  const std::vector<float> zeros(4);
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 3}), y = file.tensor("y", kTfliteFloat, {1, 2}),
                w = file.constant("w", kTfliteInt32, {2, 3}, std::vector<int32_t>{1, 2, 3, 4, 5, 6},
                                  TfliteScales{{0.5f, 0.25f}});
  file.op(kRnn,
          {x, w, file.constant("r", kTfliteFloat, {2, 2}, zeros),
           file.constant("b", kTfliteFloat, {2}, std::vector<float>{0, 1}),
           file.variable_tensor("h", kTfliteFloat, {1, 2})},
          {y}, Options::RNNOptions, tflite::CreateRNNOptions(file.fbb(), Activation::Relu).Union());
  CHECK(running(file.finish({x}, {y})).run<float>(std::vector<float>{1, 1, 1}) ==
        std::vector<float>{3, 4.75f});
}

TEST_CASE("an SVDF is its definition, with a rank and without a bias") {
  constexpr size_t kUnits = 3, kMemory = 4;
  for (const size_t rank : {1u, 2u})
    for (const size_t memory : {kMemory, size_t{1}})
      for (const bool has_bias : {true, false}) {
        const size_t filters = rank * kUnits;
        Random random(6);
        const std::vector<float> w = random.reals(filters * kInputs, -1, 1),
                                 time = random.reals(filters * memory, -1, 1),
                                 b = random.reals(kUnits, -0.3f, 0.3f);
        const auto n = [](size_t count) { return static_cast<int32_t>(count); };
        TfliteBuilder file;
        const int32_t x = file.tensor("x", kTfliteFloat, {2, kInputs}),
                      y = file.tensor("y", kTfliteFloat, {2, n(kUnits)});
        file.op(kSvdf,
                {x, file.constant("w", kTfliteFloat, {n(filters), kInputs}, w),
                 file.constant("t", kTfliteFloat, {n(filters), n(memory)}, time),
                 has_bias ? file.constant("b", kTfliteFloat, {n(kUnits)}, b) : -1,
                 file.variable_tensor("s", kTfliteFloat, {2, n(memory * filters)})},
                {y}, Options::SVDFOptions,
                tflite::CreateSVDFOptions(file.fbb(), n(rank), Activation::Relu).Union());
        RunningModel model = running(file.finish({x}, {y}));
        std::vector<double> held(2 * filters * memory);
        for (int run = 0; run < 6; ++run) {
          const std::vector<float> given = random.reals(2 * kInputs, -2, 2);
          std::vector<double> expected(2 * kUnits);
          for (size_t k = 0; k < 2; ++k)
            for (size_t f = 0; f < filters; ++f) {
              double* const row = &held[(k * filters + f) * memory];
              std::copy(row + 1, row + memory, row);
              const std::vector<double> in(given.begin() + static_cast<std::ptrdiff_t>(k * kInputs),
                                           given.begin() + static_cast<std::ptrdiff_t>((k + 1) * kInputs));
              row[memory - 1] = dot(w, f, in.data(), kInputs);
              expected[k * kUnits + f / rank] += dot(time, f, row, memory);
            }
          for (size_t i = 0; i < expected.size(); ++i)
            expected[i] = std::max(expected[i] + (has_bias ? static_cast<double>(b[i % kUnits]) : 0.0), 0.0);
          check_near(model.run<float>(given), expected, 3e-6);
        }
      }
}

TEST_CASE("a quantized SVDF reads its weights over time in 16 bits") {
  constexpr int32_t kUnits = 3, kMemory = 4;
  const float in_scale = 2.0f / 128, weight_scale = 1.0f / 127, time_scale = 1.0f / 32767,
              out_scale = 4.0f / 128;
  Random random(8);
  std::vector<int8_t> w = random.codes(kUnits * kInputs);
  for (int8_t* code = w.data(); code != w.data() + w.size(); ++code) *code = std::max<int8_t>(*code, -127);
  std::vector<int16_t> time;
  for (int i = 0; i < kUnits * kMemory; ++i)
    time.push_back(static_cast<int16_t>(random.between(-32767, 32767)));
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteInt8, {1, kInputs}, {{in_scale}, 5}),
                y = file.tensor("y", kTfliteInt8, {1, kUnits}, {{out_scale}, 1});
  file.op(kSvdf,
          {x, file.constant("w", kTfliteInt8, {kUnits, kInputs}, w, {{weight_scale}, 0}),
           file.constant("t", kTfliteInt16, {kUnits, kMemory}, time, {{time_scale}, 0}), -1,
           file.variable_tensor("s", kTfliteInt16, {1, kMemory * kUnits})},
          {y}, Options::SVDFOptions, tflite::CreateSVDFOptions(file.fbb(), 1, Activation::None).Union());
  RunningModel model = running(file.finish({x}, {y}));
  std::vector<double> held(kUnits * kMemory);
  for (int run = 0; run < 6; ++run) {
    const std::vector<int8_t> given = random.codes(kInputs);
    const std::vector<int8_t> found = model.run<int8_t>(given);
    for (size_t f = 0; f < kUnits; ++f) {
      double* const row = &held[f * kMemory];
      std::copy(row + 1, row + kMemory, row);
      row[kMemory - 1] = 0;
      for (size_t i = 0; i < kInputs; ++i)
        row[kMemory - 1] += static_cast<double>(weight_scale) * w[f * kInputs + i] *
                            static_cast<double>(in_scale) * (given[i] - 5);
      double sum = 0;
      for (size_t m = 0; m < kMemory; ++m)
        sum += static_cast<double>(time_scale) * time[f * kMemory + m] * row[m];
      const double code =
          std::min(std::max(std::nearbyint(sum / static_cast<double>(out_scale)) + 1, -128.0), 127.0);
      CHECK(std::fabs(code - found[f]) <= 1);
    }
  }
}

}  // namespace intaglio::test::import_tflite_rnn_test

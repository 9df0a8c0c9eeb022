// TFLite operators that become several of ours, in FP32 and in int8, beside their definition in doubles.
#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_composites_test {
namespace {

using tflite::Options;

constexpr int32_t kLogSoftmax = 50, kTransposeConv = 67, kReduceMin = 89, kSquaredDifference = 99;

struct Transposed {
  int32_t in_h, in_w, in_c, out_h, out_w, out_c, kernel_h, kernel_w, stride_h, stride_w;
  tflite::Padding padding = tflite::Padding::Valid;
};

int32_t front(int32_t in, int32_t out, int32_t kernel, int32_t stride, tflite::Padding padding) {
  return padding == tflite::Padding::Valid ? 0 : std::max((in - 1) * stride + kernel - out, 0) / 2;
}

// TFLite's definition: each input pixel adds the kernel times itself.
std::vector<double> transposed(const Transposed& t, const std::vector<double>& x,
                               const std::vector<double>& w, const std::vector<double>& b) {
  const int32_t top = front(t.in_h, t.out_h, t.kernel_h, t.stride_h, t.padding);
  const int32_t left = front(t.in_w, t.out_w, t.kernel_w, t.stride_w, t.padding);
  std::vector<double> y;
  for (int32_t i = 0; i < t.out_h * t.out_w; ++i) y.insert(y.end(), b.begin(), b.end());
  for (int32_t ih = 0; ih < t.in_h; ++ih)
    for (int32_t iw = 0; iw < t.in_w; ++iw)
      for (int32_t kh = 0; kh < t.kernel_h; ++kh)
        for (int32_t kw = 0; kw < t.kernel_w; ++kw) {
          const int32_t oh = ih * t.stride_h + kh - top, ow = iw * t.stride_w + kw - left;
          if (oh < 0 || oh >= t.out_h || ow < 0 || ow >= t.out_w) continue;
          for (int32_t o = 0; o < t.out_c; ++o)
            for (int32_t c = 0; c < t.in_c; ++c)
              y[static_cast<size_t>((oh * t.out_w + ow) * t.out_c + o)] +=
                  x[static_cast<size_t>((ih * t.in_w + iw) * t.in_c + c)] *
                  w[static_cast<size_t>(((o * t.kernel_h + kh) * t.kernel_w + kw) * t.in_c + c)];
        }
  return y;
}

int32_t add_op(TfliteBuilder& file, const Transposed& t, int32_t w, int32_t x, int32_t b, int32_t y) {
  const int32_t shape =
      file.constant("shape", kTfliteInt32, {4}, std::vector<int32_t>{1, t.out_h, t.out_w, t.out_c});
  file.op(kTransposeConv, {shape, w, x, b}, {y}, Options::TransposeConvOptions,
          tflite::CreateTransposeConvOptions(file.fbb(), t.padding, t.stride_w, t.stride_h).Union());
  return y;
}

const std::vector<Transposed> kTransposed = {
    {3, 4, 2, 6, 8, 3, 2, 2, 2, 2},  {3, 4, 2, 6, 8, 3, 4, 3, 2, 2, tflite::Padding::Same},
    {3, 3, 4, 7, 7, 2, 3, 3, 2, 2},  {4, 4, 2, 8, 8, 2, 3, 3, 2, 2, tflite::Padding::Same},
    {2, 5, 3, 2, 15, 2, 1, 3, 1, 3}, {5, 5, 2, 5, 5, 2, 3, 3, 1, 1, tflite::Padding::Same},
};

}  // namespace

TEST_CASE("TRANSPOSE_CONV, float") {
  Random random(3);
  for (const Transposed& t : kTransposed) {
    const auto reals = [&](int32_t count) { return random.reals(static_cast<size_t>(count), -1.0f, 1.0f); };
    const auto x = reals(t.in_h * t.in_w * t.in_c), w = reals(t.out_c * t.kernel_h * t.kernel_w * t.in_c),
               b = reals(t.out_c);
    TfliteBuilder file;
    const int32_t in = file.tensor("x", kTfliteFloat, {1, t.in_h, t.in_w, t.in_c});
    const int32_t weights = file.constant("w", kTfliteFloat, {t.out_c, t.kernel_h, t.kernel_w, t.in_c}, w);
    const int32_t bias = file.constant("b", kTfliteFloat, {t.out_c}, b);
    const int32_t out = file.tensor("y", kTfliteFloat, {1, t.out_h, t.out_w, t.out_c});
    add_op(file, t, weights, in, bias, out);
    Import import(file.finish({in}, {out}));
    REQUIRE_MESSAGE(import.good(), import.message());
    const auto y = run_import<float>(import, x);
    const auto expected = transposed(t, {x.begin(), x.end()}, {w.begin(), w.end()}, {b.begin(), b.end()});
    REQUIRE(y.size() == expected.size());
    for (size_t i = 0; i < y.size(); ++i) CHECK(std::fabs(double{y[i]} - expected[i]) < 1e-5);
  }
}

TEST_CASE("TRANSPOSE_CONV, int8: each output is the exact sum, rounded once") {
  Random random(4);
  for (const Transposed& t : kTransposed) {
    const auto codes = [&](int32_t count, int32_t least) {
      std::vector<int8_t> made;
      for (int32_t i = 0; i < count; ++i) made.push_back(static_cast<int8_t>(random.between(least, 127)));
      return made;
    };
    const auto x = codes(t.in_h * t.in_w * t.in_c, -128),
               w = codes(t.out_c * t.kernel_h * t.kernel_w * t.in_c, -127);
    std::vector<int32_t> b;
    std::vector<float> scales;
    for (int32_t o = 0; o < t.out_c; ++o) {
      b.push_back(random.between(-20000, 20000));
      scales.push_back(0.0078125f * static_cast<float>(1 + o));
    }
    std::vector<float> products;
    for (const float scale : scales) products.push_back(scale * 0.25f);
    TfliteBuilder file;
    const int32_t in = file.tensor("x", kTfliteInt8, {1, t.in_h, t.in_w, t.in_c}, {{0.25f}, 5});
    const int32_t weights =
        file.constant("w", kTfliteInt8, {t.out_c, t.kernel_h, t.kernel_w, t.in_c}, w, {scales, 0, 0});
    // The bias states the weights' axis, as some files do; TFLite does not read it.
    const int32_t bias = file.constant("b", kTfliteInt32, {t.out_c}, b, {products, 0, 3});
    const int32_t out = file.tensor("y", kTfliteInt8, {1, t.out_h, t.out_w, t.out_c}, {{2.0f}, -3});
    add_op(file, t, weights, in, bias, out);
    Import import(file.finish({in}, {out}));
    REQUIRE_MESSAGE(import.good(), import.message());
    const auto y = run_import<int8_t>(import, x);
    std::vector<double> reals, weight_codes(w.begin(), w.end());
    for (const int8_t code : x) reals.push_back(code - 5);
    const auto sums = transposed(t, reals, weight_codes, {b.begin(), b.end()});
    REQUIRE(y.size() == sums.size());
    for (size_t i = 0; i < y.size(); ++i) {
      const double real =
          sums[i] * 0.25 * double{scales[i % scales.size()]} / 2.0;  // powers of two times small numbers
      CHECK(int{y[i]} == static_cast<int>(std::clamp(std::nearbyint(real) - 3.0, -128.0, 127.0)));
    }
  }
}

TEST_CASE("a bias of another scale than input times weights is converted, and the note says so") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteInt8, {1, 2}, TfliteScales{{0.5f}});
  const int32_t w = file.constant("w", kTfliteInt8, {1, 2}, std::vector<int8_t>{4, 0}, TfliteScales{{0.25f}});
  const int32_t b = file.constant("b", kTfliteInt32, {1}, std::vector<int32_t>{30},
                                  TfliteScales{{0.1f}});  // 3.0: 24 * 0.125
  const int32_t y = file.tensor("y", kTfliteInt8, {1, 1}, TfliteScales{{1.0f}});
  file.op(kTfliteFullyConnected, {x, w, b}, {y}, Options::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(file.fbb()).Union());
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<int8_t>(import, std::vector<int8_t>{8, 0}) == std::vector<int8_t>{7});
  size_t noted = 0;
  for (const std::string& note : import.outcome->report.notes)
    noted += note.find("the bias has other scales than input times weights") != std::string::npos;
  CHECK(noted == 1);
}

TEST_CASE("REDUCE_MIN over axes apart, LOG_SOFTMAX, SQUARED_DIFFERENCE of a row") {
  Random random(9);
  const auto x = random.reals(2 * 3 * 4, -3.0f, 3.0f);
  TfliteBuilder file;
  const int32_t in = file.tensor("x", kTfliteFloat, {2, 3, 4}),
                least = file.tensor("least", kTfliteFloat, {3}),
                logs = file.tensor("logs", kTfliteFloat, {2, 3, 4}),
                apart = file.tensor("apart", kTfliteFloat, {2, 3, 4});
  const int32_t axes = file.constant("axes", kTfliteInt32, {2}, std::vector<int32_t>{0, 2});
  const int32_t row = file.constant("row", kTfliteFloat, {4}, std::vector<float>{1, 2, 3, 4});
  file.op(kReduceMin, {in, axes}, {least}, Options::ReducerOptions,
          tflite::CreateReducerOptions(file.fbb()).Union());
  file.op(kLogSoftmax, {in}, {logs});
  file.op(kSquaredDifference, {in, row}, {apart});
  Import import(file.finish({in}, {least, logs, apart}));
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  (void)model.run<float>(x);
  for (size_t c = 0; c < 3; ++c) {
    float expected = x[c * 4];
    for (size_t n = 0; n < 2; ++n)
      for (size_t i = 0; i < 4; ++i) expected = std::min(expected, x[(n * 3 + c) * 4 + i]);
    CHECK(model.session().output(0).as<float>()[c] == expected);
  }
  for (size_t i = 0; i < x.size(); ++i) {
    double sum = 0.0;
    for (size_t j = 0; j < 4; ++j) sum += std::exp(double{x[i / 4 * 4 + j]});
    CHECK(std::fabs(double{model.session().output(1).as<float>()[i]} - (double{x[i]} - std::log(sum))) <
          1e-5);
    const double difference = double{x[i]} - static_cast<double>(1 + i % 4);
    CHECK(std::fabs(double{model.session().output(2).as<float>()[i]} - difference * difference) < 1e-4);
  }
}

TEST_CASE("REDUCE_MIN, int8: the least code, whatever the zero point") {
  TfliteBuilder file;
  const int32_t in = file.tensor("x", kTfliteInt8, {2, 3}, {{0.5f}, 20}),
                out = file.tensor("y", kTfliteInt8, {2}, {{0.5f}, 20});
  const int32_t axes = file.constant("axes", kTfliteInt32, {1}, std::vector<int32_t>{1});
  file.op(kReduceMin, {in, axes}, {out}, Options::ReducerOptions,
          tflite::CreateReducerOptions(file.fbb()).Union());
  Import import(file.finish({in}, {out}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<int8_t>(import, std::vector<int8_t>{-128, 0, 127, 5, 4, 127}) ==
        std::vector<int8_t>{-128, 4});
}

}  // namespace intaglio::test::import_tflite_composites_test

// Averages of 8-bit codes are rounded as TFLite rounds them.
#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_pool_test {
namespace {

using tflite::Options;
using tflite::Padding;

struct Pool {
  Padding padding;
  int32_t stride, kernel_h, kernel_w;
};

constexpr int32_t kHeight = 8, kWidth = 12, kChannels = 5;

// One average pool of a picture, whose output has the input's scale and zero point.
std::string average(const Pool& p, int8_t type, int64_t zero_point, tflite::Activation activation,
                    int32_t out_h, int32_t out_w) {
  TfliteBuilder file;
  const TfliteScales scales{{0.03f}, zero_point};
  const int32_t x = file.tensor("x", type, {1, kHeight, kWidth, kChannels}, scales),
                y = file.tensor("y", type, {1, out_h, out_w, kChannels}, scales);
  file.op(kTfliteAveragePool, {x}, {y}, Options::Pool2DOptions,
          tflite::CreatePool2DOptions(file.fbb(), p.padding, p.stride, p.stride, p.kernel_w, p.kernel_h,
                                      activation)
              .Union());
  return file.finish({x}, {y});
}

// TFLite's definition, in integers: a half goes away from 0. Codes of uint8 are all above.
int32_t mean(int32_t sum, int32_t n) { return sum > 0 ? (sum + n / 2) / n : (sum - n / 2) / n; }

int32_t outputs(Padding padding, int32_t size, int32_t kernel, int32_t stride) {
  return padding == Padding::Same ? (size + stride - 1) / stride : (size - kernel) / stride + 1;
}
int32_t padding_before(Padding padding, int32_t size, int32_t kernel, int32_t stride) {
  const int32_t needed = (outputs(padding, size, kernel, stride) - 1) * stride + kernel - size;
  return padding == Padding::Same && needed > 0 ? needed / 2 : 0;
}

// The codes that TFLite gives. `shift`: of the file's codes above ours.
std::vector<int8_t> expected(const Pool& p, const std::vector<int8_t>& x, int32_t shift, int32_t lo) {
  std::vector<int8_t> y;
  const int32_t out_h = outputs(p.padding, kHeight, p.kernel_h, p.stride),
                out_w = outputs(p.padding, kWidth, p.kernel_w, p.stride),
                top = padding_before(p.padding, kHeight, p.kernel_h, p.stride),
                left = padding_before(p.padding, kWidth, p.kernel_w, p.stride);
  for (int32_t oh = 0; oh < out_h; ++oh)
    for (int32_t ow = 0; ow < out_w; ++ow)
      for (int32_t c = 0; c < kChannels; ++c) {
        int32_t sum = 0, n = 0;
        for (int32_t h = oh * p.stride - top; h < oh * p.stride - top + p.kernel_h; ++h)
          for (int32_t w = ow * p.stride - left; w < ow * p.stride - left + p.kernel_w; ++w) {
            if (h < 0 || h >= kHeight || w < 0 || w >= kWidth) continue;
            sum += x[static_cast<size_t>((h * kWidth + w) * kChannels + c)] + shift;
            ++n;
          }
        y.push_back(static_cast<int8_t>(std::max(mean(sum, n) - shift, lo)));
      }
  return y;
}

}  // namespace

TEST_CASE("a half goes away from the code 0, of uint8 upwards, whatever the zero point") {
  const Pool pools[] = {{Padding::Valid, 2, 2, 2}, {Padding::Valid, 1, 4, 1}, {Padding::Valid, 1, 4, 8},
                        {Padding::Same, 1, 3, 3},  {Padding::Same, 2, 3, 2},  {Padding::Valid, 1, 3, 3}};
  Random random(11);
  for (const Pool& p : pools)
    for (const int32_t zero_point : {-128, 0, 5})
      for (const bool is_uint8 : {false, true})
        for (const bool has_relu : {false, true}) {
          CAPTURE(p.kernel_h);
          CAPTURE(p.kernel_w);
          CAPTURE(zero_point);
          CAPTURE(is_uint8);
          const int32_t shift = is_uint8 ? 128 : 0, out_h = outputs(p.padding, kHeight, p.kernel_h, p.stride),
                        out_w = outputs(p.padding, kWidth, p.kernel_w, p.stride);
          Import import(average(p, is_uint8 ? kTfliteUint8 : kTfliteInt8, zero_point + shift,
                                has_relu ? tflite::Activation::Relu : tflite::Activation::None, out_h,
                                out_w));
          REQUIRE_MESSAGE(import.good(), import.message());
          const bool has_halves = p.padding == Padding::Same || p.kernel_h * p.kernel_w % 2 == 0;
          CHECK(import.count(Op::kLookup) == (has_halves ? 2 : 0));
          const std::vector<int8_t> x = random.codes(kHeight * kWidth * kChannels);
          CHECK(run_import<int8_t>(import, x) == expected(p, x, shift, has_relu ? zero_point : -128));
        }
}

TEST_CASE("every mean that is a half, of as many taps as are rounded so") {
  constexpr int32_t kTaps = 32;
  for (const int32_t taps : {kTaps, kTaps + 2}) {
    CAPTURE(taps);
    TfliteBuilder file;
    const TfliteScales scales{{0.03f}, -128};
    const int32_t x = file.tensor("x", kTfliteInt8, {1, 1, taps, 255}, scales),
                  y = file.tensor("y", kTfliteInt8, {1, 1, 1, 255}, scales);
    file.op(kTfliteAveragePool, {x}, {y}, Options::Pool2DOptions,
            tflite::CreatePool2DOptions(file.fbb(), Padding::Valid, 1, 1, taps, 1).Union());
    Import import(file.finish({x}, {y}));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.count(Op::kLookup) == (taps == kTaps ? 2 : 0));
    if (taps > kTaps) continue;
    for (const int32_t more : {-1, 0, 1}) {  // of the sum above a half
      CAPTURE(more);
      std::vector<int8_t> codes(static_cast<size_t>(taps) * 255), means;
      for (int32_t c = 0; c < 255; ++c) {
        const int32_t low = c - 128, upper = taps / 2 + more;
        for (int32_t t = 0; t < taps; ++t)
          codes[static_cast<size_t>(t * 255 + c)] = static_cast<int8_t>(t < upper ? low + 1 : low);
        means.push_back(static_cast<int8_t>(mean(low * taps + upper, taps)));
      }
      CHECK(run_import<int8_t>(import, codes) == means);
    }
  }
}

}  // namespace intaglio::test::import_tflite_pool_test

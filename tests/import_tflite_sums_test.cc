// TFLite layers whose sums can leave 32 bits: behind an input that is nearly nothing a bias is many steps.
#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_sums_test {
namespace {

// y = w x + b of two channels, the input's scale being 2^-38; b as codes of 2^-38 times the weights' scale.
std::string layer(const std::vector<int32_t>& bias, const std::vector<float>& scales) {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteInt8, {1, 2}, {{0x1p-38f}, 3}),
                y = file.tensor("y", kTfliteInt8, {1, 2}, {{0x1p-12f}, 0});
  const int32_t w = file.constant("w", kTfliteInt8, {2, 2}, std::vector<int8_t>{127, -127, 64, 3},
                                  TfliteScales{scales}),
                b = file.constant("b", kTfliteInt32, {2}, bias);
  file.op(kTfliteFullyConnected, {x, w, b}, {y}, tflite::Options::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(file.fbb()).Union());
  return file.finish({x}, {y});
}

}  // namespace

TEST_CASE("such a channel gets a coarser scale of its weights, and the bias stays what it is") {
  for (const std::vector<float>& scales :
       {std::vector<float>{0x1p-1f}, std::vector<float>{0x1p-1f, 0x1p-2f}}) {
    Import import(layer({2147483647, 1 << 30}, scales));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.notes("the sums of 1 of 2 channels can leave 32 bits; their weights got a coarser scale"));
    // 2^31 steps of 2^-39 are 2^-8, or 16 steps of the output; 2^30 of 2^-39 or 2^-40 are half, or a quarter.
    const std::vector<int8_t> found = run_import<int8_t>(import, std::vector<int8_t>{-128, 127});
    CHECK(found == std::vector<int8_t>{16, static_cast<int8_t>(scales.size() == 1 ? 8 : 4)});
  }
}

TEST_CASE("channels whose sums fit keep their codes") {
  Import import(layer({1 << 30, -(1 << 30)}, {0x1p-1f}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(!import.notes("can leave 32 bits"));
}

}  // namespace intaglio::test::import_tflite_sums_test

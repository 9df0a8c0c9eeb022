// Weights that several nodes use stand in the file once, in FP32 and in int8.
#include <set>

#include "tests/support/calibrate.h"
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_shared_weights_test {
namespace {

constexpr int kNodes = 6;
constexpr int64_t kChannels = 32;
constexpr size_t kWeights = kChannels * kChannels;

// Matrix products in a row. `shared`: of one initializer; otherwise each has its own, of the same numbers.
std::string network(bool shared) {
  Random random(3);
  const std::vector<float> weights = random.reals(kWeights, -0.3f, 0.3f);
  OnnxBuilder file;
  file.input("x", {1, kChannels});
  std::string last = "x";
  for (int i = 0; i < kNodes; ++i) {
    const std::string w = shared ? "w" : "w" + std::to_string(i), y = "y" + std::to_string(i);
    if (!shared || i == 0) file.floats(w, {kChannels, kChannels}, weights);
    file.node("MatMul", {last, w}, y);
    last = y;
  }
  file.output(last);
  return file.bytes();
}

// Places in the file of the constants of this size.
std::set<const uint8_t*> places(const Model& model, size_t bytes) {
  std::set<const uint8_t*> found;
  for (int32_t t = 0; t < model.tensor_count(); ++t)
    if (model.tensor(t).constant.size == bytes) found.insert(model.tensor(t).constant.data);
  return found;
}

}  // namespace

TEST_CASE("an imported file holds them once, and computes the same") {
  const std::vector<float> x = Random(4).reals(kChannels, -1, 1);
  Import shared(network(true)), apart(network(false));
  const AlignedBytes file = shared.write();
  CHECK(file.view().size < 2 * kWeights * sizeof(float));
  CHECK(apart.write().view().size < 2 * kWeights * sizeof(float));  // what counts are the bytes
  const Result<Model> model = Model::open(file.view());
  REQUIRE(static_cast<bool>(model));
  CHECK(places(*model, kWeights * sizeof(float)).size() == 1);
  CHECK(run_import<float>(shared, x) == run_import<float>(apart, x));
}

// While it runs a calibration changes layers in place, each on its own: equal_constants_test.
TEST_CASE("what is calibrated from it holds them once where they stay equal") {
  Import import(network(true));
  const AlignedBytes file = import.write();
  const Result<Model> model = Model::open(file.view());
  REQUIRE(static_cast<bool>(model));
  Samples samples;
  for (uint32_t i = 0; i < 4; ++i) samples.push_back(Random(i).reals(kChannels, -1, 1));
  CalibratorOptions options;
  options.recover = 0;
  const std::vector<uint8_t> bytes = calibrate(*model, samples, options);
  const AlignedBytes int8_file(Span<const uint8_t>{bytes.data(), bytes.size()});
  const Result<Model> int8_model = Model::open(int8_file.view());
  REQUIRE(static_cast<bool>(int8_model));
  CHECK(places(*int8_model, kWeights).size() == 1);
}

}  // namespace intaglio::test::import_shared_weights_test

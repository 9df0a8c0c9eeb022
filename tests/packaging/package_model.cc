// Writes what the consumers of tests/packaging work on, and what they must get: an FP32 model, samples, the
// int8 model that this build calibrates on them, an int8 input and its output. And, for tests/export_c, the
// int8 model whose answer is codes.
#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "intaglio/calibrator.h"
#include "tests/support/small_models.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

bool write_file(const std::string& path, const void* bytes, size_t size) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  return static_cast<bool>(file.flush());
}

// The int8 model that these samples give.
AlignedBytes calibrated(const Model& model, const std::vector<std::vector<float>>& samples,
                        const CalibratorOptions& options) {
  AlignedBytes memory(Calibrator::measure(model, options)->total());
  Calibrator calibrator = *Calibrator::create(model, memory.span(), options);
  for (const auto& sample : samples) {
    const Span<const uint8_t> input = {reinterpret_cast<const uint8_t*>(sample.data()),
                                       sample.size() * sizeof(float)};
    REQUIRE(calibrator.add({&input, 1}).ok());
  }
  const ModelSink sink = {[](void*, Span<const uint8_t>) { return true; }, nullptr};
  REQUIRE(calibrator.finish(sink).ok());
  return AlignedBytes(calibrator.report().bytes);
}

}  // namespace

TEST_CASE("the files of the consumers are written") {
  const std::string folder = ITG_FILES;
  const AlignedBytes file = small_cnn();
  const std::vector<std::vector<float>> samples = small_cnn_samples(4);
  const Model model = *Model::open(file.view());
  std::vector<float> values;
  for (const auto& sample : samples) values.insert(values.end(), sample.begin(), sample.end());
  CalibratorOptions options;
  const AlignedBytes int8 = calibrated(model, samples, options);
  options.int8_answers = true;
  const AlignedBytes codes_only = calibrated(model, samples, options);

  RunningModel running{AlignedBytes(int8.view()), int8_ops()};
  std::vector<int8_t> codes(samples[0].size());
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<int8_t>(static_cast<int32_t>(samples[0][i]) - 128);
  const std::vector<float> output = running.run<float>(codes);
  CHECK(write_file(folder + "/fp32.itg", file.view().data, file.size()));
  CHECK(write_file(folder + "/samples.bin", values.data(), values.size() * sizeof(float)));
  CHECK(write_file(folder + "/int8.itg", int8.view().data, int8.size()));
  CHECK(write_file(folder + "/int8_answers.itg", codes_only.view().data, codes_only.size()));
  CHECK(write_file(folder + "/input.bin", codes.data(), codes.size()));
  CHECK(write_file(folder + "/output.bin", output.data(), output.size() * sizeof(float)));
}

// Writes what the consumers of tests/packaging work on, and what they must get: an FP32 model, samples, the
// int8 model that this build calibrates on them, an int8 input and its output.
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

}  // namespace

TEST_CASE("the files of the consumers are written") {
  const std::string folder = ITG_FILES;
  const AlignedBytes file = small_cnn();
  const std::vector<std::vector<float>> samples = small_cnn_samples(4);
  const Model model = *Model::open(file.view());
  AlignedBytes memory(Calibrator::measure(model)->total());
  Calibrator calibrator = *Calibrator::create(model, memory.span());
  std::vector<float> values;
  for (const auto& sample : samples) {
    const Span<const uint8_t> input = {reinterpret_cast<const uint8_t*>(sample.data()),
                                       sample.size() * sizeof(float)};
    REQUIRE(calibrator.add({&input, 1}).ok());
    values.insert(values.end(), sample.begin(), sample.end());
  }
  const ModelSink sink = {[](void*, Span<const uint8_t>) { return true; }, nullptr};
  REQUIRE(calibrator.finish(sink).ok());
  const Span<const uint8_t> int8 = calibrator.report().bytes;

  RunningModel running{AlignedBytes(int8), int8_ops()};
  std::vector<int8_t> codes(samples[0].size());
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<int8_t>(static_cast<int32_t>(samples[0][i]) - 128);
  const std::vector<int8_t> output = running.run<int8_t>(codes);
  CHECK(write_file(folder + "/fp32.itg", file.view().data, file.size()));
  CHECK(write_file(folder + "/samples.bin", values.data(), values.size() * sizeof(float)));
  CHECK(write_file(folder + "/int8.itg", int8.data, int8.size));
  CHECK(write_file(folder + "/input.bin", codes.data(), codes.size()));
  CHECK(write_file(folder + "/output.bin", output.data(), output.size()));
}

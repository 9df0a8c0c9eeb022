// Recoveries on a real network: the same bytes on every instruction set, for any
// number of threads and any order of the samples.
#include <algorithm>

#include "tests/support/calibrate.h"
#include "tests/support/imported.h"
#include "tests/support/random.h"
#include "tests/support/threads.h"

using namespace intaglio;
using namespace intaglio::test;

TEST_CASE(
    "ResNet-8: range methods, equalization, absorption, range search, learned scales and adaptive rounding "
    "give the same "
    "bytes everywhere") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  auto file = read_file(folder + "/models/resnet8_fp32.tflite", kMaxModelBytes);
  REQUIRE_MESSAGE(file, file.message());
  Import import(file->span(), ImportOptions(), "resnet8");
  const AlignedBytes bytes = import.write();
  const Result<Model> model = Model::open(bytes.view());
  REQUIRE(static_cast<bool>(model));
  Random random(8);
  Samples samples(8);
  for (auto& sample : samples) {
    const float level = random.real(0.0f, 200.0f);
    for (int32_t i = 0; i < 32 * 32 * 3; ++i) sample.push_back(level + random.real(0.0f, 55.0f));
  }
  CalibratorOptions options;
  options.layer_report = false;
  options.recover = recovery::kDefault | recovery::kEqualization | recovery::kBiasAbsorption |
                    recovery::kRangeSearch | recovery::kLearnedScales | recovery::kAdaptiveRounding;
  const std::vector<uint8_t> first = calibrate(*model, samples, options);
  CalibratorOptions plain = options;
  plain.recover = recovery::kNone;
  CHECK(calibrate(*model, samples, plain) != first);
  for (const int32_t width : {2, 8}) {
    CAPTURE(width);
    std::rotate(samples.begin(), samples.begin() + 3, samples.end());
    CalibratorOptions other = options;
    other.executor = thread_executor(width);
    CHECK(calibrate(*model, samples, other) == first);
  }
  for (const IsaMask isa : {IsaMask{isa::kScalar}, IsaMask{isa::kAvx2}}) {
    CAPTURE(isa);
    CalibratorOptions other = options;
    other.isa = isa;
    CHECK(calibrate(*model, samples, other) == first);
  }
}

TEST_CASE(
    "three more networks: equalization, absorption, bias correction and weight scales give the same bytes "
    "everywhere") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  for (const std::string name : {"kws_fp32", "vww_96_fp32", "mobilenet_v1_0.25_224_fp32"}) {
    CAPTURE(name);
    auto file = read_file(folder + "/models/" + name + ".tflite", kMaxModelBytes);
    REQUIRE_MESSAGE(file, file.message());
    Import import(file->span(), ImportOptions(), name);
    const AlignedBytes bytes = import.write();
    const Result<Model> model = Model::open(bytes.view());
    REQUIRE(static_cast<bool>(model));
    Random random(9);
    Samples samples(8);
    for (auto& sample : samples) {
      const float level = random.real(0.0f, 0.5f);
      for (int64_t i = 0; i < import.input().shape.elements(); ++i)
        sample.push_back(level + random.real(0.0f, 0.5f));
    }
    CalibratorOptions options;
    options.layer_report = false;
    options.recover = recovery::kBiasCorrection | recovery::kEqualization | recovery::kBiasAbsorption |
                      recovery::kWeightScales;
    const std::vector<uint8_t> first = calibrate(*model, samples, options);
    std::rotate(samples.begin(), samples.begin() + 3, samples.end());
    CalibratorOptions other = options;
    other.executor = thread_executor(8);
    other.isa = isa::kAvx2;
    CHECK(calibrate(*model, samples, other) == first);
    std::rotate(samples.begin(), samples.begin() + 2, samples.end());
    other.executor = thread_executor(2);
    other.isa = isa::kScalar;
    CHECK(calibrate(*model, samples, other) == first);
  }
}

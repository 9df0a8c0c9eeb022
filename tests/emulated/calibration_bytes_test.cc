// A real network, calibrated in every way, gives the build machine's bytes. There the program writes the
// digests of its files to INTAGLIO_WRITE_DIGESTS; here it is given them as INTAGLIO_DIGESTS. INTAGLIO_MODEL
// is the FP32 model, INTAGLIO_INPUT an .npy of samples, INTAGLIO_SAMPLES how many of them to take.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "calibrator/host/system/files.h"
#include "calibrator/host/system/npy.h"
#include "tests/support/calibrate.h"
#include "tests/support/digest_text.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

// A recovery that chooses weights one by one is slow under an emulator: networks with larger inputs go without.
constexpr size_t kSmallInput = 32 * 32 * 3;

std::string setting(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

Samples read_samples(const Model& model) {
  const auto values = read_npy(setting("INTAGLIO_INPUT"));
  REQUIRE_MESSAGE(values, values.message());
  const Span<const float> all = values->as<float>();
  const auto elements = static_cast<size_t>(model.tensor(model.inputs()[0]).shape.elements());
  const auto count = static_cast<size_t>(std::atoi(setting("INTAGLIO_SAMPLES").c_str()));
  REQUIRE(count >= 2);
  REQUIRE(all.size >= count * elements);
  Samples samples;
  for (size_t s = 0; s < count; ++s)
    samples.emplace_back(all.data + s * elements, all.data + (s + 1) * elements);
  return samples;
}

std::string digests(const Model& model, const Samples& samples) {
  std::vector<RecoveryMask> recoveries = {recovery::kNone, recovery::kBiasCorrection, recovery::kEqualization,
                                          recovery::kBiasAbsorption, recovery::kWeightScales};
  if (samples[0].size() <= kSmallInput) {
    recoveries.push_back(recovery::kLearnedScales);
    recoveries.push_back(recovery::kAdaptiveRounding);
  }
  std::string lines;
  for (const CalibrationWay& way : calibration_ways(recoveries)) {
    CalibratorOptions options;
    options.layer_report = false;
    options.method = way.method;
    options.recover = way.recover;
    lines += "method " + std::to_string(static_cast<int>(way.method)) + " recoveries " +
             std::to_string(way.recover) + " " + sha256_of(calibrate(model, samples, options)) + "\n";
  }
  return lines;
}

}  // namespace

TEST_CASE("a real network calibrated in every way gives the build machine's bytes") {
  const auto file = read_file(setting("INTAGLIO_MODEL"), kMaxModelBytes);
  REQUIRE_MESSAGE(file, file.message());
  const Result<Model> model = Model::open(file->span());
  REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));
  const std::string found = digests(*model, read_samples(*model));
  const std::string written = setting("INTAGLIO_WRITE_DIGESTS");
  if (!written.empty()) {
    std::ofstream out(written, std::ios::binary);
    out << found << std::flush;
    REQUIRE(out.good());
    return;
  }
  std::ifstream in(setting("INTAGLIO_DIGESTS"), std::ios::binary);
  const std::string expected((std::istreambuf_iterator<char>(in)), {});
  REQUIRE(!expected.empty());
  CHECK(found == expected);
}

// One answer, everywhere: a network is calibrated on fixed samples and run, in FP32 and int8, with the
// kernels of each instruction set of this machine; the bytes of the int8 file and of the outputs are those
// that the scalar build of an x86-64 host gave (preset scalar), whatever machine and preset this is.
//
// A deliberate change of the calibrator or of the file changes the constants: take them from that build's
// failure message, and see that every other preset agrees.
#include <doctest/doctest.h>

#include "kernels/compiled_isa.h"
#include "runtime/crc32.h"
#include "tests/support/calibrate.h"
#include "tests/support/digest_text.h"
#include "tests/support/small_models.h"

namespace intaglio::test::golden_hash_test {
namespace {

constexpr uint32_t kFloatOutputs = 3853261016u;

// With answers in FP32, and in int8 (CalibratorOptions::int8_answers).
struct Golden {
  bool int8_answers;
  std::string file;
  uint32_t outputs;
  std::string every_way;  // all files of the second test, one behind the other
};
const Golden kGolden[] = {{false, "727ada7a923e398e78adf69e7cf9d38ff6a29becad175b4282b5225e4afb0709",
                           2418189908u, "2d647a6894e255fab4b51f58d9f2e37fdfcb9f72ceec30765dc1a3c200430fd8"},
                          {true, "5a739312373afb83c5b35e283af20339759e07ac4debf9064a8d65c7e2ff8658",
                           1002869854u, "d72085635e7c9eccbbfd60676e514a4e44489cbf67a5fac1b8aa0ab6f7cf8bdd"}};

// Nothing but scalar kernels, then one instruction set more at a time.
std::vector<IsaMask> masks() {
  std::vector<IsaMask> found = {isa::kScalar};
  IsaMask mask = isa::kScalar;
  for (const IsaName& isa : kIsaNames) {
    if ((isa.bit & cpu_isa() & kCompiledIsa) == 0) continue;
    mask |= isa.bit;
    found.push_back(mask);
  }
  return found;
}

uint32_t crc_of(uint32_t crc, const std::vector<float>& values) {
  return crc32(crc, reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float));
}

uint32_t outputs_of(const AlignedBytes& bytes, const Samples& samples, IsaMask mask) {
  SessionOptions options;
  options.isa = mask;
  RunningModel model(AlignedBytes(bytes.view()), all_ops(), options);
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
  uint32_t crc = 0;
  for (const auto& sample : samples) {
    if (model.session().input().info.dtype == DType::kF32) {
      crc = crc_of(crc, model.run<float>(sample));
    } else {  // any codes will do, as long as they are the same ones everywhere
      std::vector<int8_t> codes;
      for (const float value : sample)
        codes.push_back(static_cast<int8_t>(static_cast<int32_t>(value) - 128));
      model.set_input(codes);
      model.session().run();
      const TensorView classes = model.session().output();
      crc = crc32(crc, static_cast<const uint8_t*>(classes.data), classes.info.bytes());
    }
  }
  return crc;
}

}  // namespace

TEST_CASE("every machine and instruction set gives the bytes of the scalar host build") {
  const AlignedBytes model = small_cnn();
  const Samples samples = small_cnn_samples(8);
  for (const IsaMask mask : masks()) {
    CAPTURE(mask);
    CHECK(outputs_of(model, samples, mask) == kFloatOutputs);
    for (const Golden& golden : kGolden) {
      CAPTURE(golden.int8_answers);
      CalibratorOptions options;
      options.isa = mask;
      options.int8_answers = golden.int8_answers;
      const std::vector<uint8_t> written = calibrate(*Model::open(model.view()), samples, options);
      CHECK(sha256_of(written) == golden.file);
      const AlignedBytes int8(Span<const uint8_t>(written.data(), written.size()));
      CHECK(outputs_of(int8, samples, mask) == golden.outputs);
    }
  }
}

TEST_CASE("so does every way of choosing ranges and every recovery") {
  const AlignedBytes model = small_cnn();
  const Samples samples = small_cnn_samples(9, 3);
  const std::vector<CalibrationWay> ways = calibration_ways(
      {recovery::kNone, recovery::kBiasCorrection, recovery::kEqualization, recovery::kBiasAbsorption,
       recovery::kWeightScales, recovery::kLearnedScales, recovery::kAdaptiveRounding, recovery::kAll});
  for (const Golden& golden : kGolden)
    for (const IsaMask mask : masks()) {
      CAPTURE(golden.int8_answers);
      CAPTURE(mask);
      std::vector<uint8_t> all;
      for (const CalibrationWay& way : ways) {
        CalibratorOptions options;
        options.layer_report = false;
        options.isa = mask;
        options.int8_answers = golden.int8_answers;
        options.method = way.method;
        options.recover = way.recover;
        const std::vector<uint8_t> file = calibrate(*Model::open(model.view()), samples, options);
        all.insert(all.end(), file.begin(), file.end());
      }
      CHECK(sha256_of(all) == golden.every_way);
    }
}

}  // namespace intaglio::test::golden_hash_test

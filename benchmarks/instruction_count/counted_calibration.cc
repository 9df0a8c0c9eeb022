// A whole calibration of an FP32 model on samples of noise, serial: what on-device calibration costs. The library's
// defaults, or what words say otherwise. All in memory; replay_bytes of 0 and of what is useful, see
// Calibrator::replay_bytes().
#include <cstdlib>
#include <cstring>

#include "benchmarks/instruction_count/counted_values.h"
#include "intaglio/calibrator.h"

using namespace intaglio;

namespace {

bool load(void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
  (void)context;
  for (const Span<uint8_t>& input : inputs)
    for (size_t at = 0; at + sizeof(float) <= input.size; at += sizeof(float)) {
      const float value = real(at + static_cast<size_t>(i) * 7919);
      memcpy(input.data + at, &value, sizeof value);
    }
  return true;
}

}  // namespace

int64_t run_calibration(const Model& model, int32_t samples, Span<const char* const> words) {
  const auto given = [&](const char* word) {
    for (const char* const one : words)
      if (strcmp(one, word) == 0) return true;
    return false;
  };
  CalibratorOptions options;
  options.layer_report = given("report");
  if (given("bias")) options.recover = recovery::kBiasCorrection;
  if (given("none")) options.recover = recovery::kNone;
  const Result<size_t> useful = Calibrator::replay_bytes(model, samples, options);
  const Result<CalibratorNeeds> needs = Calibrator::measure(model, options);
  if (!useful || !needs) return 0;
  const size_t size = needs->total() + (given("replay") ? *useful : 0);
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, size) != 0) return 0;
  Result<Calibrator> calibrator = Calibrator::create(model, {static_cast<uint8_t*>(memory), size}, options);
  if (!calibrator) return 0;
  SampleSource source;
  source.load = load;
  source.count = samples;
  if (!calibrator->add_all(source).ok() || !calibrator->finish({}, &source).ok()) return 0;
  const auto bytes = static_cast<int64_t>(calibrator->report().bytes.size);
  std::free(memory);
  return bytes;
}

// A whole calibration of an FP32 model on samples of noise, serial, with the library's defaults: what on-device
// calibration costs. All in memory; replay_bytes of 0 and of what is useful, see Calibrator::replay_bytes().
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

int64_t run_calibration(const Model& model, int32_t samples, bool replays, bool reports) {
  CalibratorOptions options;
  options.layer_report = reports;
  const Result<size_t> useful = Calibrator::replay_bytes(model, samples, options);
  const Result<CalibratorNeeds> needs = Calibrator::measure(model, options);
  if (!useful || !needs) return 0;
  const size_t size = needs->total() + (replays ? *useful : 0);
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

// One calibration from samples that are at hand, and every way to calibrate: for tests that ask for the same
// bytes everywhere.
#pragma once

#include <stdexcept>
#include <vector>

#include "intaglio/calibrator.h"
#include "tests/support/float_samples.h"
#include "tests/support/model_builder.h"

namespace intaglio::test {

struct CalibrationWay {
  RangeMethod method = RangeMethod::kAuto;
  RecoveryMask recover = recovery::kDefault;
};

// Every method, then `recoveries` one by one after `auto`.
inline std::vector<CalibrationWay> calibration_ways(const std::vector<RecoveryMask>& recoveries) {
  std::vector<CalibrationWay> ways;
  ways.reserve(kRangeMethodCount + recoveries.size());
  for (int32_t method = 0; method < kRangeMethodCount; ++method)
    ways.push_back({static_cast<RangeMethod>(method), recovery::kDefault});
  for (const RecoveryMask recover : recoveries) ways.push_back({RangeMethod::kAuto, recover});
  return ways;
}

// How a calibrator gets its samples: in add_all() each of the executor's threads takes samples of its own. Without a source
// it gets them once.
enum class Feed { kOneByOne, kAllAtOnce, kNoSource };

// The int8 model's bytes; throws where the calibrator refuses. What finish() can keep, it keeps.
inline std::vector<uint8_t> calibrate(const Model& model, const Samples& samples, CalibratorOptions options,
                                      Feed feed = Feed::kOneByOne) {
  const auto expect = [&model](const Error& error) {
    if (!error.ok()) throw std::runtime_error(text_of(error, &model));
  };
  const Result<size_t> replay =
      Calibrator::replay_bytes(model, static_cast<int32_t>(samples.size()), options);
  expect(replay.error());
  options.replay_bytes = *replay;
  const Result<CalibratorNeeds> needs = Calibrator::measure(model, options);
  expect(needs.error());
  AlignedBytes memory(needs->total());
  Result<Calibrator> calibrator = Calibrator::create(model, memory.span(), options);
  expect(calibrator.error());
  const SampleSource source = source_of(samples);
  if (feed == Feed::kAllAtOnce) expect(calibrator->add_all(source));
  for (size_t i = 0; feed != Feed::kAllAtOnce && i < samples.size(); ++i) {
    const Span<const uint8_t> input = bytes_of(samples[i]);
    expect(calibrator->add({&input, 1}));
  }
  expect(calibrator->finish({}, feed == Feed::kNoSource ? nullptr : &source));
  const Span<const uint8_t> bytes = calibrator->report().bytes;
  return {bytes.begin(), bytes.end()};
}

}  // namespace intaglio::test

// One calibration with recoveries on random samples, and what is to be known of it.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "intaglio/calibrator.h"
#include "intaglio/describe.h"
#include "tests/support/float_samples.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"
#include "tests/support/threads.h"

namespace intaglio::test {

struct RecoveryRun {
  RecoveryMask recover = recovery::kNone;
  bool reversed = false;  // the samples' order
  IsaMask isa = isa::kAll;
  int32_t threads = 1, samples = 12;
  bool keeps_outputs = true;  // of the FP32 model; else they are computed anew
};

struct RecoveryOutcome {
  double before = 0.0, after = 0.0;  // noise over signal
  std::vector<RecoveryRecord> recoveries;
  std::string options;  // what the int8 model says of itself
  std::vector<uint8_t> bytes, state_before, state_after;
  std::map<std::string, float> highest;  // statistics() of each tensor

  RecoveryVerdict verdict(RecoveryMask of) const {
    for (const RecoveryRecord& record : recoveries)
      if (record.recovery == of) return record.verdict;
    return RecoveryVerdict::kNoSource;
  }
  bool says(const char* words) const { return options.find(words) != std::string::npos; }
};

// A run of a model with one FP32 input.
inline RecoveryOutcome calibrate(const AlignedBytes& bytes, const RecoveryRun& run) {
  const Result<Model> model = Model::open(bytes.view());
  REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));
  const auto elements = static_cast<size_t>(model->tensor(model->inputs()[0]).shape.elements());
  Samples samples(static_cast<size_t>(run.samples), std::vector<float>(elements));
  Random random(9);
  for (auto& sample : samples)
    for (float& v : sample) v = random.real(-1.0f, 1.0f);
  if (run.reversed) std::reverse(samples.begin(), samples.end());
  CalibratorOptions options;
  options.method = RangeMethod::kMinMax;
  options.recover = run.recover;
  options.isa = run.isa;
  options.executor = thread_executor(run.threads);
  if (run.keeps_outputs) options.replay_bytes = *Calibrator::replay_bytes(*model, run.samples, options);
  AlignedBytes memory(Calibrator::measure(*model, options)->total());
  Calibrator calibrator = *Calibrator::create(*model, memory.span(), options);
  for (const auto& sample : samples) {
    const Span<const uint8_t> input = bytes_of(sample);
    REQUIRE(calibrator.add({&input, 1}).ok());
  }
  const SampleSource source = source_of(samples);
  RecoveryOutcome outcome;
  const auto save = [&calibrator](std::vector<uint8_t>& state) {
    state.resize(calibrator.state_bytes());
    REQUIRE(calibrator.save({state.data(), state.size()}).ok());
  };
  save(outcome.state_before);
  const Error error = calibrator.finish({}, &source);
  REQUIRE_MESSAGE(error.ok(), text_of(error));
  save(outcome.state_after);
  const CalibrationReport& report = calibrator.report();
  outcome.before = report.noise_without_recovery / report.signal;
  outcome.after = report.noise / report.signal;
  outcome.recoveries.assign(report.recoveries.begin(), report.recoveries.end());
  outcome.options = Model::open(report.bytes)->calibration().options;
  outcome.bytes.assign(report.bytes.begin(), report.bytes.end());
  for (int32_t t = 0; t < model->tensor_count(); ++t)
    outcome.highest[model->tensor(t).name] = calibrator.statistics(t).max;
  return outcome;
}

}  // namespace intaglio::test

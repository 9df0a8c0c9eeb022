// The samples of a calibration, which reads each of them many times: kept in memory as far as there is room.
#pragma once

#include <functional>
#include <vector>

#include "intaglio/calibrator.h"
#include "tools/samples.h"

namespace intaglio::tools {

class CalibrationSamples {
 public:
  using Sample = Span<const Span<const uint8_t>>;  // the FP32 inputs

  // For an FP32 model; both outlive this.
  CalibrationSamples(const Samples& samples, const Model& model);

  // Takes every fourth sample in the order of their digests out of those that calibrate; only the functions
  // with held_out in their names know them from then on. Of fewer than 8 none.
  Outcome<Done> hold_out();
  size_t held_out_count() const { return held_out_.size(); }
  Outcome<Sample> get_held_out(size_t i) { return fetch(held_out_[i]); }
  const std::string& held_out_name(size_t i) const { return samples_.name(held_out_[i]); }

  size_t count() const { return taken_.size(); }
  const std::string& name(size_t i) const { return samples_.name(taken_[i]); }
  const Samples& samples() const { return samples_; }  // all of them
  const Model& model() const { return model_; }

  // Valid until the next call.
  Outcome<Sample> get(size_t i) { return fetch(taken_[i]); }
  // Samples [first, first + count), each once, on the executor's threads.
  using Visit = std::function<void(size_t i, Sample sample)>;
  Outcome<Done> visit(const Executor& executor, size_t first, size_t count, const Visit& visit);
  // One of them into both sessions' inputs, quantized where `test` is int8.
  Outcome<Done> load(size_t i, LoadedSession& fp32, LoadedSession& test);

  // Called for a sample that has gone through a model: SampleSource::ran.
  using Ran = std::function<void(size_t i, const Session& session)>;
  // For the calibrator, until the next call.
  SampleSource source(Ran ran = {});
  // Those held out, likewise.
  SampleSource held_out_source();
  // Why the source could not give a sample; empty where it could.
  const std::string& problem() const { return problem_; }

 private:
  SampleBuffer next_buffer();
  Outcome<Sample> fetch(size_t i);
  static void ran_for_source(void* context, int32_t i, const Session& session);
  static bool load_for_source(void* context, int32_t i, Span<const Span<uint8_t>> inputs);
  static bool load_held_out(void* context, int32_t i, Span<const Span<uint8_t>> inputs);
  bool copy_into(Span<const Span<uint8_t>> inputs, const Outcome<Sample>& sample);

  const Samples& samples_;
  const Model& model_;
  std::vector<size_t> taken_, held_out_;  // of the samples
  size_t sample_bytes_, kept_most_;
  FileBytes memory_;                // of those that are kept, and of one more
  std::vector<SampleBuffer> kept_;  // the first samples
  SampleBuffer latest_;
  std::string problem_;
  Ran ran_;
};

}  // namespace intaglio::tools

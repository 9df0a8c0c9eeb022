#include "cli/calibration_samples.h"

#include <algorithm>
#include <cstring>

#include "calibrator/evaluate.h"

namespace intaglio::cli {
namespace {

constexpr size_t kMaxKeptBytes = size_t{1} << 30;

size_t sample_bytes(const Model& model) {
  size_t bytes = 0;
  for (const int32_t input : model.inputs()) bytes += model.tensor(input).bytes();
  return bytes;
}

}  // namespace

CalibrationSamples::CalibrationSamples(const Samples& samples, const Model& model)
    : samples_(samples),
      model_(model),
      kept_most_(std::min(samples.count(), kMaxKeptBytes / std::max(sample_bytes(model), size_t{1}))),
      latest_(model) {
  for (size_t i = 0; i < samples.count(); ++i) taken_.push_back(i);
}

Outcome<Done> CalibrationSamples::hold_out() {
  constexpr size_t kFewest = 8, kEvery = 4;
  if (taken_.size() < kFewest) return Done{};
  std::vector<std::pair<Digest, size_t>> order;
  for (const size_t i : taken_) {
    const auto digest = samples_.digest(i);
    if (!digest) return digest.failure();
    order.emplace_back(*digest, i);
  }
  std::sort(order.begin(), order.end());
  taken_.clear();
  for (size_t rank = 0; rank < order.size(); ++rank)
    (rank % kEvery == kEvery - 1 ? held_out_ : taken_).push_back(order[rank].second);
  return Done{};
}

Outcome<CalibrationSamples::Sample> CalibrationSamples::fetch(size_t i) {
  while (i < kept_most_ && kept_.size() <= i) {
    SampleBuffer buffer(model_);
    if (auto loaded = samples_.load(kept_.size(), buffer.views()); !loaded) return loaded.failure();
    kept_.push_back(std::move(buffer));
  }
  if (i < kept_.size()) return kept_[i].inputs();
  if (auto loaded = samples_.load(i, latest_.views()); !loaded) return loaded.failure();
  return latest_.inputs();
}

Outcome<Done> CalibrationSamples::load(size_t i, LoadedSession& fp32, LoadedSession& test) {
  const auto sample = get(i);
  if (!sample) return sample.failure();
  fill_inputs(*fp32, *sample);
  copy_inputs(*fp32, *test);
  return Done{};
}

SampleSource CalibrationSamples::source(Ran ran) {
  ran_ = std::move(ran);
  SampleSource source;
  source.load = load_for_source;
  if (ran_) source.ran = ran_for_source;
  source.context = this;
  source.count = static_cast<int32_t>(count());
  return source;
}

void CalibrationSamples::ran_for_source(void* context, int32_t i, const Session& session) {
  static_cast<CalibrationSamples*>(context)->ran_(static_cast<size_t>(i), session);
}

bool CalibrationSamples::load_for_source(void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
  auto& self = *static_cast<CalibrationSamples*>(context);
  const auto sample = self.get(static_cast<size_t>(i));
  if (!sample) {
    self.problem_ = sample.message();
    return false;
  }
  for (size_t j = 0; j < inputs.size; ++j) std::memcpy(inputs[j].data, (*sample)[j].data, inputs[j].size);
  return true;
}

}  // namespace intaglio::cli

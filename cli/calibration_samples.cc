#include "cli/calibration_samples.h"

#include <algorithm>
#include <cstring>

#include "calibrator/evaluate.h"

namespace intaglio::cli {
namespace {

constexpr size_t kMaxKeptBytes = size_t{1} << 30;

}  // namespace

CalibrationSamples::CalibrationSamples(const Samples& samples, const Model& model)
    : samples_(samples),
      input_(model.tensor(model.inputs()[0])),
      kept_most_(std::min(samples.count(), kMaxKeptBytes / std::max(input_.bytes(), size_t{1}))),
      latest_(input_) {
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

Outcome<Span<const uint8_t>> CalibrationSamples::fetch(size_t i) {
  while (i < kept_most_ && kept_.size() <= i) {
    SampleBuffer buffer(input_);
    if (auto loaded = samples_.load(kept_.size(), buffer.view()); !loaded) return loaded.failure();
    kept_.push_back(std::move(buffer));
  }
  if (i < kept_.size()) return kept_[i].bytes();
  if (auto loaded = samples_.load(i, latest_.view()); !loaded) return loaded.failure();
  return latest_.bytes();
}

Outcome<Done> CalibrationSamples::load(size_t i, LoadedSession& fp32, LoadedSession& test) {
  const auto bytes = get(i);
  if (!bytes) return bytes.failure();
  std::memcpy(fp32->input().data, bytes->data, bytes->size);
  copy_inputs(*fp32, *test);
  return Done{};
}

SampleSource CalibrationSamples::source() {
  SampleSource source;
  source.load = load_for_source;
  source.context = this;
  source.count = static_cast<int32_t>(count());
  return source;
}

bool CalibrationSamples::load_for_source(void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
  auto& self = *static_cast<CalibrationSamples*>(context);
  const auto bytes = self.get(static_cast<size_t>(i));
  if (!bytes) {
    self.problem_ = bytes.message();
    return false;
  }
  std::memcpy(inputs[0].data, bytes->data, bytes->size);
  return true;
}

}  // namespace intaglio::cli

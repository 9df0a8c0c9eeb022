#include "tools/calibration_samples.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>

#include "calibrator/judge/evaluate.h"
#include "runtime/op.h"

namespace intaglio::tools {
namespace {

constexpr size_t kMaxKeptBytes = size_t{1} << 30;

}  // namespace

CalibrationSamples::CalibrationSamples(const Samples& samples, const Model& model)
    : samples_(samples),
      model_(model),
      sample_bytes_(SampleBuffer::bytes(model)),
      kept_most_(std::min(samples.count(), kMaxKeptBytes / std::max(sample_bytes_, size_t{1}))),
      memory_((kept_most_ + 1) * sample_bytes_),
      latest_(model, memory_.data() + kept_most_ * sample_bytes_) {
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

SampleBuffer CalibrationSamples::next_buffer() {
  return {model_, memory_.data() + kept_.size() * sample_bytes_};
}

Outcome<CalibrationSamples::Sample> CalibrationSamples::fetch(size_t i) {
  while (i < kept_most_ && kept_.size() <= i) {
    SampleBuffer buffer = next_buffer();
    if (auto loaded = samples_.load(kept_.size(), buffer.views()); !loaded) return loaded.failure();
    kept_.push_back(std::move(buffer));
  }
  if (i < kept_.size()) return kept_[i].inputs();
  if (auto loaded = samples_.load(i, latest_.views()); !loaded) return loaded.failure();
  return latest_.inputs();
}

Outcome<Done> CalibrationSamples::visit(const Executor& executor, size_t first, size_t count,
                                        const Visit& visit) {
  const size_t known = kept_.size();
  size_t ready = 0;  // those with memory of their own
  for (; ready < count; ++ready) {
    const size_t i = taken_[first + ready];
    if (i >= kept_most_ || i > kept_.size()) break;
    if (i == kept_.size()) kept_.push_back(next_buffer());
  }
  std::vector<Outcome<Done>> outcomes(ready, Done{});
  std::exception_ptr thrown;
  std::mutex mutex;
  parallel_for(executor, static_cast<int32_t>(ready), [&](int32_t task) {
    const auto at = static_cast<size_t>(task), i = taken_[first + at];
    try {
      if (i >= known) outcomes[at] = samples_.load(i, kept_[i].views());
      if (outcomes[at]) visit(first + at, kept_[i].inputs());
    } catch (...) {  // does not leave a thread
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  });
  if (thrown) std::rethrow_exception(thrown);
  for (const Outcome<Done>& outcome : outcomes)
    if (!outcome) return outcome.failure();
  for (size_t at = ready; at < count; ++at) {
    const auto sample = get(first + at);
    if (!sample) return sample.failure();
    visit(first + at, *sample);
  }
  return Done{};
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
  source.loads_at_once = kept_.size() == samples_.count();  // a copy each
  return source;
}

void CalibrationSamples::ran_for_source(void* context, int32_t i, const Session& session) {
  static_cast<CalibrationSamples*>(context)->ran_(static_cast<size_t>(i), session);
}

bool CalibrationSamples::load_for_source(void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
  auto& self = *static_cast<CalibrationSamples*>(context);
  return self.copy_into(inputs, self.get(static_cast<size_t>(i)));
}

bool CalibrationSamples::load_held_out(void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
  auto& self = *static_cast<CalibrationSamples*>(context);
  return self.copy_into(inputs, self.get_held_out(static_cast<size_t>(i)));
}

bool CalibrationSamples::copy_into(Span<const Span<uint8_t>> inputs, const Outcome<Sample>& sample) {
  if (!sample) {
    problem_ = sample.message();
    return false;
  }
  for (size_t j = 0; j < inputs.size; ++j) std::memcpy(inputs[j].data, (*sample)[j].data, inputs[j].size);
  return true;
}

SampleSource CalibrationSamples::held_out_source() {
  SampleSource source;
  source.load = load_held_out;
  source.context = this;
  source.count = static_cast<int32_t>(held_out_count());
  return source;
}

}  // namespace intaglio::tools

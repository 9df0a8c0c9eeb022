#include "calibrator/host/accuracy/sample_errors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "runtime/liveness.h"

namespace intaglio {
namespace {

// expected() adds all of its correction up to so many samples, and 6 dB at most.
constexpr double kManySamples = 16;
const double kMostMore = std::log(4.0);
// Before any is measured: the variance of the logarithms of the samples' noise, and how many samples that guess is worth.
// The spread of few samples is a guess itself.
constexpr double kSpread = 1.5, kSpreadSamples = 4;
constexpr double kPi = 3.14159265358979323846;

// Channels with such a gap between them are judged apart: scores of rare classes are small, too, but there are some of every
// size between. What is below the least share of the largest counts as nothing.
constexpr double kGap = 8.0, kLeastShare = 0x1p-14;
constexpr int64_t kMostChannels = 1024;

// The sum over samples of one output or part.
NetworkError sum_of(std::vector<NetworkError> samples, bool is_expected) {
  const auto count = static_cast<double>(samples.size());
  // One order, any, whatever the samples' is: sums have the same last digits then. By bytes, since an error may be no number.
  std::sort(samples.begin(), samples.end(), [](const NetworkError& a, const NetworkError& b) {
    return std::memcmp(&a, &b, sizeof a) < 0;  // NOLINT(bugprone-suspicious-memory-comparison): two doubles
  });
  NetworkError sum;
  double logarithms = 0.0, squares = 0.0, noisy = 0.0, ratios = 0.0, loud = 0.0;
  for (const NetworkError& sample : samples) {
    sum.signal += sample.signal;
    sum.noise += sample.noise;
    if (sample.signal > 0.0) {
      ratios += sample.ratio();
      ++loud;
    }
    if (!(sample.noise > 0.0)) continue;
    const double log_noise = std::log(sample.noise);
    logarithms += log_noise;
    squares += log_noise * log_noise;
    ++noisy;
  }
  if (noisy > 1 && is_expected) {
    const double mean = logarithms / noisy;
    const double measured = std::max(0.0, squares / noisy - mean * mean) * noisy;
    const double variance = (kSpreadSamples * kSpread + measured) / (kSpreadSamples + noisy - 1);
    double more = std::max(0.0, mean + variance / 2 - std::log(sum.noise / count));
    // A few loud samples can hide what the others lose.
    if (loud > 0 && sum.signal > 0.0)
      more += std::max(0.0, std::log(ratios / loud) - std::log(sum.ratio()) - more) / 2;
    sum.noise *= std::exp(std::min(1.0, kManySamples / count) * std::min(more, kMostMore));
  }
  return sum;
}

}  // namespace

void SampleErrors::add(const std::vector<NetworkError>& outputs,
                       std::vector<std::vector<ChannelError>> channels) {
  samples_.push_back(outputs);
  channels_.push_back(std::move(channels));
}

NetworkError SampleErrors::expected() const {
  NetworkError whole;
  const size_t outputs = samples_.empty() ? 0 : samples_[0].size();
  for (size_t o = 0; o < outputs; ++o) {
    std::vector<NetworkError> errors;
    for (const auto& sample : samples_) errors.push_back(sample[o]);
    whole.add(sum_of(std::move(errors), true), outputs);
  }
  return whole;
}

std::optional<double> SampleErrors::most_of_sets() const {
  constexpr size_t kDraws = 2000, kRank = kDraws * 9 / 10;
  const size_t count = samples_.size(), outputs = count == 0 ? 0 : samples_[0].size();
  if (count < kFewestForSets) return std::nullopt;
  // Each sample's share of the whole noise over signal.
  std::vector<NetworkError> sums(outputs);
  for (const auto& sample : samples_)
    for (size_t o = 0; o < outputs; ++o) sums[o].signal += sample[o].signal;
  std::vector<double> logarithms;
  for (const auto& sample : samples_) {
    double share = 0.0;
    for (size_t o = 0; o < outputs; ++o) share += NetworkError{sums[o].signal, sample[o].noise}.ratio();
    if (share > 0.0)
      logarithms.push_back(std::log(share * static_cast<double>(count) / static_cast<double>(outputs)));
  }
  if (logarithms.empty()) return 0.0;
  // One order, any, whatever the samples' is.
  std::sort(logarithms.begin(), logarithms.end());
  const auto n = static_cast<double>(logarithms.size());
  const double mean = std::accumulate(logarithms.begin(), logarithms.end(), 0.0) / n;
  double squares = kSpreadSamples * kSpread;
  for (const double one : logarithms) squares += (one - mean) * (one - mean);
  // The generator's numbers are the standard's, its distributions are each library's own.
  std::mt19937_64 generator(1);
  const auto uniform = [&] { return static_cast<double>((generator() >> 11) + 1) * 0x1p-53; };
  const auto normal = [&] { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * kPi * uniform()); };
  const auto freedom = static_cast<size_t>(kSpreadSamples + n) - 1;
  std::vector<double> sets(kDraws);
  for (double& set : sets) {
    double chi = 0.0;
    for (size_t i = 0; i < freedom; ++i) {
      const double one = normal();
      chi += one * one;
    }
    const double deviation = std::sqrt(squares / chi), center = mean + deviation / std::sqrt(n) * normal();
    for (size_t i = 0; i < kFurther; ++i) set += std::exp(center + deviation * normal());
    set /= static_cast<double>(kFurther);
  }
  std::nth_element(sets.begin(), sets.begin() + kRank, sets.end());
  return std::max(sets[kRank], expected().ratio());
}

std::vector<PartError> SampleErrors::parts(bool is_expected) const {
  std::vector<PartError> parts;
  const size_t outputs = samples_.empty() ? 0 : samples_[0].size();
  for (size_t o = 0; o < outputs; ++o) {
    const size_t before = parts.size();
    add_channel_groups(o, is_expected, parts);
    if (parts.size() > before) continue;
    std::vector<NetworkError> errors;
    for (const auto& sample : samples_) errors.push_back(sample[o]);
    parts.push_back(
        {o < names_.size() ? names_[o] : std::string(), {}, 0, sum_of(std::move(errors), is_expected)});
  }
  return parts;
}

// None where all channels are of like size.
void SampleErrors::add_channel_groups(size_t output, bool is_expected, std::vector<PartError>& parts) const {
  std::vector<double> sizes;
  for (const auto& sample : channels_) {
    if (output >= sample.size() || sample[output].empty()) return;
    sizes.resize(sample[output].size());
    for (size_t c = 0; c < sizes.size(); ++c) sizes[c] = std::max(sizes[c], sample[output][c].largest);
  }
  const std::vector<std::vector<int32_t>> groups = groups_of_like_size(sizes);
  for (size_t g = 0; g < groups.size() && groups.size() > 1; ++g) {
    std::vector<NetworkError> errors;
    for (const auto& sample : channels_) {
      NetworkError sum;
      for (const int32_t c : groups[g]) {
        const NetworkError& error = sample[output][static_cast<size_t>(c)].error;
        sum.signal += error.signal;
        sum.noise += error.noise;
      }
      errors.push_back(sum);
    }
    parts.push_back({output < names_.size() ? names_[output] : std::string(), groups[g],
                     static_cast<int32_t>(sizes.size()), sum_of(std::move(errors), is_expected)});
  }
}

const PartError* worst_of(const std::vector<PartError>& parts) {
  const auto worse = [](const PartError& a, const PartError& b) { return b.error.worse_than(a.error); };
  const auto worst = std::max_element(parts.begin(), parts.end(), worse);
  return worst == parts.end() ? nullptr : &*worst;
}

std::vector<std::vector<int32_t>> groups_of_like_size(const std::vector<double>& sizes) {
  std::vector<int32_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](int32_t i) { return sizes[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return size(a) > size(b); });
  std::vector<std::vector<int32_t>> groups;
  double before = 0.0;
  for (const int32_t i : order) {
    if (!(size(i) > kLeastShare * size(order[0]))) break;
    if (groups.empty() || size(i) * kGap < before) groups.emplace_back();
    groups.back().push_back(i);
    before = size(i);
  }
  for (auto& group : groups) std::sort(group.begin(), group.end());
  return groups;
}

int32_t part_axis(const Model& model, int32_t tensor) {
  const Shape shape = model.tensor(tensor).shape;
  int32_t axis = -1;
  for (int32_t a = shape[0] == 1 ? 1 : 0; a < shape.rank; ++a)
    if (axis < 0 || shape[a] <= shape[axis]) axis = a;
  if (shape.rank >= 4) {
    axis = shape.rank - 1;
    const int32_t writer = writer_of(model, tensor);
    const NodeInfo node = writer < 0 ? NodeInfo() : model.node(writer);
    const auto* const moved = node.options.get<TransposeOptions>();
    for (size_t a = 0; moved != nullptr && a < moved->permutation.size; ++a)
      if (moved->permutation[a] == shape.rank - 1) axis = static_cast<int32_t>(a);
  }
  return axis < 0 || shape[axis] == 1 || shape[axis] > kMostChannels ? -1 : axis;
}

OutputComparison::OutputComparison(const Model& fp32, const Model& test, Span<const OutputTensor> outputs,
                                   bool by_channels)
    : fp32_(fp32),
      test_(test),
      outputs_(outputs),
      pairs_(outputs.size),
      by_channels_(by_channels),
      exact_(output_elements(outputs)) {
  pair_outputs(fp32, test, outputs, {pairs_.data(), pairs_.size()});
  for (const OutputPair& pair : pairs_) {
    const Shape shape = fp32.tensor(pair.exact.tensor).shape;
    const int32_t axis = part_axis(fp32, pair.exact.tensor);
    layouts_.emplace_back();
    if (axis >= 0)
      layouts_.back() = {shape.elements(0, axis), shape[axis], shape.elements(axis + 1, shape.rank)};
  }
}

std::vector<std::string> OutputComparison::names() const {
  std::vector<std::string> names;
  for (const OutputPair& pair : pairs_) names.emplace_back(fp32_.tensor(pair.exact.tensor).name);
  return names;
}

std::vector<NetworkError> OutputComparison::run(Session& fp32, Session& test, const float* known) {
  std::vector<NetworkError> found(pairs_.size());
  copy_inputs(fp32, test);
  if (known == nullptr) fp32.run_nodes(run_outputs(fp32, outputs_, exact_.data()), fp32_.node_count());
  OutputLook look;
  look.context = this;
  if (by_channels_) {
    channels_.resize(pairs_.size());
    look.look = [](void* context, size_t pair, const float* exact, const TensorView& view) {
      static_cast<OutputComparison*>(context)->add_channels(pair, exact, view);
    };
  }
  const float* const exact = known == nullptr ? exact_.data() : known;
  const int32_t done = compare_outputs(test, {pairs_.data(), pairs_.size()}, exact, found.data(), look);
  test.run_nodes(done, test_.node_count());
  return found;
}

void OutputComparison::add_channels(size_t pair, const float* exact, const TensorView& found) {
  const Layout& layout = layouts_[pair];
  if (layout.channels == 1) return;
  std::vector<ChannelError>& sums = channels_[pair];
  sums.resize(static_cast<size_t>(layout.channels));
  found_.resize(static_cast<size_t>(found.info.shape.elements()));
  TensorView real = found;
  real.info.dtype = DType::kF32;
  real.data = found_.data();
  convert_values(found, real);
  size_t i = 0;
  for (int64_t o = 0; o < layout.outer; ++o)
    for (int64_t c = 0; c < layout.channels; ++c) {
      ChannelError& sum = sums[static_cast<size_t>(c)];
      for (int64_t k = 0; k < layout.inner; ++k, ++i) {
        const auto x = static_cast<double>(exact[i]), d = x - static_cast<double>(found_[i]);
        sum.error.signal += x * x;
        sum.error.noise += d * d;
        sum.largest = std::max(sum.largest, std::abs(x));
      }
    }
}

std::vector<std::vector<ChannelError>> OutputComparison::take_channels(int runs) {
  std::vector<std::vector<ChannelError>> taken = std::move(channels_);
  channels_.clear();
  for (std::vector<ChannelError>& output : taken)
    for (ChannelError& sum : output) {
      sum.error.signal /= runs;
      sum.error.noise /= runs;
    }
  return taken;
}

}  // namespace intaglio

#include "cli/float_advice.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <string>

#include "cli/float_search.h"

namespace intaglio::cli {
namespace {

constexpr double kWantedGain = 3.0, kLeastGain = 0.5;  // dB
constexpr int kAttempts = 3;

// The fastest of a few runs of each node, in nanoseconds.
std::vector<double> node_times(LoadedSession& session) {
  constexpr int kRuns = 3;
  std::vector<double> times(static_cast<size_t>(session->model().node_count()), INFINITY);
  for (int run = 0; run < kRuns; ++run) {
    for (size_t n = 0; n < times.size(); ++n) {
      const auto start = std::chrono::steady_clock::now();
      session->run_nodes(static_cast<int32_t>(n), static_cast<int32_t>(n) + 1);
      const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
      times[n] = std::min(times[n], spent.count());
    }
  }
  return times;
}

double sum_of(const std::vector<double>& times) {
  double sum = 0.0;
  for (const double time : times) sum += time;
  return sum;
}

// Of what each node of the FP32 model takes there, and what the node that writes the same tensor takes in int8.
double time_with(const Model& fp32, const std::vector<double>& float_times, const Model& int8,
                 const std::vector<double>& int8_times, const std::vector<int32_t>& nodes) {
  std::map<std::string, double> own;
  for (int32_t n = 0; n < int8.node_count(); ++n)
    own[int8.tensor(int8.node(n).outputs[0]).name] = int8_times[static_cast<size_t>(n)];
  const double all = sum_of(int8_times);
  double with = all;
  for (const int32_t n : nodes) {
    with += float_times[static_cast<size_t>(n)];
    const auto found = own.find(fp32.tensor(fp32.node(n).outputs[0]).name);
    if (found != own.end()) with -= found->second;
  }
  return with / all;
}

}  // namespace

Outcome<std::optional<FloatAdvice>> advise_float_layers(const LoadedModel& fp32, const Model& int8,
                                                        CalibrationSamples& samples,
                                                        const CalibratorOptions& options,
                                                        const SessionOptions& execution,
                                                        ProgressLine& progress) {
  using Found = std::optional<FloatAdvice>;
  auto exact = LoadedSession::create(fp32, execution);
  if (!exact) return exact.failure();
  FloatSearchArguments wish;
  wish.gain = kWantedGain;
  wish.attempts = kAttempts;
  CalibratorOptions silent = options;
  silent.progress = {};
  const auto found = search_float_layers(fp32, *exact, samples, wish, silent, progress);
  if (!found) return found.failure();
  FloatAdvice advice;
  advice.layers = found->layers.size();
  advice.sqnr_gain = found->after.sqnr - found->before.sqnr;
  advice.bytes = static_cast<double>(found->bytes_after) / static_cast<double>(found->bytes_before);
  const Span<const int32_t> kept = options.float_nodes;
  for (const int32_t n : found->nodes)
    if (std::find(kept.begin(), kept.end(), n) == kept.end()) advice.nodes.push_back(n);
  std::sort(advice.nodes.begin(), advice.nodes.end());
  if (advice.nodes.empty() || !(advice.sqnr_gain >= kLeastGain)) return Found();
  auto test = LoadedSession::create(int8, execution);
  if (!test) return Found();  // it ran before
  advice.time = time_with(fp32.model(), node_times(*exact), int8, node_times(*test), advice.nodes);
  return Found(advice);
}

}  // namespace intaglio::cli

#include "calibrator/ranges/function_behind.h"

namespace intaglio {

bool look_behind(const TensorObserver& o, FunctionBehind& behind) {
  constexpr double kMostSlope = 2.0;
  bool stretches = false;
  const double width = o.bin_width();
  for (int32_t bin = 0; bin < kBins; ++bin) {
    const double start = o.bin_start(bin), slope = (behind.at(start + width) - behind.at(start)) / width;
    behind.value[bin] = static_cast<float>(behind.at(start + width / 2));
    behind.weight[bin] = static_cast<float>(slope * slope);
    stretches = stretches || !(slope <= kMostSlope && slope >= -kMostSlope);
  }
  return !stretches;
}

Range told_apart(const TensorObserver& o, const FunctionBehind& behind) {
  const auto is_seen = [&o](int32_t bin) { return o.halves[0].counts[bin] + o.halves[1].counts[bin] != 0; };
  int32_t first = 0, last = kBins - 1;
  while (first < last && !is_seen(first)) ++first;
  while (last > first && !is_seen(last)) --last;
  const auto value = [&behind](int32_t bin) { return static_cast<double>(behind.value[bin]); };
  double least = value(first), most = least;
  for (int32_t bin = first; bin <= last; ++bin) {
    least = value(bin) < least ? value(bin) : least;
    most = value(bin) > most ? value(bin) : most;
  }
  const double tolerance = (most - least) / 1024;
  const auto is_as = [&](int32_t end, int32_t bin) {
    const double difference = value(bin) - value(end);
    return difference <= tolerance && difference >= -tolerance;
  };
  int32_t lo = first, hi = last;
  while (lo < last && is_as(first, lo)) ++lo;
  while (hi > first && is_as(last, hi)) --hi;
  const double from = o.bin_start(lo), to = o.bin_start(hi) + o.bin_width();
  return {from < 0.0 ? from : 0.0, to > 0.0 ? to : 0.0};
}

}  // namespace intaglio

// An observer with room for counts of its own.
#pragma once

#include <cstring>
#include <vector>

#include "calibrator/observe/observer.h"

namespace intaglio::test {

class OwnObserver : public TensorObserver {
 public:
  explicit OwnObserver(int32_t bins = kBins) : room_(2 * Histogram::room(bins)) {
    counts_.bins = bins;
    for (const size_t half : {0u, 1u})
      counts_.halves[half].put_into(room_.data() + half * Histogram::room(bins), bins);
    counts = &counts_;
  }
  explicit OwnObserver(const TensorObserver& other) : OwnObserver(other.bins()) {
    TensorObserver::operator=(other);
  }
  OwnObserver(const OwnObserver& other) : OwnObserver(static_cast<const TensorObserver&>(other)) {}
  OwnObserver& operator=(const OwnObserver&) = delete;

 private:
  std::vector<uint32_t> room_;
  TensorCounts counts_;
};

inline bool same(const PeakSums& a, const PeakSums& b) {
  return a.sum == b.sum && a.squares == b.squares && a.count == b.count;
}

inline bool same(const TensorCounts& a, const TensorCounts& b) {
  const size_t bytes = Histogram::room(a.bins) * sizeof(uint32_t);  // with those by levels
  return a.bins == b.bins && std::memcmp(&a.levels, &b.levels, sizeof a.levels) == 0 &&
         std::memcmp(a.halves[0].counts, b.halves[0].counts, bytes) == 0 &&
         std::memcmp(a.halves[1].counts, b.halves[1].counts, bytes) == 0;
}

// Both with counts.
inline bool same(const TensorObserver& a, const TensorObserver& b) {
  bool equal = a.exponent == b.exponent && a.two_sided == b.two_sided && a.probe_min == b.probe_min &&
               a.probe_max == b.probe_max && same(*a.counts, *b.counts);
  for (const int half : {0, 1})
    equal = equal && a.min[half] == b.min[half] && a.max[half] == b.max[half] &&
            a.samples[half] == b.samples[half] && same(a.peaks[half], b.peaks[half]);
  return equal;
}

}  // namespace intaglio::test

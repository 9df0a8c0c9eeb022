// Range and histograms of one tensor, in bounded memory, independent of the order of the samples.
#pragma once

#include "calibrator/workspace/arena.h"
#include "kernels/observe/observe_f32.h"

namespace intaglio {

// Bins of a histogram: a multiple of kBlocks. Most range methods lose nothing with few, which are most of a calibration's memory
// (benchmarks/results/rules.md). KL compares bins with codes, and a value far from the others leaves few bins for these.
inline constexpr int32_t kBins = 512, kFineBins = 2048;

// The smallest width exponent: values below 2^-60 fall into the bins around zero.
inline constexpr int32_t kMinExponent = -60;

// Sums that samples, lanes and states add to in any order: exact, and modulo 2^64 where that is not enough.
inline int64_t order_free_sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// Logarithms of the samples' largest magnitudes of one sign, as order-free sums.
struct PeakSums {
  static constexpr double kPerOctave = 0x1p20;

  int64_t sum = 0, squares = 0;  // of log2, in units of 1 / kPerOctave
  uint32_t count = 0;            // samples with such a value

  void add(float peak);  // 0 adds nothing
  void add(const PeakSums& other);
  double variance() const;  // of one sample's log2; 0 with less than two
};

// Which samples the values of a histogram come from, by the samples' power. Ranges weigh their errors by it
// (ranges/observed_range.h). A sample's level is the exponent of its root mean square, at the middles of its own bins. Samples
// below the last level are those that the histogram counts and no level does.
inline constexpr int32_t kPowerLevels = 3;
inline constexpr int32_t kBlocks = 32;
inline constexpr int32_t kLowestLevel = kMinExponent - 1, kHighestLevel = 127;

struct PowerLevels {
  int32_t highest = kLowestLevel;
  uint32_t zeros[2] = {};  // by half: values of samples that are zero throughout
};

// Counts of values in bins of width 2^exponent. One-sided: bin i holds [i w, (i + 1) w). Two-sided, from the
// first negative value on: [(i - bins / 2) w, (i - bins / 2 + 1) w). Widths double as the range grows:
// pairs of bins add up, so the counts depend on the values alone.
struct Histogram {
  uint32_t* counts = nullptr;
  uint32_t (*levels)[kBlocks] =
      nullptr;  // of samples that are not zero throughout, k levels below the highest

  static constexpr size_t room(int32_t bins) { return static_cast<size_t>(bins) + kPowerLevels * kBlocks; }
  void put_into(uint32_t* place, int32_t bins) {
    counts = place;
    levels = reinterpret_cast<uint32_t(*)[kBlocks]>(place + bins);
  }
};

// The values of one tensor, by bins.
struct TensorCounts {
  TensorCounts() = default;
  TensorCounts(const TensorCounts&) = delete;
  TensorCounts& operator=(const TensorCounts&) = delete;

  size_t half_bytes() const { return static_cast<size_t>(bins) * sizeof(uint32_t); }

  int32_t bins = 0, half_count = 2;
  // Samples with an even, an odd digest, or the first of them all; in room() counts each.
  Histogram halves[2];
  PowerLevels levels;
};

struct TensorObserver {
  TensorObserver() = default;
  explicit TensorObserver(TensorCounts* room) : counts(room) {}
  TensorObserver(const TensorObserver&) = delete;
  // Becomes what `other` has seen. The counts go into this observer's own room, and are zero where `other` has none. It has no
  // fewer halves.
  TensorObserver& operator=(const TensorObserver& other);

  int32_t exponent = kMinExponent;  // of the bin width, of both histograms
  uint32_t two_sided = 0;           // 0 or 1
  float min[2] = {};  // over all elements, zero included; by half: samples with an even, an odd digest
  float max[2] = {};
  uint32_t samples[2] = {};
  PeakSums peaks[2];                         // below zero and above
  float probe_min = 0.0f, probe_max = 0.0f;  // how far probes reach (probes.h), zero included
  // Its room for them; nullptr: its values are not counted, since no range method asks for it.
  TensorCounts* counts = nullptr;

  int32_t bins() const { return counts == nullptr ? kBins : counts->bins; }
  int32_t halves() const { return counts == nullptr ? 0 : counts->half_count; }  // that are counted
  uint64_t values_in(int32_t bin) const {
    uint64_t all = 0;
    for (int32_t half = 0; half < halves(); ++half) all += counts->halves[half].counts[bin];
    return all;
  }
  int32_t zero_bin() const { return two_sided != 0 ? bins() / 2 : 0; }  // the one that starts at zero
  double bin_width() const;
  double bin_start(int32_t bin) const;
};

void reset(TensorObserver& observer);

// So many observers, each with room for so many bins; 0: it counts nothing. With one half of counts all samples are in it.
Span<TensorObserver> make_observers(Arena& arena, size_t count, int32_t bins, int32_t halves = 2);
inline int32_t bins_of(Span<const TensorObserver> observers) {
  return observers.empty() || observers[0].counts == nullptr ? 0 : observers[0].counts->bins;
}
constexpr size_t observer_list_bytes(size_t count, int32_t bins, int32_t halves = 2) {
  const size_t each = bins == 0 ? 0
                                : sizeof(TensorCounts) +
                                      static_cast<size_t>(halves) * Histogram::room(bins) * sizeof(uint32_t);
  return count * (sizeof(TensorObserver) + each) + 2 * alignof(TensorObserver);
}

// Least and greatest of values, zero included, and whether all are finite; where not, the two mean nothing.
using Extremes = ExtremesF32;
Extremes extremes_of(Span<const float> values, const ObserveF32Kernel& kernel);

// Memory to observe one tensor of a sample.
struct ObserverTools {
  const ObserveF32Kernel& kernel;
  TensorObserver& spare;  // overwritten
};

// Elements that stay in a CPU's nearest memory while they are read in several ways.
inline constexpr size_t kPassElements = 8192;

// Observes the values of one sample's tensor, piece by piece, in their order. Min and max see all; the
// histogram of `half` every stride-th. Counts do not depend on the pieces.
class TensorPass {
 public:
  // `observer`: nullptr, where only finite() is asked for.
  TensorPass(TensorObserver* observer, size_t elements, int32_t half, const ObserverTools& tools);
  // Returns whether all values are finite; where not, the pass ends here, and the observer is of no use.
  bool add(Span<const float> values);
  void finish();

 private:
  void add_piece(Span<const float> values);

  TensorObserver* observer_;
  int32_t half_;
  ObserverTools tools_;  // `spare` sees this sample alone, in both halves until the end
  Extremes seen_;
  size_t stride_, skip_ = 0;  // elements before the next one that is counted
  bool is_counting_ = false;
};

// All of it at once. Returns whether all values are finite.
bool observe(TensorObserver& observer, Span<const float> values, int32_t half, const ObserverTools& tools);
// `other` has no count past its ends. Where `observer` has one half, both halves of `other` go into it.
void merge(TensorObserver& observer, const TensorObserver& other);
// Bin width and sides from min and max alone: what they are after those values were seen. Counts stay.
void fit_bins(TensorObserver& observer);
// The exponent of the width that these min and max give so many bins.
int32_t fitted_exponent(const TensorObserver& observer, int32_t bins);
// Levels as if one sample had given all values.
void set_one_level(TensorObserver& observer);
// Whether every count stands in a bin that holds values between its half's min and max, and no block's levels have more of
// them than its bins.
bool counts_agree(const TensorObserver& observer);

// A probe's tensor, of finite values.
void add_probe(TensorObserver& observer, const Extremes& reached);

// Index of the first value that is not finite, or -1.
int64_t first_non_finite(Span<const float> values);

}  // namespace intaglio

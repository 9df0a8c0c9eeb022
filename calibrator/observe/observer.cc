#include "calibrator/observe/observer.h"

#include <initializer_list>

#include "runtime/real_functions.h"

namespace intaglio {
namespace {

constexpr int32_t kHalf = kBins / 2;

double power_of_two(int32_t exponent) {
  const uint64_t bits = static_cast<uint64_t>(exponent + 1023) << 52;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// Bins, or blocks of them, around zero.
template <typename Count>
struct Counts {
  Count* of;
  int32_t size, zero;  // how many; the one that starts at zero
};

template <typename Count>
Counts<Count> counts_of(Count* counts, int32_t size, const TensorObserver& o) {
  return {counts, size, o.two_sided != 0 ? size / 2 : 0};
}

// Pairs add up `times` over: bin i of width w becomes bin floor(i / 2^times), counted from zero.
void halve(const Counts<uint32_t>& counts, int32_t times) {
  const int32_t shift = times < 31 ? times : 31;
  const auto move = [&](int32_t from_zero) {
    uint32_t& from = counts.of[counts.zero + from_zero];
    const uint32_t count = from;
    from = 0;
    counts.of[counts.zero + (from_zero >> shift)] += count;  // floor, for bins below zero too
  };
  for (int32_t i = -1; i >= -counts.zero; --i) move(i);
  for (int32_t i = 0; i < counts.size - counts.zero; ++i) move(i);
}

// Adds counts of bins 2^shift times as narrow. What stands past the ends is empty.
void add_narrower(const Counts<uint32_t>& to, const Counts<const uint32_t>& from, uint32_t shift) {
  for (int32_t i = 0; i < from.size; ++i) {
    if (from.of[i] == 0) continue;
    const int32_t from_zero = i - from.zero;
    to.of[(shift > 30 ? (from_zero < 0 ? -1 : 0) : from_zero >> shift) + to.zero] += from.of[i];
  }
}

template <typename Observer>
auto bins_of(Observer& o, int32_t half) {
  return counts_of(o.halves[half].counts, kBins, o);
}
template <typename Observer>
auto blocks_of(Observer& o, int32_t half, int32_t level) {
  return counts_of(o.levels.counts[half][level], kBlocks, o);
}

template <typename Each>
void for_all_counts(TensorObserver& o, Each&& each) {
  for (const int32_t half : {0, 1}) {
    each(bins_of(o, half));
    for (int32_t level = 0; level < kPowerLevels; ++level) each(blocks_of(o, half, level));
  }
}

bool fits(double width, bool two_sided, double min, double max) {
  return two_sided ? min >= -kHalf * width && max < kHalf * width : max < kBins * width;
}

bool fits(const TensorObserver& o, double min, double max) {
  return fits(o.bin_width(), o.two_sided != 0, min, max);
}

void widen(TensorObserver& o, int32_t times) {
  for_all_counts(o, [times](const Counts<uint32_t>& counts) { halve(counts, times); });
  o.exponent += times;
}

void make_two_sided(TensorObserver& o) {
  // The upper half of a one-sided histogram has no place to go unless its width doubles first.
  const double width = o.bin_width();
  if (static_cast<double>(o.max[0] > o.max[1] ? o.max[0] : o.max[1]) >= kHalf * width) widen(o, 1);
  for_all_counts(o, [](const Counts<uint32_t>& counts) {
    const size_t bytes = static_cast<size_t>(counts.size) / 2 * sizeof(uint32_t);
    memmove(counts.of + counts.size / 2, counts.of, bytes);
    memset(counts.of, 0, bytes);
  });
  o.two_sided = 1;
}

void widen_to(TensorObserver& o, double min, double max) {
  if (min < 0.0 && o.two_sided == 0) make_two_sided(o);
  int32_t times = 0;
  for (double width = o.bin_width(); !fits(width, o.two_sided != 0, min, max); width *= 2) ++times;
  if (times > 0) widen(o, times);
}

// The exponent of the root mean square of all values, whose blocks are counted.
int32_t level_of(const TensorObserver& o) {
  uint64_t count = 0, squares = 0;  // of twice the bins' middles, in widths
  const int32_t zero = o.two_sided != 0 ? kHalf : 0;
  for (const int32_t half : {0, 1})
    for (int32_t block = 0; block < kBlocks; ++block) {
      if (o.levels.counts[half][0][block] == 0) continue;
      for (int32_t bin = block * kBlockBins; bin < (block + 1) * kBlockBins; ++bin) {
        const uint64_t n = o.halves[half].counts[bin];
        const int64_t twice = 2 * (bin - zero) + 1;
        count += n;
        squares += n * static_cast<uint64_t>(twice * twice);
      }
    }
  const double mean = static_cast<double>(squares) / static_cast<double>(count);
  uint64_t bits;
  memcpy(&bits, &mean, sizeof bits);
  return ((static_cast<int32_t>(bits >> 52) - 1023) >> 1) + o.exponent - 1;
}

// A sample of a higher level than all before.
void raise(PowerLevels& levels, int32_t highest) {
  const int32_t by = highest - levels.highest;
  levels.highest = highest;
  for (auto& counts : levels.counts)
    for (int32_t level = kPowerLevels - 1; level >= 0; --level) {
      if (level >= by)
        memcpy(counts[level], counts[level - by], sizeof counts[level]);
      else
        memset(counts[level], 0, sizeof counts[level]);
    }
}

// Every k-th element, k odd, so that no power-of-two period of a shape is followed.
size_t stride_of(size_t elements) {
  constexpr size_t kSampled = 65536;
  return elements / kSampled | 1;
}

}  // namespace

void PeakSums::add(float peak) {
  if (!(peak > 0.0f)) return;
  const double log = log2_real(static_cast<double>(peak));
  sum += static_cast<int64_t>(round_even(log * kPerOctave));
  squares += static_cast<int64_t>(round_even(log * log * kPerOctave));
  ++count;
}

void PeakSums::add(const PeakSums& other) {
  sum = order_free_sum(sum, other.sum);
  squares = order_free_sum(squares, other.squares);
  count += other.count;
}

double PeakSums::variance() const {
  if (count < 2) return 0.0;
  const double total = static_cast<double>(sum) / kPerOctave,
               variance = (static_cast<double>(squares) / kPerOctave - total * total / count) / (count - 1);
  return variance > 0.0 ? variance : 0.0;
}

double TensorObserver::bin_width() const { return power_of_two(exponent); }

double TensorObserver::bin_start(int32_t bin) const {
  return (bin - (two_sided != 0 ? kHalf : 0)) * bin_width();
}

void reset(TensorObserver& observer) { observer = TensorObserver{}; }

Extremes extremes_of(Span<const float> values, const ObserveF32Kernel& kernel) {
  Extremes found;
  kernel.extremes(values.data, values.size, &found);
  return found;
}

TensorPass::TensorPass(TensorObserver* observer, size_t elements, int32_t half, const ObserverTools& tools)
    : observer_(observer), half_(half), tools_(tools), stride_(stride_of(elements)) {
  if (observer != nullptr) reset(tools_.spare);
}

bool TensorPass::add(Span<const float> values) {
  for (size_t first = 0; first < values.size && seen_.finite; first += kPassElements) {
    const size_t left = values.size - first;
    add_piece({values.data + first, left < kPassElements ? left : kPassElements});
  }
  return seen_.finite;
}

void TensorPass::add_piece(Span<const float> values) {
  tools_.kernel.extremes(values.data, values.size, &seen_);
  if (!seen_.finite || observer_ == nullptr) return;
  TensorObserver& o = tools_.spare;
  if (is_counting_) widen_to(o, static_cast<double>(seen_.min), static_cast<double>(seen_.max));
  o.min[half_] = seen_.min;
  o.max[half_] = seen_.max;
  if (!is_counting_) fit_bins(o);
  is_counting_ = true;
  const size_t counted = values.size > skip_ ? (values.size - skip_ - 1) / stride_ + 1 : 0;
  if (counted > 0)
    tools_.kernel.count(values.data + skip_, counted, stride_,
                        {static_cast<float>(power_of_two(-o.exponent)), o.two_sided != 0 ? kHalf : 0,
                         o.halves[0].counts, o.halves[1].counts});
  skip_ += counted * stride_ - values.size;
}

void TensorPass::finish() {
  if (observer_ == nullptr) return;
  TensorObserver& o = tools_.spare;
  uint32_t *const counts = o.halves[half_].counts, *const more = o.halves[1 - half_].counts;
  for (int32_t bin = 0; bin < kBins; ++bin) counts[bin] += more[bin];
  memset(more, 0, sizeof o.halves[0]);
  o.samples[half_] = 1;
  o.peaks[0].add(-seen_.min);
  o.peaks[1].add(seen_.max);
  set_one_level(o);
  merge(*observer_, o);
}

bool observe(TensorObserver& o, Span<const float> values, int32_t half, const ObserverTools& tools) {
  TensorPass pass(&o, values.size, half, tools);
  if (!pass.add(values)) return false;
  pass.finish();
  return true;
}

void fit_bins(TensorObserver& o) {
  const double min = static_cast<double>(o.min[0] < o.min[1] ? o.min[0] : o.min[1]);
  const double max = static_cast<double>(o.max[0] > o.max[1] ? o.max[0] : o.max[1]);
  o.two_sided = min < 0.0 ? 1 : 0;
  o.exponent = kMinExponent;
  while (!fits(o, min, max)) ++o.exponent;
}

void set_one_level(TensorObserver& o) {
  o.levels = PowerLevels();
  for (const int half : {0, 1})
    for (int32_t block = 0; block < kBlocks; ++block) {
      uint32_t count = 0;
      for (int32_t i = 0; i < kBlockBins; ++i) count += o.halves[half].counts[block * kBlockBins + i];
      o.levels.counts[half][0][block] = count;
    }
  if (o.min[0] < 0.0f || o.min[1] < 0.0f || o.max[0] > 0.0f || o.max[1] > 0.0f) {
    o.levels.highest = level_of(o);
    return;
  }
  for (const int half : {0, 1}) {
    o.levels.zeros[half] = o.levels.counts[half][0][0];
    o.levels.counts[half][0][0] = 0;
  }
}

bool counts_agree(const TensorObserver& o) {
  for (const int half : {0, 1})
    for (int32_t block = 0; block < kBlocks; ++block) {
      uint64_t values = 0,
               by_level = block == (o.two_sided != 0 ? kBlocks / 2 : 0) ? o.levels.zeros[half] : 0;
      for (int32_t i = block * kBlockBins; i < (block + 1) * kBlockBins; ++i) {
        const uint32_t count = o.halves[half].counts[i];
        values += count;
        if (count != 0 && (o.bin_start(i) > static_cast<double>(o.max[half]) ||
                           o.bin_start(i + 1) <= static_cast<double>(o.min[half])))
          return false;
      }
      for (const auto& level : o.levels.counts[half]) by_level += level[block];
      if (by_level > values) return false;
    }
  return true;
}

void merge(TensorObserver& o, const TensorObserver& other) {
  o.probe_min = other.probe_min < o.probe_min ? other.probe_min : o.probe_min;
  o.probe_max = other.probe_max > o.probe_max ? other.probe_max : o.probe_max;
  float min = 0.0f, max = 0.0f;
  for (const int half : {0, 1}) {
    min = other.min[half] < min ? other.min[half] : min;
    max = other.max[half] > max ? other.max[half] : max;
  }
  widen_to(o, static_cast<double>(min), static_cast<double>(max));
  if (other.levels.highest > o.levels.highest) raise(o.levels, other.levels.highest);
  const auto shift = static_cast<uint32_t>(o.exponent - other.exponent);
  const int32_t below = o.levels.highest - other.levels.highest;
  for (const int half : {0, 1}) {
    o.peaks[half].add(other.peaks[half]);  // of a sign
    if (other.samples[half] == 0) continue;
    add_narrower(bins_of(o, half), bins_of(other, half), shift);
    for (int32_t level = below; level < kPowerLevels; ++level)
      add_narrower(blocks_of(o, half, level), blocks_of(other, half, level - below), shift);
    o.levels.zeros[half] += other.levels.zeros[half];
    o.min[half] = other.min[half] < o.min[half] ? other.min[half] : o.min[half];
    o.max[half] = other.max[half] > o.max[half] ? other.max[half] : o.max[half];
    o.samples[half] += other.samples[half];
  }
}

void add_probe(TensorObserver& o, const Extremes& reached) {
  o.probe_min = reached.min < o.probe_min ? reached.min : o.probe_min;
  o.probe_max = reached.max > o.probe_max ? reached.max : o.probe_max;
}

int64_t first_non_finite(Span<const float> values) {
  for (size_t i = 0; i < values.size; ++i) {
    uint32_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    if ((bits & 0x7f800000u) == 0x7f800000u) return static_cast<int64_t>(i);
  }
  return -1;
}

}  // namespace intaglio

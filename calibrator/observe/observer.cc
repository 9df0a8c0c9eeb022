#include "calibrator/observe/observer.h"

#include <initializer_list>

#include "runtime/real_functions.h"

namespace intaglio {
namespace {

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

Counts<uint32_t> bins_of(TensorObserver& o, int32_t half) {
  return counts_of(o.counts->halves[half].counts, o.counts->bins, o);
}
Counts<const uint32_t> bins_of(const TensorObserver& o, int32_t half) {
  return counts_of<const uint32_t>(o.counts->halves[half].counts, o.counts->bins, o);
}
Counts<uint32_t> blocks_of(TensorObserver& o, int32_t half, int32_t level) {
  return counts_of(o.counts->halves[half].levels[level], kBlocks, o);
}
Counts<const uint32_t> blocks_of(const TensorObserver& o, int32_t half, int32_t level) {
  return counts_of<const uint32_t>(o.counts->halves[half].levels[level], kBlocks, o);
}

template <typename Each>
void for_all_counts(TensorObserver& o, Each&& each) {
  for (int32_t half = 0; half < o.halves(); ++half) {
    each(bins_of(o, half));
    for (int32_t level = 0; level < kPowerLevels; ++level) each(blocks_of(o, half, level));
  }
}

bool fits(double width, int32_t bins, bool two_sided, double min, double max) {
  return two_sided ? min >= -(bins / 2) * width && max < bins / 2 * width : max < bins * width;
}

void widen(TensorObserver& o, int32_t times) {
  for_all_counts(o, [times](const Counts<uint32_t>& counts) { halve(counts, times); });
  o.exponent += times;
}

void make_two_sided(TensorObserver& o) {
  // The upper half of a one-sided histogram has no place to go unless its width doubles first.
  const double width = o.bin_width();
  if (static_cast<double>(o.max[0] > o.max[1] ? o.max[0] : o.max[1]) >= o.bins() / 2 * width) widen(o, 1);
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
  for (double width = o.bin_width(); !fits(width, o.bins(), o.two_sided != 0, min, max); width *= 2) ++times;
  if (times > 0) widen(o, times);
}

// The exponent of the root mean square of all values, whose blocks are counted.
int32_t level_of(const TensorObserver& o) {
  uint64_t count = 0, squares = 0;  // of twice the bins' middles, in widths
  const int32_t zero = o.zero_bin(), block_bins = o.bins() / kBlocks;
  for (int32_t half = 0; half < o.halves(); ++half)
    for (int32_t block = 0; block < kBlocks; ++block) {
      if (o.counts->halves[half].levels[0][block] == 0) continue;
      for (int32_t bin = block * block_bins; bin < (block + 1) * block_bins; ++bin) {
        const uint64_t n = o.counts->halves[half].counts[bin];
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
void raise(TensorCounts& counts, int32_t highest) {
  const int32_t by = highest - counts.levels.highest;
  counts.levels.highest = highest;
  for (int32_t half = 0; half < counts.half_count; ++half)
    for (int32_t level = kPowerLevels - 1; level >= 0; --level) {
      auto* const levels = counts.halves[half].levels;
      if (level >= by)
        memcpy(levels[level], levels[level - by], sizeof levels[level]);
      else
        memset(levels[level], 0, sizeof levels[level]);
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

double TensorObserver::bin_start(int32_t bin) const { return (bin - zero_bin()) * bin_width(); }

TensorObserver& TensorObserver::operator=(const TensorObserver& other) {
  exponent = other.exponent;
  two_sided = other.two_sided;
  for (const int half : {0, 1}) {
    min[half] = other.min[half];
    max[half] = other.max[half];
    samples[half] = other.samples[half];
    peaks[half] = other.peaks[half];
  }
  probe_min = other.probe_min;
  probe_max = other.probe_max;
  if (counts == nullptr) return *this;
  counts->levels = other.counts != nullptr ? other.counts->levels : PowerLevels();
  const size_t bytes = Histogram::room(counts->bins) * sizeof(uint32_t);
  for (int32_t half = 0; half < counts->half_count; ++half)
    if (half < other.halves())
      memcpy(counts->halves[half].counts, other.counts->halves[half].counts, bytes);
    else
      memset(counts->halves[half].counts, 0, bytes);
  return *this;
}

void reset(TensorObserver& observer) { observer = TensorObserver(); }

Span<TensorObserver> make_observers(Arena& arena, size_t count, int32_t bins, int32_t halves) {
  const Span<TensorObserver> observers = arena.make<TensorObserver>(count);
  if (bins == 0) return observers;
  const Span<TensorCounts> counts = arena.make<TensorCounts>(observers.size);
  const Span<uint32_t> room =
      arena.make<uint32_t>(counts.size * static_cast<size_t>(halves) * Histogram::room(bins));
  if (arena.exhausted()) return {};
  uint32_t* place = room.data;
  for (size_t i = 0; i < counts.size; ++i) {
    counts[i].bins = bins;
    counts[i].half_count = halves;
    for (int32_t half = 0; half < halves; ++half, place += Histogram::room(bins))
      counts[i].halves[half].put_into(place, bins);
    observers[i].counts = &counts[i];
  }
  return observers;
}

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
  if (o.counts == nullptr) return;
  const size_t counted = values.size > skip_ ? (values.size - skip_ - 1) / stride_ + 1 : 0;
  if (counted > 0)
    tools_.kernel.count(values.data + skip_, counted, stride_,
                        {static_cast<float>(power_of_two(-o.exponent)), o.zero_bin(),
                         o.counts->halves[0].counts, o.counts->halves[1].counts});
  skip_ += counted * stride_ - values.size;
}

void TensorPass::finish() {
  if (observer_ == nullptr) return;
  TensorObserver& o = tools_.spare;
  if (o.counts != nullptr) {
    uint32_t *const counts = o.counts->halves[half_].counts, *const more = o.counts->halves[1 - half_].counts;
    for (int32_t bin = 0; bin < o.counts->bins; ++bin) counts[bin] += more[bin];
    memset(more, 0, o.counts->half_bytes());
  }
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

int32_t fitted_exponent(const TensorObserver& o, int32_t bins) {
  const double min = static_cast<double>(o.min[0] < o.min[1] ? o.min[0] : o.min[1]);
  const double max = static_cast<double>(o.max[0] > o.max[1] ? o.max[0] : o.max[1]);
  int32_t exponent = kMinExponent;
  while (!fits(power_of_two(exponent), bins, min < 0.0, min, max)) ++exponent;
  return exponent;
}

void fit_bins(TensorObserver& o) {
  o.two_sided = o.min[0] < 0.0f || o.min[1] < 0.0f ? 1 : 0;
  o.exponent = fitted_exponent(o, o.bins());
}

void set_one_level(TensorObserver& o) {
  if (o.counts == nullptr) return;
  o.counts->levels = PowerLevels();
  const int32_t block_bins = o.bins() / kBlocks;
  for (int32_t half = 0; half < o.halves(); ++half) {
    const Histogram& counts = o.counts->halves[half];
    memset(counts.levels, 0, kPowerLevels * sizeof counts.levels[0]);
    for (int32_t block = 0; block < kBlocks; ++block)
      for (int32_t i = 0; i < block_bins; ++i)
        counts.levels[0][block] += counts.counts[block * block_bins + i];
  }
  if (o.min[0] < 0.0f || o.min[1] < 0.0f || o.max[0] > 0.0f || o.max[1] > 0.0f) {
    o.counts->levels.highest = level_of(o);
    return;
  }
  for (int32_t half = 0; half < o.halves(); ++half) {
    uint32_t& zeros = o.counts->halves[half].levels[0][0];
    o.counts->levels.zeros[half] = zeros;
    zeros = 0;
  }
}

bool counts_agree(const TensorObserver& o) {
  const int32_t block_bins = o.bins() / kBlocks;
  for (int32_t half = 0; half < o.halves(); ++half)
    for (int32_t block = 0; block < kBlocks; ++block) {
      uint64_t values = 0,
               by_level = block == (o.two_sided != 0 ? kBlocks / 2 : 0) ? o.counts->levels.zeros[half] : 0;
      for (int32_t i = block * block_bins; i < (block + 1) * block_bins; ++i) {
        const uint32_t count = o.counts->halves[half].counts[i];
        values += count;
        if (count != 0 && (o.bin_start(i) > static_cast<double>(o.max[half]) ||
                           o.bin_start(i + 1) <= static_cast<double>(o.min[half])))
          return false;
      }
      for (int32_t level = 0; level < kPowerLevels; ++level)
        by_level += o.counts->halves[half].levels[level][block];
      if (by_level > values) return false;
    }
  return true;
}

namespace {

// `o` has the wider bins of the two already.
void merge_counts(TensorObserver& o, const TensorObserver& other) {
  PowerLevels& levels = o.counts->levels;
  const PowerLevels& more = other.counts->levels;
  if (more.highest > levels.highest) raise(*o.counts, more.highest);
  const auto shift = static_cast<uint32_t>(o.exponent - other.exponent);
  const int32_t below = levels.highest - more.highest;
  for (int32_t half = 0; half < other.halves(); ++half) {
    if (other.samples[half] == 0) continue;
    const int32_t into = half < o.halves() ? half : 0;
    add_narrower(bins_of(o, into), bins_of(other, half), shift);
    for (int32_t level = below; level < kPowerLevels; ++level)
      add_narrower(blocks_of(o, into, level), blocks_of(other, half, level - below), shift);
    levels.zeros[into] += more.zeros[half];
  }
}

}  // namespace

void merge(TensorObserver& o, const TensorObserver& other) {
  o.probe_min = other.probe_min < o.probe_min ? other.probe_min : o.probe_min;
  o.probe_max = other.probe_max > o.probe_max ? other.probe_max : o.probe_max;
  float min = 0.0f, max = 0.0f;
  for (const int half : {0, 1}) {
    min = other.min[half] < min ? other.min[half] : min;
    max = other.max[half] > max ? other.max[half] : max;
  }
  widen_to(o, static_cast<double>(min), static_cast<double>(max));
  for (const int half : {0, 1}) {
    o.peaks[half].add(other.peaks[half]);  // of a sign
    if (other.samples[half] == 0) continue;
    const int into = o.halves() == 1 ? 0 : half;
    o.min[into] = other.min[half] < o.min[into] ? other.min[half] : o.min[into];
    o.max[into] = other.max[half] > o.max[into] ? other.max[half] : o.max[into];
    o.samples[into] += other.samples[half];
  }
  if (o.counts != nullptr) merge_counts(o, other);
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

#include "calibrator/observe/observer.h"

#include <initializer_list>

#include "runtime/real_functions.h"

namespace intaglio {
namespace {

constexpr int32_t kHalf = kBins / 2;
constexpr double kPerOctave = 0x1p20;

double power_of_two(int32_t exponent) {
  const uint64_t bits = static_cast<uint64_t>(exponent + 1023) << 52;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// Pairs add up: bin i of width w becomes bin floor(i / 2) of width 2w, counted from the zero bin.
void halve(Histogram& histogram, bool two_sided) {
  static_assert(kHalf % 2 == 0, "the zero bin starts a pair");
  uint32_t* const counts = histogram.counts;
  for (int32_t i = 0; i < kHalf; ++i) counts[i] = counts[2 * i] + counts[2 * i + 1];
  memset(counts + kHalf, 0, kHalf * sizeof(uint32_t));
  if (!two_sided) return;
  memmove(counts + kHalf / 2, counts, kHalf * sizeof(uint32_t));
  memset(counts, 0, kHalf / 2 * sizeof(uint32_t));
}

// The same `times` over: bin floor(i / 2^times).
void halve(Histogram& histogram, bool two_sided, int32_t times) {
  if (times == 1) return halve(histogram, two_sided);
  const int32_t zero = two_sided ? kHalf : 0, shift = times < 31 ? times : 31;
  const auto move = [&](int32_t from_zero) {
    uint32_t& from = histogram.counts[zero + from_zero];
    const uint32_t count = from;
    from = 0;
    histogram.counts[zero + (from_zero >> shift)] += count;  // floor, for bins below zero too
  };
  for (int32_t i = -1; i >= -zero; --i) move(i);
  for (int32_t i = 0; i < kBins - zero; ++i) move(i);
}

bool fits(double width, bool two_sided, double min, double max) {
  return two_sided ? min >= -kHalf * width && max < kHalf * width : max < kBins * width;
}

bool fits(const TensorObserver& o, double min, double max) {
  return fits(o.bin_width(), o.two_sided != 0, min, max);
}

void widen(TensorObserver& o, int32_t times) {
  for (Histogram& half : o.halves) halve(half, o.two_sided != 0, times);
  o.exponent += times;
}

void make_two_sided(TensorObserver& o) {
  // The upper half of a one-sided histogram has no place to go unless its width doubles first.
  const double width = o.bin_width();
  if (static_cast<double>(o.max[0] > o.max[1] ? o.max[0] : o.max[1]) >= kHalf * width) widen(o, 1);
  for (Histogram& half : o.halves) {
    memmove(half.counts + kHalf, half.counts, kHalf * sizeof(uint32_t));
    memset(half.counts, 0, kHalf * sizeof(uint32_t));
  }
  o.two_sided = 1;
}

void widen_to(TensorObserver& o, double min, double max) {
  if (min < 0.0 && o.two_sided == 0) make_two_sided(o);
  int32_t times = 0;
  for (double width = o.bin_width(); !fits(width, o.two_sided != 0, min, max); width *= 2) ++times;
  if (times > 0) widen(o, times);
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
  sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(other.sum));
  squares = static_cast<int64_t>(static_cast<uint64_t>(squares) + static_cast<uint64_t>(other.squares));
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
  if (observer != nullptr) memset(&tools_.scratch, 0, sizeof tools_.scratch);
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
  make_room();
  TensorObserver& o = *observer_;
  o.min[half_] = seen_.min < o.min[half_] ? seen_.min : o.min[half_];
  o.max[half_] = seen_.max > o.max[half_] ? seen_.max : o.max[half_];
  const size_t counted = values.size > skip_ ? (values.size - skip_ - 1) / stride_ + 1 : 0;
  if (counted > 0)
    tools_.kernel.count(values.data + skip_, counted, stride_,
                        {static_cast<float>(power_of_two(-o.exponent)), o.two_sided != 0 ? kHalf : 0,
                         o.halves[half_].counts, tools_.scratch.counts});
  skip_ += counted * stride_ - values.size;
}

void TensorPass::make_room() {
  const auto min = static_cast<double>(seen_.min), max = static_cast<double>(seen_.max);
  if (fits(*observer_, min, max) && (min >= 0.0 || observer_->two_sided != 0)) return;
  gather();
  widen_to(*observer_, min, max);
}

void TensorPass::gather() {
  uint32_t *const counts = observer_->halves[half_].counts, *const more = tools_.scratch.counts;
  for (int32_t bin = 0; bin < kBins; ++bin) counts[bin] += more[bin];
  memset(more, 0, sizeof tools_.scratch.counts);
}

void TensorPass::finish() {
  if (observer_ == nullptr) return;
  gather();
  ++observer_->samples[half_];
  observer_->peaks[0].add(-seen_.min);
  observer_->peaks[1].add(seen_.max);
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

bool counts_within_ends(const TensorObserver& o) {
  for (const int half : {0, 1})
    for (int32_t i = 0; i < kBins; ++i)
      if (o.halves[half].counts[i] != 0 && (o.bin_start(i) > static_cast<double>(o.max[half]) ||
                                            o.bin_start(i + 1) <= static_cast<double>(o.min[half])))
        return false;
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
  const auto shift = static_cast<uint32_t>(o.exponent - other.exponent);
  for (const int half : {0, 1}) {
    for (int32_t i = 0; i < kBins; ++i) {
      if (other.halves[half].counts[i] == 0) continue;  // bins past the ends have no place in `o`
      const int32_t from_zero = i - (other.two_sided != 0 ? kHalf : 0);
      // Arithmetic shift: floor, for bins below zero too.
      const int32_t bin =
          (shift > 30 ? (from_zero < 0 ? -1 : 0) : from_zero >> shift) + (o.two_sided != 0 ? kHalf : 0);
      o.halves[half].counts[bin] += other.halves[half].counts[i];
    }
    o.min[half] = other.min[half] < o.min[half] ? other.min[half] : o.min[half];
    o.max[half] = other.max[half] > o.max[half] ? other.max[half] : o.max[half];
    o.samples[half] += other.samples[half];
    o.peaks[half].add(other.peaks[half]);
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

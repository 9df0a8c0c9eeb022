#include "calibrator/observer.h"

#include <initializer_list>

namespace intaglio {
namespace {

constexpr int32_t kHalf = kBins / 2;

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

bool fits(const TensorObserver& o, double min, double max) {
  const double width = o.bin_width();
  return o.two_sided != 0 ? min >= -kHalf * width && max < kHalf * width : max < kBins * width;
}

void widen(TensorObserver& o) {
  for (Histogram& half : o.halves) halve(half, o.two_sided != 0);
  ++o.exponent;
}

void make_two_sided(TensorObserver& o) {
  // The upper half of a one-sided histogram has no place to go unless its width doubles first.
  const double width = o.bin_width();
  if (static_cast<double>(o.max[0] > o.max[1] ? o.max[0] : o.max[1]) >= kHalf * width) widen(o);
  for (Histogram& half : o.halves) {
    memmove(half.counts + kHalf, half.counts, kHalf * sizeof(uint32_t));
    memset(half.counts, 0, kHalf * sizeof(uint32_t));
  }
  o.two_sided = 1;
}

void make_room(TensorObserver& o, double min, double max) {
  if (min < 0.0 && o.two_sided == 0) make_two_sided(o);
  while (!fits(o, min, max)) widen(o);
}

// Every k-th element, k odd, so that no power-of-two period of a shape is followed.
size_t stride_of(size_t elements) {
  constexpr size_t kSampled = 65536;
  return elements / kSampled | 1;
}

}  // namespace

double TensorObserver::bin_width() const { return power_of_two(exponent); }

double TensorObserver::bin_start(int32_t bin) const {
  return (bin - (two_sided != 0 ? kHalf : 0)) * bin_width();
}

void reset(TensorObserver& observer) { observer = TensorObserver{}; }

void observe(TensorObserver& o, Span<const float> values, int32_t half) {
  float min = 0.0f, max = 0.0f;
  for (const float value : values) {
    min = value < min ? value : min;
    max = value > max ? value : max;
  }
  make_room(o, static_cast<double>(min), static_cast<double>(max));
  o.min[half] = min < o.min[half] ? min : o.min[half];
  o.max[half] = max > o.max[half] ? max : o.max[half];
  ++o.samples[half];

  // Scaling by a power of two is exact, and the floor is taken before anything is added.
  const double per_bin = power_of_two(-o.exponent);
  const int32_t zero = o.two_sided != 0 ? kHalf : 0;
  uint32_t* const counts = o.halves[half].counts;
  const size_t stride = stride_of(values.size);
  for (size_t i = 0; i < values.size; i += stride) {
    const double position = static_cast<double>(values[i]) * per_bin;
    const auto whole = static_cast<int32_t>(position);
    ++counts[zero + (position < whole ? whole - 1 : whole)];
  }
}

void fit_bins(TensorObserver& o) {
  const double min = static_cast<double>(o.min[0] < o.min[1] ? o.min[0] : o.min[1]);
  const double max = static_cast<double>(o.max[0] > o.max[1] ? o.max[0] : o.max[1]);
  o.two_sided = min < 0.0 ? 1 : 0;
  o.exponent = kMinExponent;
  while (!fits(o, min, max)) ++o.exponent;
}

void merge(TensorObserver& o, const TensorObserver& other) {
  float min = 0.0f, max = 0.0f;
  for (const int half : {0, 1}) {
    min = other.min[half] < min ? other.min[half] : min;
    max = other.max[half] > max ? other.max[half] : max;
  }
  make_room(o, static_cast<double>(min), static_cast<double>(max));
  const auto shift = static_cast<uint32_t>(o.exponent - other.exponent);
  for (const int half : {0, 1}) {
    for (int32_t i = 0; i < kBins; ++i) {
      const int32_t from_zero = i - (other.two_sided != 0 ? kHalf : 0);
      // Arithmetic shift: floor, for bins below zero too.
      const int32_t bin =
          (shift > 30 ? (from_zero < 0 ? -1 : 0) : from_zero >> shift) + (o.two_sided != 0 ? kHalf : 0);
      o.halves[half].counts[bin] += other.halves[half].counts[i];
    }
    o.min[half] = other.min[half] < o.min[half] ? other.min[half] : o.min[half];
    o.max[half] = other.max[half] > o.max[half] ? other.max[half] : o.max[half];
    o.samples[half] += other.samples[half];
  }
}

}  // namespace intaglio

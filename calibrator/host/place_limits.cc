#include "calibrator/host/place_limits.h"

#include <algorithm>
#include <cmath>

namespace intaglio {
namespace {

float drawn_in(float end, double reach) {
  const auto most = static_cast<float>(reach);
  if (std::abs(end) <= most) return end;
  return most == 0.0f ? 0.0f : std::copysign(most, end);
}

// Bins counted from zero: where in bins of another width the values stand; wider ones stand at their end at zero.
int32_t bin_of(int32_t i, int32_t from_exponent, int32_t to_exponent) {
  constexpr int32_t kMost = 30;
  const int32_t wider = to_exponent - from_exponent;
  if (wider >= 0) return i >> std::min(wider, kMost);
  const int64_t factor = int64_t{1} << std::min(-wider, kMost);
  const int64_t far = i < 0 ? (i + 1) * factor - 1 : i * factor;
  return static_cast<int32_t>(std::clamp<int64_t>(far, -(1 << kMost), 1 << kMost));
}

uint32_t samples_of(const CalibrationState& state, size_t half) {
  return state.observers.empty() ? state.sample_count : state.observers[0].samples[half];
}

int64_t both_halves(const CalibrationState& state, size_t i) {
  const int64_t* const sums = state.mean_sums.data;
  return state.halves == 1 ? sums[i] : order_free_sum(sums[i], sums[state.mean_sums.size / 2 + i]);
}

}  // namespace

double Between::limited(double x, double least, double largest, double share) const {
  const double high = high_.of_others(largest), low = -low_.of_others(-least), room = share * (high - low);
  return std::clamp(x, low - room, high + room);
}

// Counts of one half of a place in the bins of all places.
struct PlaceLimits::Tails {
  Tails(const TensorObserver& o, int32_t half, const Bins& bins)
      : zero(static_cast<size_t>(-bins.first)), counts(static_cast<size_t>(bins.end - bins.first)) {
    for (int32_t i = 0; i < o.bins(); ++i) {
      const uint32_t count = o.counts->halves[half].counts[i];
      const int32_t bin = bin_of(i - o.zero_bin(), o.exponent, bins.exponent);
      counts[static_cast<size_t>(std::clamp(bin, bins.first, bins.end - 1) - bins.first)] += count;
      total += count;
    }
  }
  // Calls visit(bin, past) for each bin but the one at zero, from the outermost ones inwards. `past`: how many values stand there and
  // past it. What visit() returns of them may stand there; the others move towards zero. Returns the largest share that has moved.
  template <typename Visit>
  double move(Visit&& visit) {
    const auto side = [&](size_t outermost, size_t step) {
      uint64_t past = 0, kept = 0, moved = 0;
      for (size_t bin = outermost; bin != zero; bin += step) {
        past += counts[bin];
        const uint64_t may = std::min(past, visit(bin, past));
        moved = std::max(moved, past - may);
        counts[bin] = may - kept;
        kept = may;
      }
      counts[zero] += past - kept;
      return moved;
    };
    const uint64_t below = side(0, 1), above = side(counts.size() - 1, size_t{0} - 1);
    return total == 0 ? 0.0 : static_cast<double>(std::max(below, above)) / static_cast<double>(total);
  }
  // The share of values that stand in a bin and past it.
  std::vector<double> shares() {
    std::vector<double> found(counts.size());
    move([&](size_t bin, uint64_t past) {
      if (total > 0) found[bin] = static_cast<double>(past) / static_cast<double>(total);
      return past;
    });
    return found;
  }

  size_t zero;
  std::vector<uint64_t> counts;
  uint64_t total = 0;
};

PlaceLimits::PlaceLimits(double share, const CalibrationState& like)
    : share_(share),
      tensors_(like.observers.size),
      means_(like.mean_sums.size / like.halves),
      inputs_(like.inputs.size) {
  for (size_t t = 0; t < tensors_.size() && like.observers[t].counts != nullptr; ++t)
    tensors_[t].tails.resize(static_cast<size_t>(like.observers[t].bins()));
}

PlaceLimits::Ends PlaceLimits::ends_of(const TensorObserver& o) {
  return {-static_cast<double>(std::min(o.min[0], o.min[1])),
          static_cast<double>(std::max(o.max[0], o.max[1]))};
}

void PlaceLimits::see_ends(const CalibrationState& place) {
  believed_.push_back(true);
  for (size_t t = 0; t < tensors_.size(); ++t) tensors_[t].places.push_back(ends_of(place.observers[t]));
}

void PlaceLimits::begin(CalibrationState& sum) {
  for (const Tensor& tensor : tensors_) {
    Farthest below, above;
    for (const Ends& ends : tensor.places) {
      below.add(ends.below);
      above.add(ends.above);
    }
    for (size_t i = 0; i < believed_.size(); ++i)
      if (below.limited(tensor.places[i].below, kNotBelieved) < tensor.places[i].below ||
          above.limited(tensor.places[i].above, kNotBelieved) < tensor.places[i].above)
        believed_[i] = false;
  }
  reset_state(sum);
  for (size_t t = 0; t < tensors_.size(); ++t) {
    TensorObserver& o = sum.observers[t];
    Tensor& all = tensors_[t];
    const auto for_each = [&](const auto& visit) {
      for (size_t i = 0; i < believed_.size(); ++i)
        if (believed_[i]) visit(all.places[i]);
    };
    for_each([&](const Ends& ends) {
      all.below.add(ends.below);
      all.above.add(ends.above);
    });
    for_each([&](const Ends& ends) {
      o.min[0] = std::min(o.min[0], -static_cast<float>(all.below.limited(ends.below, 1.0 + share_)));
      o.max[0] = std::max(o.max[0], static_cast<float>(all.above.limited(ends.above, 1.0 + share_)));
    });
    fit_bins(o);
    o.min[0] = o.max[0] = 0.0f;  // nobody has been added yet
    all.bins = {o.exponent, -o.zero_bin(), o.bins() - o.zero_bin()};
  }
}

void PlaceLimits::see(size_t i, const CalibrationState& place) {
  if (!believed_[i]) return;
  for (size_t t = 0; t < tensors_.size(); ++t) see(place.observers[t], tensors_[t]);
  for (size_t m = 0; m < means_.size(); ++m) {
    double least = std::numeric_limits<double>::infinity(), largest = -least;
    for (size_t half = 0; half < place.halves; ++half) {
      const uint32_t samples = samples_of(place, half);
      if (samples == 0) continue;
      const double mean = static_cast<double>(place.mean_sums[half * means_.size() + m]) / samples;
      least = std::min(least, mean);
      largest = std::max(largest, mean);
    }
    if (least <= largest) means_[m].places.add(least, largest);
    means_[m].sum = order_free_sum(means_[m].sum, both_halves(place, m));
  }
  samples_ += place.sample_count;
  for (size_t k = 0; k < inputs_.size(); ++k) {
    const InputValues& input = place.inputs[k];
    Input& all = inputs_[k];
    all.off_grid.add(input.off_grid);
    all.count.add(input.count > kMostInputValues ? 1.0 : 0.0);
    if (input.count == 0 || input.count > kMostInputValues) continue;
    all.below.add(std::max(0.0, -static_cast<double>(input.values[0])));
    all.above.add(std::max(0.0, static_cast<double>(input.values[input.count - 1])));
  }
}

void PlaceLimits::see(const TensorObserver& o, Tensor& all) {
  all.probe_below.add(-static_cast<double>(o.probe_min));
  all.probe_above.add(static_cast<double>(o.probe_max));
  for (const size_t sign : {size_t{0}, size_t{1}}) {
    const PeakSums& peaks = o.peaks[sign];
    if (peaks.count == 0) continue;
    const double mean = static_cast<double>(peaks.sum) / peaks.count,
                 square = static_cast<double>(peaks.squares) / peaks.count;
    all.peaks[sign].add(mean, mean);
    all.squares[sign].add(square, square);
  }
  if (all.tails.empty()) return;
  const std::vector<double> shares = tail_shares(o, all.bins);
  for (size_t bin = 0; bin < shares.size(); ++bin) all.tails[bin].add(shares[bin]);
}

// Of the half that reaches farther at each bin.
std::vector<double> PlaceLimits::tail_shares(const TensorObserver& o, const Bins& bins) {
  std::vector<double> shares(static_cast<size_t>(bins.end - bins.first));
  for (int32_t half = 0; half < o.halves(); ++half) {
    const std::vector<double> own = Tails(o, half, bins).shares();
    for (size_t bin = 0; bin < own.size(); ++bin) shares[bin] = std::max(shares[bin], own[bin]);
  }
  return shares;
}

// Returns the share of values that were moved. `is_changed`: the place's ends have been drawn in.
double PlaceLimits::limit_tails(TensorObserver& o, const Tensor& all, bool is_changed) const {
  const std::vector<double> shares = tail_shares(o, all.bins);
  std::vector<Tails> halves;
  double moved = 0.0;
  for (int32_t half = 0; half < o.halves(); ++half) {
    Tails& tails = halves.emplace_back(o, half, all.bins);
    const double of_half = tails.move([&](size_t bin, uint64_t past) {
      const double share = (1.0 + share_) * all.tails[bin].of_others(shares[bin]);
      return share < 0.0 ? past : static_cast<uint64_t>(share * static_cast<double>(tails.total));
    });
    moved = std::max(moved, of_half);
  }
  if (moved == 0.0 && !is_changed) return 0.0;
  for (int32_t half = 0; half < o.halves(); ++half) {
    const std::vector<uint64_t>& counts = halves[static_cast<size_t>(half)].counts;
    for (size_t bin = 0; bin < counts.size(); ++bin)
      o.counts->halves[half].counts[bin] = static_cast<uint32_t>(counts[bin]);
  }
  o.exponent = all.bins.exponent;
  o.two_sided = all.bins.first < 0 ? 1 : 0;
  set_one_level(o);
  return moved;
}

double PlaceLimits::limit(TensorObserver& o, const Tensor& all) const {
  const double factor = 1.0 + share_;
  const Ends ends = ends_of(o);
  const double most_below = all.below.limited(ends.below, factor),
               most_above = all.above.limited(ends.above, factor);
  for (const int half : {0, 1}) {
    o.min[half] = drawn_in(o.min[half], most_below);
    o.max[half] = drawn_in(o.max[half], most_above);
  }
  o.probe_min = drawn_in(o.probe_min, all.probe_below.limited(-static_cast<double>(o.probe_min), factor));
  o.probe_max = drawn_in(o.probe_max, all.probe_above.limited(static_cast<double>(o.probe_max), factor));
  for (const size_t sign : {size_t{0}, size_t{1}}) {
    PeakSums& peaks = o.peaks[sign];
    if (peaks.count == 0) continue;
    const double count = peaks.count, mean = static_cast<double>(peaks.sum) / count,
                 square = static_cast<double>(peaks.squares) / count;
    if (!all.peaks[sign].is_known(mean, mean)) {
      peaks = {};
      continue;
    }
    const double near = all.peaks[sign].limited(mean, mean, mean, share_),
                 near_square = all.squares[sign].limited(square, square, square, share_);
    if (near != mean) peaks.sum = static_cast<int64_t>(near * count);
    if (near_square != square) peaks.squares = static_cast<int64_t>(near_square * count);
  }
  if (all.tails.empty()) return 0.0;
  return limit_tails(o, all, most_below < ends.below || most_above < ends.above);
}

void PlaceLimits::limit(InputValues& input, const Input& all) const {
  const double more = input.count > kMostInputValues ? 1.0 : 0.0;
  bool is_alone = input.off_grid > all.off_grid.of_others(input.off_grid) || more > all.count.of_others(more);
  if (input.count > 0 && more == 0.0) {
    const double below = std::max(0.0, -static_cast<double>(input.values[0])),
                 above = std::max(0.0, static_cast<double>(input.values[input.count - 1]));
    is_alone = is_alone || all.below.limited(below, 1.0 + share_) < below ||
               all.above.limited(above, 1.0 + share_) < above;
  }
  if (is_alone) input = InputValues();
}

// As many samples of the others' means, and nothing else.
void PlaceLimits::forget(CalibrationState& place) const {
  for (TensorObserver& o : place.observers) {
    const uint32_t samples[] = {o.samples[0], o.samples[1]};
    reset(o);
    for (const int half : {0, 1}) o.samples[half] = samples[half];
  }
  for (InputValues& input : place.inputs) input = InputValues();
  for (size_t at = 0; at < place.mean_sums.size; ++at) {
    const double mean = samples_ == 0 ? 0.0 : static_cast<double>(means_[at % means_.size()].sum) / samples_;
    place.mean_sums[at] = static_cast<int64_t>(mean * samples_of(place, at / means_.size()));
  }
}

double PlaceLimits::limit(size_t place_index, CalibrationState& place) const {
  if (!believed_[place_index]) {
    forget(place);
    return 1.0;
  }
  const size_t halves = std::min<size_t>(place.halves, 2);
  double moved = 0.0;
  for (size_t t = 0; t < tensors_.size(); ++t)
    moved = std::max(moved, limit(place.observers[t], tensors_[t]));
  for (size_t i = 0; i < means_.size(); ++i) {
    int64_t* const sums[] = {&place.mean_sums[i], &place.mean_sums[(halves - 1) * means_.size() + i]};
    double means[2] = {}, least = std::numeric_limits<double>::infinity(), largest = -least;
    for (size_t half = 0; half < halves; ++half) {
      if (samples_of(place, half) == 0) continue;
      means[half] = static_cast<double>(*sums[half]) / samples_of(place, half);
      least = std::min(least, means[half]);
      largest = std::max(largest, means[half]);
    }
    for (size_t half = 0; half < halves; ++half) {
      const uint32_t samples = samples_of(place, half);
      if (samples == 0) continue;
      const Between& all = means_[i].places;
      if (!all.is_known(least, largest)) continue;
      const double near = all.limited(means[half], least, largest, share_);
      if (near != means[half]) *sums[half] = static_cast<int64_t>(near * samples);
    }
  }
  for (size_t k = 0; k < inputs_.size(); ++k) limit(place.inputs[k], inputs_[k]);
  return moved;
}

}  // namespace intaglio

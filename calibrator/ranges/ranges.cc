#include "calibrator/ranges/ranges.h"

#include "calibrator/ranges/observed_range.h"
#include "calibrator/ranges/range_score.h"
#include "intaglio/calibrator.h"
#include "runtime/real_functions.h"

namespace intaglio {

void FunctionBehind::set_factors(const FunctionFactors& factors, size_t channels) {
  levels[0] = {};
  level_count = 1;
  if (factors.empty()) return;
  level_count = 0;
  for (size_t c = 0; c < channels; ++c) {
    const auto in = static_cast<double>(factors.before(c)), out = static_cast<double>(factors.behind(c));
    int32_t at = 0;
    while (at < level_count && (levels[at].in != in || levels[at].out != out)) ++at;
    if (at == level_count) levels[level_count++] = {in, out, 0.0};
    levels[at].share += 1.0 / static_cast<double>(channels);
  }
}

double FunctionBehind::at(double x) const {
  if (level_count == 1) return at(x, levels[0]);
  double sum = 0.0;
  for (int32_t i = 0; i < level_count; ++i) sum += levels[i].share * at(x, levels[i]);
  return sum;
}

bool look_behind(const TensorObserver& o, FunctionBehind& behind) {
  constexpr double kMostSlope = 2.0;
  bool stretches = false;
  const double width = o.bin_width();
  for (int32_t bin = 0; bin < o.bins(); ++bin) {
    const double start = o.bin_start(bin);
    double squares = 0.0;
    for (int32_t i = 0; i < behind.level_count; ++i) {
      const FunctionBehind::Level& level = behind.levels[i];
      const double slope = (behind.at(start + width, level) - behind.at(start, level)) / width;
      const double own = slope * level.out / level.in;  // the function's
      squares += behind.level_count == 1 ? slope * slope : level.share * slope * slope;
      stretches = stretches || !(own <= kMostSlope && own >= -kMostSlope);
    }
    behind.value[bin] = static_cast<float>(behind.at(start + width / 2));
    behind.weight[bin] = static_cast<float>(squares);
  }
  return !stretches;
}

Range told_apart(const TensorObserver& o, const FunctionBehind& behind) {
  const auto is_seen = [&o](int32_t bin) { return o.values_in(bin) != 0; };
  int32_t first = 0, last = o.bins() - 1;
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
  if (lo == first + 1) lo = first;  // only the outermost bin is as itself
  if (hi == last - 1) hi = last;
  const double from = o.bin_start(lo), to = o.bin_start(hi) + o.bin_width();
  return {from < 0.0 ? from : 0.0, to > 0.0 ? to : 0.0};
}

namespace {

double in_bin(const TensorObserver& o, int32_t bin) { return static_cast<double>(o.values_in(bin)); }

// |x| by bins of the observer's width, without those at zero: how many values, and how many bins that are not
// empty, lie before each bin.
struct Folded {
  double values[kFineBins + 1] = {};
  uint16_t bins[kFineBins + 1] = {};
  int32_t end = 0;  // past the last bin that is not empty

  double total() const { return values[end]; }
};

void fold(const TensorObserver& o, Folded& folded) {
  const bool two_sided = o.two_sided != 0;
  const int32_t zero = o.zero_bin(), bins = o.bins() - zero;
  for (int32_t i = 1; i < bins; ++i) {
    const double count = in_bin(o, zero + i) + (two_sided ? in_bin(o, zero - 1 - i) : 0.0);
    folded.values[i + 1] = folded.values[i] + count;
    folded.bins[i + 1] = static_cast<uint16_t>(folded.bins[i] + (count > 0.0 ? 1 : 0));
    if (count > 0.0) folded.end = i + 1;
  }
}

// Bits for a value where Q has none. Half a count, as in other smoothings, clips so hard that a network loses
// 5 to 15 dB.
constexpr double kUnseenBits = 40.0;

// - sum P ln Q, times the number of values, for the first `kept` of the bins on `codes` codes; the part of
// the divergence that depends on Q.
double cross_entropy(const Folded& folded, int32_t kept, int32_t codes) {
  constexpr int32_t kAtOnce = 32;
  const double tail = folded.total() - folded.values[kept];
  double entropy = 0.0, masses[kAtOnce], shares[kAtOnce] = {}, logs[kAtOnce];
  int32_t first = 0, waiting = 0;
  const auto add = [&] {
    log2_each(shares, waiting, logs);
    for (int32_t i = 0; i < waiting; ++i) entropy -= masses[i] * logs[i];
    waiting = 0;
  };
  for (int32_t code = 0; code < codes; ++code) {
    const auto last = static_cast<int32_t>(int64_t{code + 1} * kept / codes);
    const double mass = folded.values[last] - folded.values[first];
    const auto bins = static_cast<double>(folded.bins[last] - folded.bins[first]);
    first = last;
    if (mass == 0.0) continue;
    const double lands = code == codes - 1 ? mass + tail : mass;
    masses[waiting] = mass;
    shares[waiting++] = lands / bins;
    if (waiting == kAtOnce) add();
  }
  add();
  return entropy + tail * kUnseenBits;
}

// Bins between the ends that are tried first.
constexpr int32_t kKlStride = 16;

// n log2 n of the values in one bin.
double information(const Folded& folded, int32_t bin) {
  const double count = folded.values[bin + 1] - folded.values[bin];
  return count > 0.0 ? count * log2_real(count) : 0.0;
}

constexpr double kLn2 = 0.69314718055994531;

// Where a falling function of alpha crosses zero.
template <typename Function>
double crossing(Function&& function) {
  double low = 0.0, high = 64.0;
  for (int32_t i = 0; i < 64; ++i) {
    const double middle = (low + high) / 2;
    (function(middle) > 0.0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

double square_root(double x) { return x > 0.0 ? exp_real(0.5 * kLn2 * log2_real(x)) : 0.0; }

struct Spread {
  double mean_deviation = 0.0, deviation = 0.0;
};

// Around `center`, without the values at zero of a tensor that has no negative ones: an activation put them
// there.
Spread spread_of(const TensorObserver& o, double center) {
  double count = 0.0, sum = 0.0, squares = 0.0;
  for (int32_t bin = o.two_sided != 0 ? 0 : 1; bin < o.bins(); ++bin) {
    const double n = in_bin(o, bin), x = o.bin_start(bin) + o.bin_width() / 2 - center;
    count += n;
    sum += n * (x < 0.0 ? -x : x);
    squares += n * x * x;
  }
  if (count == 0.0) return {};
  return {sum / count, square_root(squares / count)};
}

double mean_of(const TensorObserver& o) {
  double count = 0.0, sum = 0.0;
  for (int32_t bin = 0; bin < o.bins(); ++bin) {
    count += in_bin(o, bin);
    sum += in_bin(o, bin) * (o.bin_start(bin) + o.bin_width() / 2);
  }
  return count == 0.0 ? 0.0 : sum / count;
}

Range inside(const Range& range, const Range& seen) {
  const double lo = range.lo > seen.lo ? range.lo : seen.lo, hi = range.hi < seen.hi ? range.hi : seen.hi;
  return {lo < 0.0 ? lo : 0.0, hi > 0.0 ? hi : 0.0};
}

double codes_of(const QuantConfig& config) { return static_cast<double>(config.hi) - config.lo; }

}  // namespace

Range seen_range(const TensorObserver& o) {
  return {static_cast<double>(o.min[0] < o.min[1] ? o.min[0] : o.min[1]),
          static_cast<double>(o.max[0] > o.max[1] ? o.max[0] : o.max[1])};
}

Range kl_range(const TensorObserver& o, const QuantConfig& config) {
  const Range seen = seen_range(o);
  Folded folded;
  fold(o, folded);
  const double codes = (o.two_sided != 0 ? codes_of(config) / 2 : codes_of(config)) + 0.5;
  if (folded.end <= codes) return seen;  // each bin has a code
  const auto entropy_of = [&](int32_t kept) {
    return cross_entropy(folded, kept, static_cast<int32_t>(codes));
  };
  double least = entropy_of(folded.end), all = 0.0;
  for (int32_t bin = 0; bin < folded.end; ++bin) all += information(folded, bin);
  int32_t best = folded.end;
  for (int32_t kept = folded.end - kKlStride; kept >= codes; kept -= kKlStride) {
    for (int32_t bin = kept; bin < kept + kKlStride; ++bin) all -= information(folded, bin);
    // No code tells its bins better apart than they are, and what is clipped onto the last one helps that by
    // log2 e bits a value at most. This only grows from here on.
    constexpr double kLog2E = 1.4426950408889634;
    const double tail = folded.total() - folded.values[kept];
    if (tail * (kUnseenBits - kLog2E) - all > least) break;
    const double entropy = entropy_of(kept);
    if (entropy >= least) continue;
    least = entropy;
    best = kept;
  }
  const int32_t coarse = best, first = coarse + kKlStride - 1;
  for (int32_t kept = first < folded.end ? first : folded.end; kept > coarse - kKlStride && kept >= codes;
       --kept) {
    if (kept == coarse) continue;
    const double entropy = entropy_of(kept);
    if (entropy > least || (entropy == least && kept < best)) continue;
    least = entropy;
    best = kept;
  }
  if (best == folded.end) return seen;
  return inside({-best * o.bin_width(), best * o.bin_width()}, seen);
}

double gaussian_end(double steps) {
  // Rounding adds t^2 / (3 steps^2), clipping 2 ((1 + t^2) Q(t) - t phi(t)): their derivatives' sum.
  return crossing([steps](double t) {
    constexpr double kPerSquareRootTwoPi = 0.39894228040143268, kPerSquareRootTwo = 0.70710678118654752;
    const double tail = 0.5 * (1.0 - erf_real(t * kPerSquareRootTwo));
    const double density = kPerSquareRootTwoPi * exp_real(-0.5 * t * t);
    return 4.0 * (density - t * tail) - 2.0 * t / (3.0 * steps * steps);
  });
}

double laplacian_end(double steps) {
  // t^2 / (3 steps^2) + 2 exp(-t)
  return crossing([steps](double t) { return 2.0 * exp_real(-t) - 2.0 * t / (3.0 * steps * steps); });
}

Range aciq_range(const TensorObserver& o, const QuantConfig& config, bool non_negative) {
  constexpr double kGaussianRatio = 0.79788456080286536, kLaplacianRatio = 0.70710678118654752;
  const Range seen = seen_range(o);
  const bool one_sided = o.two_sided == 0;
  const bool centered = one_sided || config.has(policy::kSymmetric);
  const double center = centered ? 0.0 : mean_of(o);
  const Spread spread = spread_of(o, center);
  if (spread.deviation == 0.0) return seen;
  // Codes on one side of zero only: as fine as twice as many on both.
  const bool doubled = one_sided && (non_negative || !config.has(policy::kSymmetric));
  const double steps = (codes_of(config) + 1) * (doubled ? 2.0 : 1.0);
  const bool laplacian = spread.mean_deviation / spread.deviation < (kGaussianRatio + kLaplacianRatio) / 2;
  const double end =
      laplacian ? spread.mean_deviation * laplacian_end(steps) : spread.deviation * gaussian_end(steps);
  return inside({center - end, center + end}, seen);
}

namespace {

// The rows of range_methods.inc stand in the order of RangeMethod.
constexpr RangeMethod kRows[] = {
#define ITG_RANGE_METHOD(id, ...) RangeMethod::id,
#include "calibrator/ranges/range_methods.inc"
#undef ITG_RANGE_METHOD
};
constexpr bool in_order() {
  for (size_t i = 0; i < sizeof kRows; ++i)
    if (kRows[i] != static_cast<RangeMethod>(i)) return false;
  return true;
}
static_assert(sizeof kRows == kRangeMethodCount && in_order());

// The values that a method chooses from.
struct RangeQuery {
  const TensorObserver& observer;
  const Bounds& bounds;
  const QuantConfig& config;
  double percentile;
  const FunctionBehind* behind;
};

Range choose_min_max(const RangeQuery& q) { return seen_range(q.observer); }

uint64_t value_count(const TensorObserver& o) {
  uint64_t count = 0;
  for (int32_t bin = 0; bin < o.bins(); ++bin) count += o.values_in(bin);
  return count;
}

// The smallest range of whole bins that leaves out at most (1 - percentile) / 2 of the values at each end.
Range choose_percentile(const RangeQuery& q) {
  const TensorObserver& o = q.observer;
  const Range seen = seen_range(o);
  const double spare = static_cast<double>(value_count(o)) * (1.0 - q.percentile) / 2.0;
  int32_t first = 0, last = o.bins() - 1;
  for (double left_out = in_bin(o, first); left_out <= spare && first < last;
       left_out += in_bin(o, ++first)) {
  }
  for (double left_out = in_bin(o, last); left_out <= spare && last > first; left_out += in_bin(o, --last)) {
  }
  const double lo = o.bin_start(first), hi = o.bin_start(last) + o.bin_width();
  return {lo > seen.lo ? lo : seen.lo, hi < seen.hi ? hi : seen.hi};
}

// Both ends by one factor first, then each by its own.
Range choose_mse(const RangeQuery& q) {
  const TensorObserver& o = q.observer;
  RangeScore error(o, q.config, q.bounds.non_negative(), q.behind);
  const Range seen = seen_range(o);
  const auto best = [&](int32_t first, auto&& range_of) {
    return error.best_factor(
        first, 32, [&](const double* factors, double* errors) { error.add_both(factors, errors, range_of); });
  };
  Range range = scaled(seen, best(6, [&](double f) { return scaled(seen, f); }));
  if (o.two_sided == 0) return range;
  range.lo = seen.lo * best(1, [&](double f) { return Range{seen.lo * f, range.hi}; });
  range.hi = seen.hi * best(1, [&](double f) { return Range{range.lo, seen.hi * f}; });
  return range;
}

Range choose_kl(const RangeQuery& q) { return kl_range(q.observer, q.config); }

Range choose_aciq(const RangeQuery& q) { return aciq_range(q.observer, q.config, q.bounds.non_negative()); }

Range choose_auto(const RangeQuery& q) { return scaled(choose_mse(q), room_of(q.observer)); }

}  // namespace

Range range_of(const QuantConfig& config) {
  const auto end = [&config](int32_t code) {
    return static_cast<double>(config.scale) * (static_cast<double>(code) - config.offset);
  };
  return {end(config.lo), end(config.hi)};
}

Range range_of_constant(const TensorInfo& info) {
  const auto* values = reinterpret_cast<const float*>(info.constant.data);
  Range range;
  for (size_t i = 0; i < info.constant.size / sizeof(float); ++i) {
    const auto v = static_cast<double>(values[i]);
    range.lo = v < range.lo ? v : range.lo;
    range.hi = v > range.hi ? v : range.hi;
  }
  return range;
}

Range within(const Range& range, const Bounds& bounds) {
  const double lo = range.lo < bounds.lo ? bounds.lo : range.lo;
  const double hi = range.hi > bounds.hi ? bounds.hi : range.hi;
  return {lo < 0.0 ? lo : 0.0, hi > 0.0 ? hi : 0.0};
}

Range choose_range(const TensorObserver& observer, const Bounds& bounds, const QuantConfig& config,
                   double percentile, const FunctionBehind* behind) {
  const RangeQuery query{observer, bounds, config, percentile, behind};
  Range range;
  switch (config.observer) {
#define ITG_RANGE_METHOD(id, c_name, name, search, function, text) \
  case RangeMethod::id:                                            \
    range = function(query);                                       \
    break;
#include "calibrator/ranges/range_methods.inc"
#undef ITG_RANGE_METHOD
  }
  return within(range, bounds);
}

int32_t bins_for(const CalibratorOptions& options) {
  const auto bins_of = [](RangeMethod method) {
    return method == RangeMethod::kMinMax ? 0 : method == RangeMethod::kKl ? kFineBins : kBins;
  };
  int32_t most = bins_of(options.method);
  if (options.layer_report && most == 0) most = kBins;
  for (const SlotRange& range : options.ranges) {
    const int32_t bins = range.observer < 0 ? 0 : bins_of(static_cast<RangeMethod>(range.observer));
    most = bins > most ? bins : most;
  }
  return most;
}

}  // namespace intaglio

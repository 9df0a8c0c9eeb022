#include "calibrator/ranges/ranges.h"

#include "calibrator/ranges/auto_range.h"
#include "calibrator/ranges/range_models.h"
#include "calibrator/ranges/range_score.h"
#include "intaglio/calibrator.h"

namespace intaglio {
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

// What a method chooses from.
struct RangeQuery {
  const TensorObserver& observer;
  const Bounds& bounds;
  const QuantConfig& config;
  double percentile;
  const FunctionBehind* behind;
};

Range choose_min_max(const RangeQuery& q) { return seen_range(q.observer); }

uint64_t total(const TensorObserver& o) {
  uint64_t count = 0;
  for (const Histogram& half : o.halves)
    for (const uint32_t n : half.counts) count += n;
  return count;
}

// The smallest range of whole bins that leaves out at most (1 - percentile) / 2 of the values at each end.
Range choose_percentile(const RangeQuery& q) {
  const TensorObserver& o = q.observer;
  const Range seen = seen_range(o);
  const double spare = static_cast<double>(total(o)) * (1.0 - q.percentile) / 2.0;
  const auto in_bin = [&o](int32_t bin) {
    return static_cast<double>(o.halves[0].counts[bin]) + o.halves[1].counts[bin];
  };
  int32_t first = 0, last = kBins - 1;
  for (double left_out = in_bin(first); left_out <= spare && first < last; left_out += in_bin(++first)) {
  }
  for (double left_out = in_bin(last); left_out <= spare && last > first; left_out += in_bin(--last)) {
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

}  // namespace intaglio

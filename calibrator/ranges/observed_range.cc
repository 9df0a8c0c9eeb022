#include "calibrator/ranges/observed_range.h"

#include "calibrator/ranges/auto_range.h"
#include "calibrator/ranges/auto_rules.h"
#include "calibrator/ranges/range_models.h"
#include "calibrator/ranges/sample_weights.h"

namespace intaglio {

// What has been seen of a tensor, its bounds, and the function of one variable that alone reads it, if there is one.
struct RangeFinder::Seen {
  const TensorObserver& observer;
  Bounds bounds;
  const FunctionBehind* behind = nullptr;
};

bool RangeFinder::find(int32_t tensor, const QuantConfig& config, Range& range) const {
  if (find_of_input(tensor, config, range)) return true;
  if (source_.seen.sample_count == 0) return false;
  range = of_seen(tensor, config);
  return true;
}

const TensorObserver& RangeFinder::observer(int32_t tensor) const {
  return source_.seen
      .observers[static_cast<size_t>(source_.observing.observer_of[static_cast<size_t>(tensor)])];
}

// Of an input whose values come from codes. Pixels by the model's recipe have their own range whatever the
// method and the config: it is known without samples.
bool RangeFinder::find_of_input(int32_t tensor, const QuantConfig& config, Range& range) const {
  const int32_t input = facts_.input_at(tensor);
  if (input < 0) return false;
  const InputValues& values = source_.seen.inputs[static_cast<size_t>(input)];
  if (range_of_pixels(source_.fp32.model, input, values, range)) return true;
  if (!is_auto(config) || config.bits != 8 || config.has(policy::kSymmetric) ||
      config.has(policy::kPowerOfTwo))
    return false;
  const double step = code_step(values);
  return step > 0.0 && range_of_codes(step, seen_range(observer(tensor)), range);
}

// A method that the caller asks for by name looks at the tensor alone. With a function behind a tensor the observer is
// the spare one.
RangeFinder::Seen RangeFinder::seen_of(int32_t tensor, const QuantConfig& config) const {
  const TensorObserver& all = observer(tensor);
  const Bounds bounds = facts_.bounds(tensor);
  const int32_t reader = is_auto(config) ? facts_.function_reader(tensor) : -1;
  if (reader < 0) return {all, bounds};
  behind_->function = facts_.rule(reader)->unary;
  behind_->options = source_.fp32.model.node(reader).options;
  if (!look_behind(all, *behind_)) return {all, bounds};
  const Range apart = told_apart(all, *behind_);
  const Bounds told{apart.lo > bounds.lo ? apart.lo : bounds.lo, apart.hi < bounds.hi ? apart.hi : bounds.hi};
  spare_ = all;
  for (const int32_t half : {0, 1}) {
    const Range kept = within({static_cast<double>(all.min[half]), static_cast<double>(all.max[half])}, told);
    spare_.min[half] = static_cast<float>(kept.lo);
    spare_.max[half] = static_cast<float>(kept.hi);
  }
  return {spare_, told, behind_};
}

Range RangeFinder::of_seen(int32_t tensor, const QuantConfig& config) const {
  if (config.bits > 8 && is_auto(config)) return wide_range(observer(tensor), facts_.bounds(tensor));
  const Seen known = seen_of(tensor, config);
  const bool is_input = facts_.writer(tensor) < 0, in_head = facts_.is_in_head(tensor);
  const bool is_probed = config.observer == RangeMethod::kAuto &&
                         source_.seen.sample_count < kAutoRules.probes.samples && !is_input;
  const Range range = is_auto(config) && !is_input && half_ == kBothHalves && in_head
                          ? vector_range(known.observer, known.bounds)
                          : by_method(known, config);
  return is_probed ? with_probes(range, observer(tensor), known.bounds, in_head) : range;
}

Range RangeFinder::by_method(const Seen& seen, const QuantConfig& config) const {
  // The caller's share is for the caller's method alone; the search tries the default.
  const double percentile = source_.options.method == RangeMethod::kAuto ? CalibratorOptions().percentile
                                                                         : source_.options.percentile;
  const bool weighs = is_auto(config);  // also what the search tries in its place
  if (half_ == kBothHalves && !weighs)
    return choose_range(seen.observer, seen.bounds, config, percentile, seen.behind);
  if (&spare_ != &seen.observer) spare_ = seen.observer;
  if (half_ != kBothHalves) {
    const int32_t other = 1 - half_;
    spare_.min[other] = spare_.max[other] = 0.0f;
    spare_.samples[other] = 0;
    memset(&spare_.halves[other], 0, sizeof spare_.halves[other]);
  }
  if (weighs) weigh_samples(spare_);
  return choose_range(spare_, seen.bounds, config, percentile, seen.behind);
}

}  // namespace intaglio

#include "calibrator/recover/range_method.h"

#include "calibrator/ranges/auto_rules.h"
#include "calibrator/recover/bias_correction.h"

namespace intaglio {
namespace {

double worthwhile(const CalibrationState& seen) {
  return seen.sample_count < kAutoRules.other_method.few_samples ? 1.0 : kAutoRules.other_method.worthwhile;
}

// The methods that are tried beside kAuto, in their order.
constexpr int32_t kTried = 0
#define ITG_RANGE_METHOD(id, c_name, name, place, ...) +(place > 0 ? 1 : 0)
#include "calibrator/ranges/range_methods.inc"
#undef ITG_RANGE_METHOD
    ;
struct Search {
  RangeMethod methods[kTried] = {};
};
constexpr Search kSearch = [] {
  Search search;
#define ITG_RANGE_METHOD(id, c_name, name, place, ...) \
  if (place > 0) search.methods[(place > 0 ? place : 1) - 1] = RangeMethod::id;
#include "calibrator/ranges/range_methods.inc"
#undef ITG_RANGE_METHOD
  return search;
}();

// How ranges are chosen and biases are corrected.
struct Way {
  RangeMethod method;
  bool by_samples;  // see RecoveryContext
};

Error correct_half(RecoveryContext& context, const Way& way, int32_t half) {
  if ((context.options.recover & recovery::kBiasCorrection) == 0) return kNoError;
  return way.by_samples ? correct_layers(context, half) : correct_layers_alone(context, half);
}

// Adds what the ranges of one half, with biases that the same half has corrected, make of the samples of the other: what
// a method clips counts for what the correction leaves of it. The context's own way stays as it is.
Error judge_half(RecoveryContext& context, const Way& way, int32_t half, NetworkError& error,
                 double most = kNoLimit) {
  NetworkError part;
  const RangeMethod method = context.method;
  context.method = way.method;
  const Error built = context.build(half);
  context.method = method;
  ITG_TRY(built);
  Error corrected;
  context.fp32.threads.hold([&] { corrected = correct_half(context, way, half); });
  ITG_TRY(corrected);
  ITG_TRY(context.measure("range method", part, half == 0 ? Part::kOddHalf : Part::kEvenHalf,
                          most - error.noise));
  error.signal += part.signal;
  error.noise += part.noise;
  return kNoError;
}

// Stops where the noise is past `most`, which is then infinite or at least more.
Error judge_way(RecoveryContext& context, const Way& way, double most, NetworkError& error) {
  error = {};
  for (const int32_t half : {0, 1}) {
    ITG_TRY(judge_half(context, way, half, error, most));
    if (error.noise > most) return kNoError;
  }
  return kNoError;
}

}  // namespace

bool can_judge(const CalibrationState& seen) {
  if (seen.observers.empty()) return false;
  const uint32_t* const samples = seen.observers[0].samples;
  return samples[0] > 0 && samples[1] > 0;
}

Error judge_ranges(RecoveryContext& context, bool by_samples, NetworkError& error) {
  return judge_way(context, {context.method, by_samples}, kNoLimit, error);
}

Error find_method(RecoveryContext& context, FoundMethod& found) {
  found = {};
  const bool corrects =
      (context.options.recover & recovery::kBiasCorrection) != 0 && context.samples.has_source();
  Way best{RangeMethod::kAuto, false};
  const auto judge = [&](const Way& way) -> Error {
    const bool is_auto = way.method == RangeMethod::kAuto, is_first = is_auto && !way.by_samples;
    NetworkError error;
    ITG_TRY(judge_way(context, way, is_first ? kNoLimit : found.of_best.noise, error));
    if (!is_first && error.noise >= found.of_best.noise) return kNoError;
    found.of_best = error;
    if (is_auto) found.of_auto = error;
    if (is_auto || error.noise < worthwhile(context.seen) * found.of_auto.noise) best = way;
    return kNoError;
  };
  // What a correction by samples is worth hangs on what the ranges clip: each method is judged with both.
  const auto judge_both = [&](RangeMethod method) -> Error {
    ITG_TRY(judge({method, false}));
    return corrects ? judge({method, true}) : kNoError;
  };
  ITG_TRY(judge_both(RangeMethod::kAuto));
  for (const RangeMethod method : kSearch.methods) ITG_TRY(judge_both(method));
  found.best = context.method = best.method;
  context.by_samples = best.by_samples;
  return kNoError;
}

Error MethodErrors::add_half(RecoveryContext& context, int32_t half) {
  const bool every =
      context.options.method == RangeMethod::kAuto && (context.options.recover & recovery::kRangeMethod) != 0;
  const auto add = [&](RangeMethod one) -> Error {
    return judge_half(context, {one, false}, half, errors_[static_cast<size_t>(one)]);
  };
  ITG_TRY(add(every ? RangeMethod::kAuto : context.method));
  if (every)
    for (const RangeMethod tried : kSearch.methods) ITG_TRY(add(tried));
  return kNoError;
}

RangeMethod MethodErrors::best(const CalibrationState& seen) const {
  const auto tried = [this](RangeMethod method) { return of(method).signal > 0.0; };
  RangeMethod best = RangeMethod::kAuto;
  for (int32_t i = 0; i < kRangeMethodCount; ++i) {
    const auto method = static_cast<RangeMethod>(i);
    const double most = best != RangeMethod::kAuto || !tried(best) ? 1.0 : worthwhile(seen);
    if (tried(method) && (!tried(best) || of(method).noise < most * of(best).noise)) best = method;
  }
  return best;
}

Error choose_method(RecoveryContext& context) {
  if (context.options.method != RangeMethod::kAuto) return kNoError;
  RecoveryRecord record{recovery::kRangeMethod,         -1, -1, context.error.ratio(), context.error.ratio(),
                        RecoveryVerdict::kTooFewSamples};
  if (!can_judge(context.seen)) {
    context.record(record);
    return kNoError;
  }
  FoundMethod found;
  ITG_TRY(find_method(context, found));
  const bool kept = found.best != RangeMethod::kAuto;
  record.before = found.of_auto.ratio();
  record.after = found.of_best.ratio();
  record.verdict = kept ? RecoveryVerdict::kKept : RecoveryVerdict::kNetworkWorse;
  context.record(record);
  ITG_TRY(context.build());
  return kept ? context.measure("range method", context.error) : kNoError;
}

}  // namespace intaglio

#include "calibrator/recover/range_method.h"

#include "calibrator/ranges/auto_rules.h"
#include "calibrator/recover/bias_correction.h"

namespace intaglio {
namespace {

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

// The int8 model with the candidate's ranges of one half, its biases corrected for the rounding of weights, where the options
// ask for that.
Error build_half(RecoveryContext& context, const Candidate& candidate, int32_t half) {
  Error built;
  context.fp32.threads.hold([&] {
    built = context.bake(candidate, half);
    if (!built.ok()) return;
    // Before weights are packed, which takes as long as some runs.
    if ((context.options.recover & recovery::kBiasCorrection) != 0) correct_layers_alone(context, half);
    built = context.int8.write_and_open();
  });
  return built;
}

// Adds what the int8 model, made from one half, makes of the samples of the other.
Error add_other_half(RecoveryContext& context, int32_t half, NetworkError& error, double most = kNoLimit) {
  NetworkError part;
  const Part other = half == 0 ? Part::kOddHalf : Part::kEvenHalf;
  ITG_TRY(context.judge.ask({"range method", other, most - error.noise}, part));
  error.signal += part.signal;
  error.noise += part.noise;
  return kNoError;
}

// The noise of the model that each half makes, and the error of both.
struct HalvesError {
  double noise[2] = {};
  NetworkError both;
};

// Whether a method is worth a look. See kAutoRules.other_method.
Result<bool> may_gain(RecoveryContext& context, RangeMethod method) {
  if (method == RangeMethod::kMinMax)
    return context.network->seen.sample_count >= kAutoRules.other_method.minmax_least_samples;
  if (method != RangeMethod::kAciq) return true;
  const Model& fp32 = context.fp32.model;
  Arena scratch = context.int8.arena();
  const Span<float> scales = scratch.make<float>(static_cast<size_t>(fp32.tensor_count()));
  if (scratch.exhausted()) return Error{Status::kOutOfMemory};
  const auto scale_of = [&](int32_t tensor) { return context.slots.map.slots.params(tensor).scale; };
  const auto choose = [&](RangeMethod chosen) {
    return choose_params({context.fp32, context.options, context.observing, context.network->seen}, chosen,
                         kBothHalves, context.slots);
  };
  ITG_TRY(choose(RangeMethod::kAuto));
  for (int32_t t = 0; t < fp32.tensor_count(); ++t) scales[static_cast<size_t>(t)] = scale_of(t);
  ITG_TRY(choose(method));
  const auto most = static_cast<float>(kAutoRules.other_method.aciq_share);
  for (int32_t t = 0; t < fp32.tensor_count(); ++t)
    if (scale_of(t) < most * scales[static_cast<size_t>(t)] && !fp32.tensor(t).is_constant()) return true;
  return false;
}

// The limits that a method has to stay below, and the half that is tried first.
struct Limits {
  int32_t first_half = 0;
  double first = kNoLimit, both = kNoLimit;

  Limits() = default;
  // Where the best so far is at its worst another has most to gain. What is clearly worse there is not tried in the other half.
  explicit Limits(const HalvesError& best) : first_half(best.noise[1] > best.noise[0] ? 1 : 0) {
    first = kAutoRules.other_method.most_in_first * best.noise[first_half];
    both = best.both.noise;
    first = first < both ? first : both;
  }
};

// Both ways. Stops where the noise is past its limit, and is then infinite or at least more.
Error judge_method(RecoveryContext& context, const Candidate& candidate, const Limits& most,
                   HalvesError& error) {
  Waiting waiting;
  for (const int32_t half : {most.first_half, 1 - most.first_half}) {
    if (!(error.both.noise <= most.both)) break;
    ITG_TRY(build_half(context, candidate, half));
    const double before = error.both.noise;
    ITG_TRY(waiting.put_off(
        add_other_half(context, half, error.both, half == most.first_half ? most.first : most.both)));
    error.noise[half] = error.both.noise - before;
  }
  return waiting.error();
}

}  // namespace

bool can_judge(const CalibrationState& seen) {
  if (seen.observers.empty()) return false;
  const uint32_t* const samples = seen.observers[0].samples;
  return samples[0] > 0 && samples[1] > 0;
}

Error judge_ranges(RecoveryContext& context, const Candidate& candidate, NetworkError& error) {
  HalvesError found;
  ITG_TRY(judge_method(context, candidate, {}, found));
  error = found.both;
  return kNoError;
}

Error find_method(RecoveryContext& context, const Network& network, FoundMethod& found) {
  Limits most;
  Waiting waiting;
  const auto judge = [&](RangeMethod method) -> Error {
    HalvesError halves;
    Candidate candidate{method, {}, &network, {}, {}};
    const Error judged = judge_method(context, candidate, most, halves);
    // Without a limit, the others are asked in the same round.
    if (!judged.ok()) return waiting.put_off(judged);
    const bool is_auto = method == RangeMethod::kAuto;
    const double share = method == RangeMethod::kMinMax ? kAutoRules.other_method.minmax_most : 1.0;
    if (!is_auto && halves.both.noise >= share * found.best.error.noise) return kNoError;
    candidate.error = halves.both;
    found.best = candidate;
    if (is_auto) found.of_auto = halves.both;
    most = Limits(halves);
    return kNoError;
  };
  ITG_TRY(judge(RangeMethod::kAuto));
  for (const RangeMethod method : kSearch.methods) {
    const Result<bool> may = may_gain(context, method);
    if (!may) return may.error();
    if (*may) ITG_TRY(judge(method));
  }
  return waiting.error();
}

Error MethodErrors::add_half(RecoveryContext& context, const Candidate& candidate, int32_t half) {
  const bool every =
      context.options.method == RangeMethod::kAuto && (context.options.recover & recovery::kRangeMethod) != 0;
  const auto add = [&](RangeMethod method) -> Error {
    Candidate tried = candidate;
    tried.method = method;
    ITG_TRY(build_half(context, tried, half));
    return add_other_half(context, half, errors_[static_cast<size_t>(method)]);
  };
  ITG_TRY(add(every ? RangeMethod::kAuto : candidate.method));
  if (every)  // min-max would cost two models more, and gains nothing where factors are chosen
    for (const RangeMethod tried : kSearch.methods)
      if (tried != RangeMethod::kMinMax) ITG_TRY(add(tried));
  return kNoError;
}

RangeMethod MethodErrors::best() const {
  const auto tried = [this](RangeMethod method) { return of(method).signal > 0.0; };
  RangeMethod best = RangeMethod::kAuto;
  for (int32_t i = 0; i < kRangeMethodCount; ++i) {
    const auto method = static_cast<RangeMethod>(i);
    if (tried(method) && (!tried(best) || of(method).noise < of(best).noise)) best = method;
  }
  return best;
}

Result<Candidate> choose_method(RecoveryContext& context, const Candidate& now) {
  if (context.options.method != RangeMethod::kAuto) return now;
  if (!can_judge(context.network->seen)) {
    context.guard.not_tried(recovery::kRangeMethod, now, RecoveryVerdict::kTooFewSamples);
    return now;
  }
  FoundMethod found;
  // The methods differ in ranges and biases alone, and so does what stands here already.
  context.int8.keep_weights(true);
  ITG_TRY(find_method(context, *now.network, found));
  const bool kept = found.best.method != RangeMethod::kAuto;
  context.guard.record({recovery::kRangeMethod, -1, -1, found.of_auto.ratio(), found.best.error.ratio(),
                        kept ? RecoveryVerdict::kKept : RecoveryVerdict::kNetworkWorse});
  ITG_TRY(context.build(found.best));
  context.int8.keep_weights(false);
  return kept ? context.judged("range method", found.best) : now;
}

}  // namespace intaglio

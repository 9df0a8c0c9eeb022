#include "calibrator/recover/range_method.h"

#include "calibrator/ranges/slot_params.h"
#include "calibrator/recover/bias_correction.h"
#include "calibrator/recover/layer_recovery.h"

namespace intaglio {
namespace {

// Of the error of RangeMethod::kAuto: the best of several is flattered by chance, so a smaller gain is none.
// With few samples what kAuto makes of them is chance itself, and any gain counts.
double worthwhile(const CalibratorMemory& memory) {
  return memory.seen.sample_count < kGuardedSamples ? 1.0 : 0.89;
}

constexpr RangeMethod kOthers[] = {RangeMethod::kPercentile, RangeMethod::kMse, RangeMethod::kKl,
                                   RangeMethod::kMinMax, RangeMethod::kAciq};

Error build_by(RecoveryContext& context, RangeMethod method, int32_t half) {
  context.memory.options.method = method;
  Error error;
  context.memory.threads.hold([&] {
    error = choose_params(context.memory, half);
    if (error.ok()) error = context.int8.build();
  });
  return error;
}

// Adds what the ranges of one half make of the samples of the other. What the rounding of weights adds to
// every mean would drown the rest in some networks.
Error judge_half(RecoveryContext& context, RangeMethod method, int32_t half, NetworkError& error,
                 double most = kNoLimit) {
  NetworkError part;
  ITG_TRY(build_by(context, method, half));
  Error corrected;
  if ((context.memory.options.recover & recovery::kBiasCorrection) != 0)
    context.memory.threads.hold([&] { corrected = correct_layers_alone(context); });
  ITG_TRY(corrected);
  ITG_TRY(context.measure("range method", part, half == 0 ? Part::kOddHalf : Part::kEvenHalf,
                          most - error.noise));
  error.signal += part.signal;
  error.noise += part.noise;
  return kNoError;
}

// Stops where the noise is past `most`, which is then infinite or at least more.
Error judge_method(RecoveryContext& context, RangeMethod method, double most, NetworkError& error) {
  error = {};
  for (const int32_t half : {0, 1}) {
    ITG_TRY(judge_half(context, method, half, error, most));
    if (error.noise > most) return kNoError;
  }
  return kNoError;
}

}  // namespace

bool can_judge(const CalibratorMemory& memory) {
  if (memory.seen.observers.empty()) return false;
  const uint32_t* const samples = memory.seen.observers[0].samples;
  return samples[0] > 0 && samples[1] > 0;
}

Error judge_ranges(RecoveryContext& context, NetworkError& error) {
  return judge_method(context, context.memory.options.method, kNoLimit, error);
}

Error find_method(RecoveryContext& context, FoundMethod& found) {
  found = {};
  ITG_TRY(judge_method(context, RangeMethod::kAuto, kNoLimit, found.of_auto));
  found.of_best = found.of_auto;
  for (const RangeMethod method : kOthers) {
    NetworkError error;
    ITG_TRY(judge_method(context, method, found.of_best.noise, error));
    if (error.noise >= found.of_best.noise) continue;
    found.of_best = {found.of_auto.signal, error.noise};
    if (error.noise < worthwhile(context.memory) * found.of_auto.noise) found.best = method;
  }
  context.memory.options.method = found.best;
  return kNoError;
}

Error MethodErrors::add_half(RecoveryContext& context, int32_t half) {
  const RangeMethod method = context.memory.options.method;
  const bool every = context.memory.asked == RangeMethod::kAuto &&
                     (context.memory.options.recover & recovery::kRangeMethod) != 0;
  for (int32_t i = 0; i < kRangeMethodCount; ++i)
    if (every || static_cast<RangeMethod>(i) == method)
      ITG_TRY(judge_half(context, static_cast<RangeMethod>(i), half, errors_[i]));
  context.memory.options.method = method;
  return kNoError;
}

RangeMethod MethodErrors::best(const CalibratorMemory& memory) const {
  const auto tried = [this](RangeMethod method) { return of(method).signal > 0.0; };
  RangeMethod best = RangeMethod::kAuto;
  for (const RangeMethod method : kOthers) {
    const double most = best != RangeMethod::kAuto || !tried(best) ? 1.0 : worthwhile(memory);
    if (tried(method) && (!tried(best) || of(method).noise < most * of(best).noise)) best = method;
  }
  return best;
}

Error build_with_ranges(RecoveryContext& context) {
  return build_by(context, context.memory.options.method, kBothHalves);
}

Error choose_method(RecoveryContext& context) {
  if (context.memory.asked != RangeMethod::kAuto) return kNoError;
  RecoveryRecord record{recovery::kRangeMethod,         -1, -1, context.error.ratio(), context.error.ratio(),
                        RecoveryVerdict::kTooFewSamples};
  if (!can_judge(context.memory)) {
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
  ITG_TRY(build_with_ranges(context));
  return kept ? context.measure("range method", context.error) : kNoError;
}

}  // namespace intaglio

#include "calibrator/recover/range_method.h"

#include <limits>

#include "calibrator/recover/bias_correction.h"
#include "calibrator/slot_params.h"

namespace intaglio {
namespace {

// Of the error of RangeMethod::kAuto: the best of several is flattered by chance, so a smaller gain is none.
constexpr double kWorthwhile = 0.8;
constexpr RangeMethod kOthers[] = {RangeMethod::kPercentile, RangeMethod::kMse, RangeMethod::kKl,
                                   RangeMethod::kMinMax, RangeMethod::kAciq};

Error build_by(RecoveryContext& context, RangeMethod method, int32_t half) {
  context.memory.options.method = method;
  ITG_TRY(choose_params(context.memory, half));
  return context.int8.build();
}

// What the rounding of weights adds to every mean would drown the rest in some networks.
Error correct_biases_alone(RecoveryContext& context) {
  const Graph& graph = context.int8.graph();
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes.size()); ++n)
    if (weight_rule(graph, n) != nullptr) ITG_TRY(correct_layer_alone(context, n));
  return kNoError;
}

// Each half of the samples judges the ranges that the other half gives. Stops where the noise is past `most`.
Error judge(RecoveryContext& context, RangeMethod method, double most, NetworkError& error) {
  error = {};
  for (const int32_t half : {0, 1}) {
    NetworkError part;
    ITG_TRY(build_by(context, method, half));
    if ((context.memory.options.recover & recovery::kBiasCorrection) != 0)
      ITG_TRY(correct_biases_alone(context));
    ITG_TRY(context.measure("range method", part, half == 0 ? Part::kOddHalf : Part::kEvenHalf));
    error.signal += part.signal;
    error.noise += part.noise;
    if (error.noise > most) return kNoError;
  }
  return kNoError;
}

}  // namespace

Error choose_method(RecoveryContext& context) {
  CalibratorMemory& memory = context.memory;
  if (memory.options.method != RangeMethod::kAuto || memory.seen.observers.empty()) return kNoError;
  RecoveryRecord record{recovery::kRangeMethod,         -1, -1, context.error.ratio(), context.error.ratio(),
                        RecoveryVerdict::kTooFewSamples};
  const uint32_t* const samples = memory.seen.observers[0].samples;
  if (samples[0] == 0 || samples[1] == 0) {
    context.record(record);
    return kNoError;
  }
  RangeMethod best = RangeMethod::kAuto;
  NetworkError first, least, error;
  ITG_TRY(judge(context, best, std::numeric_limits<double>::infinity(), first));
  for (const RangeMethod method : kOthers) {
    ITG_TRY(judge(context, method, best == RangeMethod::kAuto ? first.noise : least.noise, error));
    if (least.signal > 0.0 && error.noise >= least.noise) continue;
    least = {first.signal, error.noise};
    if (error.noise < kWorthwhile * first.noise) best = method;
  }
  record.before = first.ratio();
  record.after = least.ratio();
  record.verdict = best == RangeMethod::kAuto ? RecoveryVerdict::kNetworkWorse : RecoveryVerdict::kKept;
  context.record(record);
  ITG_TRY(build_by(context, best, kBothHalves));
  return best == RangeMethod::kAuto ? kNoError : context.measure("range method", context.error);
}

}  // namespace intaglio

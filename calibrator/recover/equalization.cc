#include "calibrator/recover/equalization.h"

#include "calibrator/recover/depthwise_scales.h"
#include "calibrator/recover/range_method.h"
#include "runtime/op_search.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

constexpr double kMostExponent = 16.0;
// A share of the error before. The samples that judge are among those that the scales were made from, so a small gain
// is none.
constexpr double kWorthwhile = 0.8;

float power_of_two(int32_t exponent) {
  const uint32_t bits = static_cast<uint32_t>(exponent + 127) << 23;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

int32_t exponent_of(double log) {
  const double limit = kMostExponent;
  return static_cast<int32_t>(round_even(log > limit ? limit : (log < -limit ? -limit : log)));
}

}  // namespace

namespace {

// Powers of two change no bit of the outputs, so that its session takes the place of the caller's; not of one before it that
// does change them.
size_t own_bytes(const Model& fp32, size_t persistent_bytes, const CalibratorOptions& options) {
  return DepthwiseScales::may_apply(fp32, options) ? persistent_bytes : 0;
}

}  // namespace

Equalizer::Equalizer(const FloatModel& fp32, const CalibrationState& seen, const CalibratorOptions& options,
                     Arena& arena) {
  if ((options.recover & recovery::kEqualization) == 0) return;
  const size_t persistent_bytes = own_bytes(fp32.model, fp32.lanes.own().persistent.size, options);
  rewrite_ = ModelRewrite(fp32.model, seen, persistent_bytes, arena);
  scaling_ = ChannelScaling(group_channels(fp32.model, arena), arena);
}

uint64_t Equalizer::bytes(const Model& fp32, size_t persistent_bytes, const CalibratorOptions& options) {
  if ((options.recover & recovery::kEqualization) == 0) return 0;
  return ModelRewrite::bytes(fp32, own_bytes(fp32, persistent_bytes, options), options) +
         ChannelScaling::bytes(fp32);
}

void Equalizer::choose_factors(const Model& model, bool with_room) {
  for (float& factor : scaling_.factors) factor = 1.0f;
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    if (scaling_.groups.root[static_cast<size_t>(t)] != t) continue;
    const size_t first = scaling_.groups.first_of(t),
                 end = first + static_cast<size_t>(model.tensor(t).shape.back(0));
    float largest = 0.0f;
    for (size_t c = first; c < end; ++c) largest = scaling_.peaks[c] > largest ? scaling_.peaks[c] : largest;
    if (!(largest > 0.0f)) continue;
    for (size_t c = first; c < end; ++c) {
      const double share = static_cast<double>(scaling_.peaks[c]) / static_cast<double>(largest);
      if (!(share > 0.0)) continue;
      const double log = log2_real(share);
      const double exponent = scaling_.readers[c] > 0.0 ? (log - log2_real(scaling_.readers[c])) * 0.5 : log;
      // Few samples do not show all values of a channel: half of the range stays free for the
      // rest, except for channels that are the range.
      scaling_.factors[c] =
          power_of_two(exponent_of(with_room ? (exponent + 1.0 < 0.0 ? exponent + 1.0 : 0.0) : exponent));
    }
  }
}

Result<Candidate> Equalizer::run(RecoveryContext& context, const Candidate& now) {
  if (scaling_.groups.channels == 0) return now;
  ITG_TRY(scaling_.find_peaks(context));
  scaling_.find_readers(now.network->model);
  const bool finds_method = context.options.method == RangeMethod::kAuto && can_judge(now.network->seen);
  NetworkError before;
  ITG_TRY(judge(context, now, before));
  for (const bool with_room : {true, false}) {
    choose_factors(now.network->model, with_room);
    scaling_.scale(rewrite_.copy(*now.network));
    rewrite_.network().channels_scaled = true;
    ITG_TRY(rewrite_.observe(context));
    Candidate tried = now;
    tried.network = &rewrite_.network();
    if (finds_method) {
      FoundMethod found;
      ITG_TRY(find_method(context, *tried.network, found));
      tried = found.best;
    } else {
      ITG_TRY(judge(context, tried, tried.error));
    }
    if (!context.guard.keeps(recovery::kEqualization, before, tried.error, kWorthwhile)) continue;
    ITG_TRY(context.build(tried));
    return context.judged("after equalization", tried);
  }
  ITG_TRY(context.build(now));
  return now;
}

// By samples that the ranges do not come from, if there are any.
Error Equalizer::judge(RecoveryContext& context, const Candidate& candidate, NetworkError& error) {
  if (can_judge(candidate.network->seen)) return judge_ranges(context, candidate, error);
  ITG_TRY(context.build(candidate));
  return context.judge.ask({"equalization"}, error);
}

bool has_factors(const Model& fp32) {
  for (int32_t n = 0; n < fp32.node_count(); ++n) {
    const OpDef* const def = find_op(float_ops(), fp32, fp32.node(n));
    if (def != nullptr && def->quant.real_inputs >= 0) return true;
  }
  return false;
}

}  // namespace intaglio

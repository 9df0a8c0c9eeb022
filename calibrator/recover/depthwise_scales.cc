#include "calibrator/recover/depthwise_scales.h"

#include <limits>

#include "calibrator/observe/patch_means.h"
#include "calibrator/ranges/auto_rules.h"
#include "calibrator/ranges/observed_range.h"
#include "calibrator/recover/bias_correction.h"
#include "calibrator/recover/range_method.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

// Shares of the error before. Where the samples that judge are those that the ranges come from, a small gain is none.
constexpr double kWorthwhile = 0.97, kWorthwhileOnOwn = 0.9;
// A set gets factors where rounding then adds less than this share of what it added.
constexpr double kLessNoise = 0.7;
constexpr double kLeast = 0x1p-16;  // of a factor
constexpr uint32_t kFewestSamples = 4;

// So many are probed once more, the first by their digests: what probes reach counts in part where there are more samples.
constexpr int32_t kProbedSamples = static_cast<int32_t>(kAutoRules.probes.full_samples);

bool halves_judge(const Network& network) {
  return network.seen.sample_count >= kGuardedSamples && can_judge(network.seen);
}

}  // namespace

bool DepthwiseScales::may_apply(const Model& fp32, const CalibratorOptions& options) {
  if ((options.recover & recovery::kDepthwiseScales) == 0) return false;
  if (options.compat != Compat::kNone || !options.known.empty()) return false;
  bool found = false;
  for_each_layer(fp32, [&](const NodeInfo& node, const QuantRule& rule) {
    found = found || is_depthwise(fp32, node, rule);
  });
  return found;
}

DepthwiseScales::DepthwiseScales(const FloatModel& fp32, const CalibrationState& seen,
                                 const CalibratorOptions& options, Arena& arena) {
  if (!may_apply(fp32.model, options)) return;
  rewrite_ = ModelRewrite(fp32.model, seen, fp32.lanes.own().persistent.size, arena);
  functions_ = FunctionGroups(fp32.model, options, arena);
  scaling_ =
      ChannelScaling(group_channels(fp32.model, arena, ChannelSets::kDepthwise, functions_.nodes()), arena);
  observer_of_ = arena.make<int32_t>(static_cast<size_t>(fp32.model.tensor_count()));
  no_means_ = arena.make<size_t>(static_cast<size_t>(fp32.model.node_count()));
  inputs_ = arena.make<InputValues>(fp32.model.inputs().size);
  ends_ = arena.make<Range>(static_cast<size_t>(fp32.model.tensor_count()));
}

uint64_t DepthwiseScales::bytes(const Model& fp32, size_t persistent_bytes,
                                const CalibratorOptions& options) {
  if (!may_apply(fp32, options)) return 0;
  constexpr uint64_t kSlack = 64;
  return ModelRewrite::bytes(fp32, persistent_bytes, options) + ChannelScaling::bytes(fp32) +
         FunctionGroups::bytes(fp32) +
         static_cast<uint64_t>(fp32.tensor_count()) * (sizeof(int32_t) + sizeof(Range)) +
         static_cast<uint64_t>(fp32.node_count()) * sizeof(size_t) +
         fp32.inputs().size * sizeof(InputValues) + kSlack;
}

// A function's input counts as far as the function tells its values apart.
void DepthwiseScales::find_ends(RecoveryContext& context, const Network& from) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (Range& ends : ends_) ends = {-kInfinity, kInfinity};
  if (context.slots.behind.empty()) return;
  FunctionBehind& behind = context.slots.behind[0];
  behind.set_factors({}, 0);
  functions_.for_each(from.model, [&](int32_t, const NodeInfo& node) {
    const auto t = static_cast<size_t>(node.inputs[0]);
    const int32_t observer = context.observing.observer_of[t];
    if (!scaling_.groups.is_free(node.inputs[0]) || observer < 0)
      return;  // it may have the codes of another tensor
    const TensorObserver& seen = from.seen.observers[static_cast<size_t>(observer)];
    behind.function = find_op(float_ops(), from.model, node)->quant.unary;
    behind.options = node.options;
    if (look_behind(seen, behind)) ends_[t] = told_apart(seen, behind);
  });
}

// Whether a function reads or writes a tensor of this set.
bool DepthwiseScales::is_at_function(const Model& model, int32_t root) const {
  bool is = false;
  functions_.for_each(model, [&](int32_t, const NodeInfo& node) {
    for (const int32_t t : {node.inputs[0], node.outputs[0]})
      is = is || scaling_.groups.root[static_cast<size_t>(t)] == root;
  });
  return is;
}

// False where no set gets any.
bool DepthwiseScales::choose_factors(const Model& model, uint32_t samples) {
  bool any = false;
  const double room = room_of_samples(samples);
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    if (scaling_.groups.root[static_cast<size_t>(t)] != t) continue;
    const size_t first = scaling_.groups.first_of(t),
                 end = first + static_cast<size_t>(model.tensor(t).shape.back(0));
    float largest = 0.0f;
    for (size_t c = first; c < end; ++c) largest = scaling_.peaks[c] > largest ? scaling_.peaks[c] : largest;
    const bool in_groups = is_at_function(model, t);
    double noise = 0.0;
    for (size_t c = first; c < end; ++c) {
      const double least = room * static_cast<double>(scaling_.factors[c]);
      scaling_.factors[c] = 1.0f;
      if (!(scaling_.peaks[c] > 0.0f)) continue;
      const double peak = room * static_cast<double>(scaling_.peaks[c]) / static_cast<double>(largest);
      const double reader = scaling_.readers[c];
      // The largest of a group is surer than one channel's.
      const double sure = sqrt_real(peak),
                   own = sqrt_real(peak * (in_groups ? sqrt_real(sure * peak) : sure));
      double factor = reader > 0.0 ? sqrt_real(peak / reader) : own;
      if (factor < least) factor = least;
      scaling_.factors[c] = static_cast<float>(factor < kLeast ? kLeast : factor < 1.0 ? factor : 1.0);
      noise += static_cast<double>(scaling_.factors[c]) * static_cast<double>(scaling_.factors[c]);
    }
    const bool gains = noise < kLessNoise * static_cast<double>(end - first);
    any = any || gains;
    for (size_t c = first; c < end && !gains; ++c) scaling_.factors[c] = 1.0f;
  }
  return any;
}

// The model with the factors. What was seen of tensors that have some is still to be replaced.
Error DepthwiseScales::scale(RecoveryContext& context, const Network& from) {
  scaling_.scale(rewrite_.copy(from));
  rewrite_.network().scales = {scaling_.factors, rewrite_.network().seen.observers};
  rewrite_.network().functions = functions_.factors_of(from.model, scaling_);
  ITG_TRY(rewrite_.use_unobserved(context, from));
  const Model& model = context.fp32.model;
  for (int32_t t = 0; t < model.tensor_count(); ++t)
    observer_of_[static_cast<size_t>(t)] = scaling_.changing_factors_of(model, t) == nullptr
                                               ? -1
                                               : context.observing.observer_of[static_cast<size_t>(t)];
  // Mean inputs of the layers that read them.
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const int32_t input = model.node_inputs(n)[0];
    const float* const factors = input < 0 ? nullptr : scaling_.factors_of(input);
    if (factors == nullptr) continue;
    const size_t count = context.observing.means_of(n, 0).size;
    const auto channels = static_cast<size_t>(model.tensor(input).shape.back(0));
    for (const int32_t half : {0, 1}) {
      int64_t* const sums = rewrite_.network().seen.mean_sums.data + context.observing.first_sum(n, half);
      for (size_t i = 0; i < count; ++i) {
        const double sum = static_cast<double>(sums[i]) / static_cast<double>(factors[i % channels]);
        sums[i] = static_cast<int64_t>(sum < -0x1p62 ? -0x1p62 : sum > 0x1p62 ? 0x1p62 : sum);
      }
    }
  }
  return kNoError;
}

Error DepthwiseScales::observe(RecoveryContext& context) {
  for (const int32_t o : observer_of_)
    if (o >= 0) reset(rewrite_.network().seen.observers[static_cast<size_t>(o)]);
  LaneObservers lane;
  lane.observers = rewrite_.network().seen.observers;
  lane.inputs = inputs_;
  Observing observing = context.observing;
  observing.observer_of = observer_of_;
  observing.first_mean = no_means_;
  observing.lanes = {&lane, 1};
  CalibrationState sums = rewrite_.network().seen;
  sums.mean_sums = {};
  sums.inputs = {};
  return observe_again(context, observing, sums, kProbedSamples);
}

Result<Candidate> DepthwiseScales::run(RecoveryContext& context, const Candidate& now) {
  const Network& from = *now.network;
  if (scaling_.groups.channels == 0) return now;
  if (from.seen.sample_count < kFewestSamples) {
    context.guard.not_tried(recovery::kDepthwiseScales, now, RecoveryVerdict::kTooFewSamples);
    return now;
  }
  find_ends(context, from);
  NetworkError before;
  Waiting peaks;
  ITG_TRY(peaks.put_off(scaling_.find_peaks(context, ends_)));
  if (!peaks.error().ok()) {
    ITG_TRY(judge(context, now, before));
    return peaks.error();
  }
  scaling_.find_readers(from.model);
  if (!choose_factors(from.model, from.seen.sample_count)) return now;
  functions_.apply(from.model, scaling_);
  Candidate tried = now;
  ITG_TRY(judge(context, now, before));
  ITG_TRY(scale(context, from));
  ITG_TRY(observe(context));
  tried.network = &rewrite_.network();
  ITG_TRY(judge(context, tried, tried.error));
  const double share = halves_judge(from) ? kWorthwhile : kWorthwhileOnOwn;
  const bool kept = context.guard.keeps(recovery::kDepthwiseScales, before, tried.error, share);
  ITG_TRY(context.build(kept ? tried : now));
  return kept ? context.judged("depthwise scales", tried) : now;
}

Result<Candidate> DepthwiseScales::run_as(RecoveryContext& context, const KeptScales& before,
                                          const Candidate& now) {
  if (before.factors.empty()) return now;
  memcpy(scaling_.factors.data, before.factors.data, before.factors.size * sizeof(float));
  ITG_TRY(scale(context, *now.network));
  for (const int32_t o : observer_of_) {
    if (o < 0) continue;
    TensorObserver& observer = rewrite_.network().seen.observers[static_cast<size_t>(o)];
    const uint32_t samples[] = {observer.samples[0], observer.samples[1]};
    observer = before.observers[static_cast<size_t>(o)];
    memcpy(observer.samples, samples, sizeof samples);
  }
  Candidate scaled = now;
  scaled.network = &rewrite_.network();
  ITG_TRY(context.build(scaled));
  return scaled;
}

// By samples that the ranges do not come from, if there are any. With biases corrected for the rounding of weights: their mean
// errors hide what scales gain.
Error DepthwiseScales::judge(RecoveryContext& context, const Candidate& candidate, NetworkError& error) {
  if (halves_judge(*candidate.network)) return judge_ranges(context, candidate, error);
  Error built;
  context.fp32.threads.hold([&] {
    built = context.bake(candidate, kBothHalves);
    if (!built.ok()) return;
    correct_layers_alone(context);
    built = context.int8.write_and_open();
  });
  ITG_TRY(built);
  return context.judge.ask({"depthwise scales"}, error);
}

}  // namespace intaglio

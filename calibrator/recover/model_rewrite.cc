#include "calibrator/recover/model_rewrite.h"

#include "calibrator/observe/patch_means.h"
#include "calibrator/quantization/slot_map.h"
#include "calibrator/ranges/probes.h"
#include "calibrator/ranges/ranges.h"

namespace intaglio {
namespace {

Error walk(RecoveryContext& context, const Observing& observing, int32_t most_probed) {
  const FloatModel& fp32 = context.fp32;
  const int32_t count = context.samples.count();
  const uint32_t all = context.network->seen.sample_count;
  const bool has = has_probes(fp32.model, all);
  // As many as asked for by their rank, or about as many by their digest where samples elsewhere have no rank.
  const auto is_probed = [&](int32_t i) {
    if (most_probed == INT32_MAX) return true;
    if (all <= kMostRanked) return context.samples.rank(i) < most_probed;
    return uint64_t{context.samples.digest(i).bytes[0]} * all < 256 * static_cast<uint64_t>(most_probed);
  };
  for (int32_t i = 0; i < count; ++i) {
    ITG_TRY(context.step("observing once more", i, count));
    for (const Probe probe : kProbes) {
      if (!has || !is_probed(i)) break;
      ITG_TRY(context.samples.load(i));
      observe_probe(fp32, observing, 0, fp32.executor, probe);
    }
    LaneSample sample;
    sample.index = context.network->seen.sample_count;
    ITG_TRY(context.samples.load(i));
    sample.name.digest = context.samples.digest(i);
    observe_sample(fp32, observing, 0, fp32.executor, sample);
    ITG_TRY(sample.error);
  }
  return kNoError;
}

}  // namespace

Error observe_again(RecoveryContext& context, const Observing& observing, CalibrationState seen,
                    int32_t most_probed) {
  const Sums sums{SumKind::kState, {}, &seen, &context.observing.spare[0], observing.observer_of};
  return context.samples.add_up({"observing once more", context.fp32.model.bytes(), 0, most_probed}, sums,
                                [&] { return walk(context, observing, most_probed); });
}

ModelRewrite::ModelRewrite(const Model& fp32, const CalibrationState& seen, size_t persistent_bytes,
                           Arena& arena) {
  const size_t file_bytes = fp32.bytes().size;
  file_ = {static_cast<uint8_t*>(arena.allocate(file_bytes, kModelAlignment)), file_bytes};
  if (persistent_bytes > 0)
    network_.persistent = {static_cast<uint8_t*>(arena.allocate(persistent_bytes, kMemoryAlignment)),
                           persistent_bytes};
  network_.seen.observers = make_observers(arena, seen.observers.size, bins_of(seen.observers));
  network_.seen.mean_sums = arena.make<int64_t>(seen.mean_sums.size);
}

uint64_t ModelRewrite::bytes(const Model& fp32, size_t persistent_bytes, const CalibratorOptions& options) {
  constexpr size_t kSlack = 256;
  const uint64_t observers = most_observed(fp32, options);
  uint64_t means = 0;
  for (int32_t n = 0; n < fp32.node_count(); ++n) means += mean_count(fp32, n, options);
  return uint64_t{fp32.bytes().size} + persistent_bytes +
         observer_list_bytes(static_cast<size_t>(observers), bins_for(options)) +
         2 * means * sizeof(int64_t) + kSlack;
}

Model ModelRewrite::copy(const Network& from) {
  memcpy(file_.data, from.model.bytes().data, file_.size);
  OpenOptions open;
  open.skip_checksum = true;
  const CalibrationState own = network_.seen;
  network_.seen = from.seen;
  network_.seen.observers = own.observers;
  network_.seen.mean_sums = own.mean_sums;
  network_.scales = from.scales;
  network_.functions = from.functions;
  network_.channels_scaled = from.channels_scaled;
  network_.channels_shifted = from.channels_shifted;
  return network_.model = *Model::open(file_, open);
}

Error ModelRewrite::open(RecoveryContext& context) {
  OpenOptions options;
  options.skip_checksum = true;
  const Result<Model> model = Model::open(file_, options);
  if (!model) return model.error();
  network_.model = *model;
  return context.use(network_);
}

Error ModelRewrite::use_unobserved(RecoveryContext& context, const Network& from) {
  CalibrationState& seen = network_.seen;
  for (size_t i = 0; i < seen.observers.size; ++i) seen.observers[i] = from.seen.observers[i];
  memcpy(seen.mean_sums.data, from.seen.mean_sums.data, seen.mean_sums.size * sizeof(int64_t));
  return open(context);
}

Error ModelRewrite::observe(RecoveryContext& context) {
  CalibrationState& seen = network_.seen;
  for (TensorObserver& observer : seen.observers) reset(observer);
  for (int64_t& sum : seen.mean_sums) sum = 0;
  ITG_TRY(open(context));
  LaneObservers& first = context.observing.lanes[0];
  const LaneObservers elsewhere = first;
  first = {seen.observers, seen.mean_sums, seen.inputs, elsewhere.means};
  CalibrationState sums = seen;
  sums.inputs = {};  // those of the network before
  const Error error = observe_again(context, context.observing, sums, INT32_MAX);
  first = elsewhere;
  return error;
}

Span<float> writable_floats(const TensorInfo& info) {
  return {reinterpret_cast<float*>(const_cast<uint8_t*>(info.constant.data)),
          static_cast<size_t>(info.shape.elements())};
}

}  // namespace intaglio

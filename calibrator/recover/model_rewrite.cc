#include "calibrator/recover/model_rewrite.h"

#include "calibrator/observe/patch_means.h"
#include "calibrator/ranges/probes.h"

namespace intaglio {

ModelRewrite::ModelRewrite(const Model& fp32, const CalibrationState& seen, size_t persistent_bytes,
                           Arena& arena) {
  const size_t file_bytes = fp32.bytes().size;
  file_ = {static_cast<uint8_t*>(arena.allocate(file_bytes, kModelAlignment)), file_bytes};
  if (persistent_bytes > 0)
    persistent_ = {static_cast<uint8_t*>(arena.allocate(persistent_bytes, kMemoryAlignment)),
                   persistent_bytes};
  seen_since_.observers = arena.make<TensorObserver>(seen.observers.size);
  seen_since_.mean_sums = arena.make<int64_t>(seen.mean_sums.size);
}

uint64_t ModelRewrite::bytes(const Model& fp32, size_t persistent_bytes, const CalibratorOptions& options) {
  constexpr size_t kSlack = 256;
  uint64_t observers = 0, means = 0;
  for (int32_t t = 0; t < fp32.tensor_count(); ++t) observers += fp32.tensor(t).is_constant() ? 0 : 1;
  for (int32_t n = 0; n < fp32.node_count(); ++n) means += mean_count(fp32, n, options);
  return uint64_t{fp32.bytes().size} + persistent_bytes + observers * sizeof(TensorObserver) +
         2 * means * sizeof(int64_t) + kSlack;
}

void ModelRewrite::start(const RecoveryContext& context) {
  original_ = context.fp32.model;
  seen_ = context.seen;
}

Model ModelRewrite::copy() const {
  memcpy(file_.data, original_.bytes().data, file_.size);
  OpenOptions open;
  open.skip_checksum = true;
  return *Model::open(file_, open);
}

Error ModelRewrite::go_on_with(RecoveryContext& context, const Model& model, const CalibrationState& seen,
                               const SessionMemory& session_memory) {
  FloatModel& fp32 = context.fp32;
  SessionOptions options;
  options.isa = fp32.isa;
  options.executor = fp32.executor;
  const Result<Session> session = Session::create(model, float_ops(), session_memory, options);
  if (!session) return session.error();
  fp32.model = model;
  fp32.session = *session;
  if (session_memory.persistent.data == fp32.lanes.own().persistent.data) fp32.reference = *session;
  context.seen = seen;
  context.observing.look_into(seen.observers, seen.mean_sums, seen.inputs);
  in_use_ = model.bytes().data != original_.bytes().data;
  return kNoError;
}

Error ModelRewrite::use(RecoveryContext& context) {
  OpenOptions open;
  open.skip_checksum = true;
  const Result<Model> model = Model::open(file_, open);
  if (!model) return model.error();
  CalibrationState seen = seen_;
  seen.observers = seen_since_.observers;
  seen.mean_sums = seen_since_.mean_sums;
  for (TensorObserver& observer : seen.observers) reset(observer);
  for (int64_t& sum : seen.mean_sums) sum = 0;
  const FloatModel& fp32 = context.fp32;
  SessionMemory session = fp32.lanes.own();
  if (!persistent_.empty()) session.persistent = persistent_;
  ITG_TRY(go_on_with(context, *model, seen, session));
  const bool is_probed = has_probes(fp32.model, seen.sample_count);
  for (int32_t i = 0; i < context.samples.count(); ++i) {
    ITG_TRY(context.step("observing once more", i, context.samples.count()));
    if (is_probed) {
      for (const Probe probe : kProbes) {
        ITG_TRY(context.samples.load(i));
        observe_probe(fp32, context.observing, 0, fp32.executor, probe);
      }
    }
    LaneSample sample;
    sample.index = seen.sample_count;
    ITG_TRY(context.samples.load(i));
    sample.name.digest = context.samples.digest(i);
    observe_sample(fp32, context.observing, 0, fp32.executor, sample);
    ITG_TRY(sample.error);
  }
  return kNoError;
}

// The session of a model before this one's own memory was used still stands where it was.
Error ModelRewrite::restore(RecoveryContext& context) {
  return in_use_ ? go_on_with(context, original_, seen_, context.fp32.lanes.own()) : kNoError;
}

Span<float> writable_floats(const TensorInfo& info) {
  return {reinterpret_cast<float*>(const_cast<uint8_t*>(info.constant.data)),
          static_cast<size_t>(info.shape.elements())};
}

}  // namespace intaglio

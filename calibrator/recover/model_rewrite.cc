#include "calibrator/recover/model_rewrite.h"

#include "calibrator/observe/probes.h"

namespace intaglio {

ModelRewrite::ModelRewrite(CalibratorMemory& memory, size_t persistent_bytes, Arena& arena)
    : memory_(&memory) {
  const size_t file_bytes = memory.model.bytes().size;
  file_ = {static_cast<uint8_t*>(arena.allocate(file_bytes, kModelAlignment)), file_bytes};
  if (persistent_bytes > 0)
    persistent_ = {static_cast<uint8_t*>(arena.allocate(persistent_bytes, kMemoryAlignment)),
                   persistent_bytes};
  seen_since_.observers = arena.make<TensorObserver>(memory.seen.observers.size);
  seen_since_.mean_sums = arena.make<int64_t>(memory.seen.mean_sums.size);
}

uint64_t ModelRewrite::bytes(const Model& fp32, size_t persistent_bytes, const CalibratorOptions& options) {
  constexpr size_t kSlack = 256;
  uint64_t observers = 0, means = 0;
  for (int32_t t = 0; t < fp32.tensor_count(); ++t) observers += fp32.tensor(t).is_constant() ? 0 : 1;
  for (int32_t n = 0; n < fp32.node_count(); ++n) means += mean_count(fp32, n, options);
  return uint64_t{fp32.bytes().size} + persistent_bytes + observers * sizeof(TensorObserver) +
         2 * means * sizeof(int64_t) + kSlack;
}

void ModelRewrite::start() {
  original_ = memory_->model;
  seen_ = memory_->seen;
}

Model ModelRewrite::copy() const {
  memcpy(file_.data, original_.bytes().data, file_.size);
  OpenOptions open;
  open.skip_checksum = true;
  return *Model::open(file_, open);
}

Error ModelRewrite::go_on_with(const Model& model, const CalibrationState& seen,
                               const SessionMemory& session_memory) {
  SessionOptions options;
  options.isa = memory_->options.isa;
  options.executor = memory_->options.executor;
  const Result<Session> session = Session::create(model, float_ops(), session_memory, options);
  if (!session) return session.error();
  memory_->model = model;
  memory_->session = *session;
  if (session_memory.persistent.data == memory_->session_memory.persistent.data)
    memory_->reference = *session;
  memory_->seen = seen;
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
  SessionMemory session = memory_->session_memory;
  if (!persistent_.empty()) session.persistent = persistent_;
  ITG_TRY(go_on_with(*model, seen, session));
  const bool is_probed = has_probes(*memory_, seen.sample_count);
  for (int32_t i = 0; i < context.samples.count(); ++i) {
    ITG_TRY(context.step("observing once more", i, context.samples.count()));
    if (is_probed) {
      for (const Probe probe : kProbes) {
        ITG_TRY(context.samples.load(i));
        observe_probe(*memory_, 0, memory_->options.executor, probe);
      }
    }
    LaneSample sample;
    ITG_TRY(context.samples.load(i));
    sample.name.digest = context.samples.digest(i);
    observe_sample(*memory_, 0, memory_->options.executor, sample);
    ITG_TRY(sample.error);
  }
  return kNoError;
}

// The session of a model before this one's own memory was used still stands where it was.
Error ModelRewrite::restore() {
  return in_use_ ? go_on_with(original_, seen_, memory_->session_memory) : kNoError;
}

Span<float> writable_floats(const TensorInfo& info) {
  return {reinterpret_cast<float*>(const_cast<uint8_t*>(info.constant.data)),
          static_cast<size_t>(info.shape.elements())};
}

}  // namespace intaglio

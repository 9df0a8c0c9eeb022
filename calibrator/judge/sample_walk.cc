#include "calibrator/judge/sample_walk.h"

#include "calibrator/judge/evaluate.h"
#include "runtime/liveness.h"

namespace intaglio {

void SampleWalk::start(int32_t most) {
  const Model& model = walked_->model();
  Arena arena = rest_ = memory_;
  used_ = 0;
  live_ = arena.make<Live>(static_cast<size_t>(model.tensor_count()));
  slots_ = {};
  if (arena.exhausted()) return;  // nothing is kept
  size_t count = 0;
  const auto add = [&](int32_t tensor, int32_t written_at) {
    live_[count++] = {tensor, written_at, last_use(model, tensor, written_at)};
  };
  for (const int32_t input : model.inputs()) add(input, -1);
  for (int32_t n = 0; n < model.node_count(); ++n)
    for (const int32_t output : model.node_outputs(n)) add(output, n);
  live_.size = count;

  slot_bytes_ = align_memory(model.activation_bytes());
  const auto samples = static_cast<size_t>(samples_->count());
  reached_ = arena.make<int32_t>(samples);
  slot_of_ = arena.make<int32_t>(samples);
  for (int32_t& slot : slot_of_) slot = -1;
  const size_t left =
      arena.exhausted() || arena.left() < kMemoryAlignment ? 0 : arena.left() - kMemoryAlignment;
  size_t fit = left / slot_bytes_;
  fit = fit < samples ? fit : samples;
  fit = fit < static_cast<size_t>(most) ? fit : static_cast<size_t>(most);
  slots_ = {static_cast<uint8_t*>(arena.allocate(fit * slot_bytes_, kMemoryAlignment)), fit * slot_bytes_};
  if (!arena.exhausted()) rest_ = arena;
}

Error SampleWalk::fetch(Span<const int32_t> which) {
  int32_t wanted[kMaxLanes];
  for (size_t lane = 0; lane < which.size; ++lane) {
    const int32_t i = which[lane];
    wanted[lane] = i < 0 || is_kept(i) ? -1 : i;
    if (wanted[lane] < 0 || used_ * slot_bytes_ >= slots_.size) continue;
    slot_of_[static_cast<size_t>(i)] = static_cast<int32_t>(used_++);
    reached_[static_cast<size_t>(i)] = -1;
  }
  return samples_->load_each({wanted, which.size});
}

Session SampleWalk::bring(int32_t i, const WalkPlace& place, int32_t lane, const Executor& executor) {
  Session here = lanes_->of(*walked_, lane, executor);
  const bool is_fp32 = walked_ == &fp32_->session;
  const auto run = [&](Session& session, int32_t first, int32_t last) {
    is_fp32 ? fp32_->run_nodes(session, first, last) : session.run_nodes(first, last);
  };
  if (!is_kept(i)) {
    if (!is_fp32) copy_inputs(fp32_->on_lane(lane), here);
    run(here, 0, place.node);
    return here;
  }
  Session kept = on_slot(i, lane, executor);
  int32_t& reached = reached_[static_cast<size_t>(i)];
  if (reached < 0) {
    copy_inputs(fp32_->on_lane(lane), kept);
    reached = 0;
  }
  run(kept, reached, place.stand);
  reached = place.stand;
  if (place.node == place.stand) return kept;
  copy_live(kept, here, place.stand);
  run(here, place.stand, place.node);
  return here;
}

Result<Session> SampleWalk::at(int32_t i, const WalkPlace& place) {
  ITG_TRY(fetch({&i, 1}));
  return bring(i, place, 0, fp32_->executor);
}

Session SampleWalk::on_slot(int32_t i, int32_t lane, const Executor& executor) const {
  const auto slot = static_cast<size_t>(slot_of_[static_cast<size_t>(i)]);
  return *walked_->beside({slots_.data + slot * slot_bytes_, slot_bytes_}, lanes_->scratch_of(lane),
                          executor);
}

// Copies the tensors of nodes before `node` that are read from there on.
void SampleWalk::copy_live(const Session& from, const Session& to, int32_t node) const {
  for (const Live& live : live_) {
    if (live.written_at >= node || live.last_use < node) continue;
    const TensorView view = from.tensor(live.tensor);
    memcpy(to.tensor(live.tensor).data, view.data, view.info.bytes());
  }
}

}  // namespace intaglio

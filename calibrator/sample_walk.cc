#include "calibrator/sample_walk.h"

#include "calibrator/evaluate.h"
#include "runtime/liveness.h"

namespace intaglio {

void SampleWalk::start() {
  const Model& model = int8_->session().model();
  Arena arena = memory_;
  live_ = arena.make<Live>(static_cast<size_t>(model.tensor_count()));
  reached_ = {};
  slots_ = {};
  if (arena.exhausted()) return;  // nothing is kept
  size_t count = 0;
  const auto add = [&](int32_t tensor, int32_t written_at) {
    live_[count++] = {tensor, written_at, last_use(model, tensor, written_at)};
  };
  for (const int32_t input : model.inputs()) add(input, -1);
  for (int32_t n = 0; n < model.node_count(); ++n)
    for (const int32_t output : model.node(n).outputs) add(output, n);
  live_.size = count;

  slot_bytes_ = kMemoryAlignment;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const size_t bytes = live_bytes(n);
    slot_bytes_ = bytes > slot_bytes_ ? bytes : slot_bytes_;
  }
  const size_t per_sample = slot_bytes_ + sizeof(int32_t);
  const size_t left = arena.left() < kMemoryAlignment ? 0 : arena.left() - kMemoryAlignment;
  const size_t fit = left / per_sample, all = static_cast<size_t>(samples_->count());
  reached_ = arena.make<int32_t>(fit < all ? fit : all);
  slots_ = arena.make<uint8_t>(reached_.size * slot_bytes_);
  for (int32_t& node : reached_) node = -1;
}

Error SampleWalk::bring(int32_t i, int32_t node) {
  Session& session = int8_->session();
  const auto sample = static_cast<size_t>(i);
  const bool kept = sample < reached_.size;
  int32_t from = 0;
  if (kept && reached_[sample] >= 0) {
    from = reached_[sample];
    copy_live(slots_.data + sample * slot_bytes_, from, false);
  } else {
    ITG_TRY(samples_->load(i));
    copy_inputs(*fp32_, session);
  }
  session.run_nodes(from, node);
  if (!kept) return kNoError;
  copy_live(slots_.data + sample * slot_bytes_, node, true);
  reached_[sample] = node;
  return kNoError;
}

size_t SampleWalk::live_bytes(int32_t node) const {
  size_t bytes = 0;
  for (const Live& live : live_)
    if (live.written_at < node && live.last_use >= node)
      bytes += align_memory(int8_->session().model().tensor(live.tensor).bytes());
  return bytes;
}

void SampleWalk::copy_live(uint8_t* slot, int32_t node, bool save) const {
  for (const Live& live : live_) {
    if (live.written_at >= node || live.last_use < node) continue;
    const TensorView view = int8_->session().tensor(live.tensor);
    const size_t bytes = view.info.bytes();
    if (save) {
      memcpy(slot, view.data, bytes);
    } else {
      memcpy(view.data, slot, bytes);
    }
    slot += align_memory(bytes);
  }
}

}  // namespace intaglio

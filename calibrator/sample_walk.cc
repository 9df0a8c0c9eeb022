#include "calibrator/sample_walk.h"

#include "calibrator/evaluate.h"
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
    for (const int32_t output : model.node(n).outputs) add(output, n);
  live_.size = count;

  slot_bytes_ = kMemoryAlignment;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const size_t bytes = live_bytes(n);
    slot_bytes_ = bytes > slot_bytes_ ? bytes : slot_bytes_;
  }
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

uint8_t* SampleWalk::slot_of(int32_t i) {
  if (slots_.empty()) return nullptr;
  int32_t& slot = slot_of_[static_cast<size_t>(i)];
  if (slot < 0 && used_ * slot_bytes_ < slots_.size) slot = static_cast<int32_t>(used_++);
  return slot < 0 ? nullptr : slots_.data + static_cast<size_t>(slot) * slot_bytes_;
}

Error SampleWalk::bring(int32_t i, int32_t node) {
  int32_t from = 0;
  const bool is_kept = !slots_.empty() && slot_of_[static_cast<size_t>(i)] >= 0;
  if (is_kept) {
    from = reached_[static_cast<size_t>(i)];
    copy_live(slot_of(i), from, false);
  } else {
    ITG_TRY(samples_->load(i));
    if (walked_ != fp32_) copy_inputs(*fp32_, *walked_);
  }
  walked_->run_nodes(from, node);
  if (is_kept && from == node) return kNoError;
  uint8_t* const slot = slot_of(i);
  if (slot == nullptr) return kNoError;
  copy_live(slot, node, true);
  reached_[static_cast<size_t>(i)] = node;
  return kNoError;
}

size_t SampleWalk::live_bytes(int32_t node) const {
  size_t bytes = 0;
  for (const Live& live : live_)
    if (live.written_at < node && live.last_use >= node)
      bytes += align_memory(walked_->model().tensor(live.tensor).bytes());
  return bytes;
}

void SampleWalk::copy_live(uint8_t* slot, int32_t node, bool save) const {
  for (const Live& live : live_) {
    if (live.written_at >= node || live.last_use < node) continue;
    const TensorView view = walked_->tensor(live.tensor);
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

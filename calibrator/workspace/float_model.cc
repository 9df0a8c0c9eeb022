#include "calibrator/workspace/float_model.h"

#include "intaglio/ops.h"

namespace intaglio {

Executor ThreadRegion::executor() {
  Executor executor = caller_;
  if (caller_.parallel_for == nullptr || caller_.region == nullptr || caller_.width == 1) return executor;
  executor.context = this;
  executor.parallel_for = [](void* context, int32_t count, void (*task)(void* argument, int32_t i),
                             void* argument) {
    const auto& self = *static_cast<const ThreadRegion*>(context);
    const Executor& threads = self.ready_ != nullptr ? *self.ready_ : self.caller_;
    threads.parallel_for(threads.context, count, task, argument);
  };
  executor.region = [](void* context, void (*body)(void* argument, const Executor& ready), void* argument) {
    const auto& self = *static_cast<const ThreadRegion*>(context);
    if (self.ready_ != nullptr) return body(argument, *self.ready_);
    self.caller_.region(self.caller_.context, body, argument);
  };
  return executor;
}

void ThreadRegion::run(void (*body)(void* argument), void* argument) {
  if (caller_.parallel_for == nullptr || caller_.region == nullptr || caller_.width == 1 || ready_ != nullptr)
    return body(argument);
  struct Held {
    ThreadRegion* self;
    void (*body)(void* argument);
    void* argument;
  } held = {this, body, argument};
  caller_.region(
      caller_.context,
      [](void* context, const Executor& ready) {
        const Held& h = *static_cast<const Held*>(context);
        h.self->ready_ = &ready;
        h.body(h.argument);
        h.self->ready_ = nullptr;
      },
      &held);
}

Session Lanes::of(const Session& session, int32_t i, const Executor& executor) const {
  if (i == 0) return *session.beside(own_.activations, own_.scratch, executor);
  const Span<uint8_t> scratch = scratch_of(i);
  uint8_t* const activations = scratch.data - align_memory(own_.activations.size);
  return *session.beside({activations, own_.activations.size}, scratch, executor);
}

Span<uint8_t> Lanes::scratch_of(int32_t i) const {
  if (i == 0) return own_.scratch;
  const size_t activations = align_memory(own_.activations.size), scratch = align_memory(own_.scratch.size);
  return {others_.data + static_cast<size_t>(i - 1) * (activations + scratch) + activations,
          own_.scratch.size};
}

namespace {

template <typename Change>
void change_channels(const TensorView& view, Change&& change) {
  const Span<float> values = view.as<float>();
  const auto channels = static_cast<size_t>(view.info.shape.back(0));
  for (size_t at = 0; at < values.size; at += channels)
    for (size_t c = 0; c < channels; ++c) change(values[at + c], c);
}

}  // namespace

Result<Session> FloatModel::create_session(const Model& like, const SessionMemory& memory) const {
  SessionOptions options;
  options.isa = isa;
  options.executor = executor;
  return Session::create(like, float_ops(), memory, options);
}

void FloatModel::run_nodes(Session& of_model, int32_t first, int32_t last) const {
  for (int32_t n = first; n < last && !functions.empty(); ++n) {
    const FunctionFactors factors = factors_of(n);
    if (factors.empty()) continue;
    of_model.run_nodes(first, n);
    change_channels(of_model.tensor(model.node_inputs(n)[0]),
                    [&](float& x, size_t c) { x *= factors.before(c); });
    of_model.run_nodes(n, n + 1);
    change_channels(of_model.tensor(model.node_outputs(n)[0]),
                    [&](float& y, size_t c) { y /= factors.behind(c); });
    first = n + 1;
  }
  of_model.run_nodes(first, last);
}

Error tell(const Progress& progress, const char* stage, int32_t done, int32_t total) {
  const bool go_on = progress.step == nullptr || progress.step(progress.context, stage, done, total);
  return go_on ? kNoError : Error{Status::kCancelled};
}

}  // namespace intaglio

#include "calibrator/calibrator_memory.h"
#include "calibrator/patch_means.h"

namespace intaglio {
namespace {

// One sample, which stands in the session's inputs: runs it and looks at every tensor.
class SampleObservation {
 public:
  SampleObservation(CalibratorMemory& state, int32_t half, float* outputs)
      : state_(state), half_(half), outputs_(outputs) {}

  Error run() {
    const Model& model = state_.model;
    for (size_t i = 0; i < model.inputs().size; ++i) {
      const Span<float> values = state_.session.input(static_cast<int32_t>(i)).as<float>();
      if (!is_picture(static_cast<int32_t>(i), values)) add_values(state_.seen.inputs[i], values);
    }
    for (int32_t n = -1; n < model.node_count(); ++n) {
      if (n >= 0) state_.session.run_nodes(n, n + 1);
      ITG_TRY(look_behind(n));
      for (const OutputTensor& output : state_.outputs)
        if (output.node == n && outputs_ != nullptr)
          memcpy(outputs_ + output.first, state_.session.tensor(output.tensor).data,
                 output.elements * sizeof(float));
    }
    return kNoError;
  }

 private:
  // An array for an image input may hold other values than pixels.
  bool is_picture(int32_t input, Span<const float> values) const {
    for (int32_t i = 0; i < state_.model.image_count(); ++i) {
      const ImageInput image = state_.model.image(i);
      if (image.input != input) continue;
      const Extremes seen = extremes_of(values);
      const Range pixels = range_of_pixels(image);
      return static_cast<double>(seen.min) >= pixels.lo && static_cast<double>(seen.max) <= pixels.hi;
    }
    return false;
  }

  // What node `n` has written, or the model's inputs, and what the node behind it will read: side by side.
  Error look_behind(int32_t n) {
    const Model& model = state_.model;
    const Span<double> means = n + 1 < model.node_count() ? state_.means_of(n + 1) : Span<double>();
    Error error;
    parallel_for(state_.options.executor, means.empty() ? 1 : 2, [&](int32_t task) {
      if (task == 0) {
        error = observe_all(n < 0 ? model.inputs() : model.node(n).outputs, n);
      } else {
        patch_means(state_.session, n + 1, means);
      }
    });
    if (!error.ok() || means.empty()) return error;
    int64_t* const sums = state_.seen.mean_sums.data + state_.first_mean[static_cast<size_t>(n + 1)];
    for (size_t i = 0; i < means.size; ++i) add_mean(sums[i], means[i]);
    return kNoError;
  }

  Error observe_all(Span<const int32_t> tensors, int32_t node) {
    for (const int32_t tensor : tensors) {
      const Span<float> values = state_.session.tensor(tensor).as<float>();
      const Extremes extremes = extremes_of(values);
      if (!extremes.finite)
        return {Status::kNonFiniteActivation, node, tensor, state_.seen.sample_count,
                first_non_finite(values)};
      const int32_t observer = state_.observer_of[static_cast<size_t>(tensor)];
      if (observer < 0) continue;
      observe(state_.seen.observers[static_cast<size_t>(observer)], values, extremes, half_,
              state_.spare[0].halves[0]);
    }
    return kNoError;
  }

  CalibratorMemory& state_;
  int32_t half_;
  float* outputs_;  // room for the outputs' values; nullptr: they are not kept
};

}  // namespace

Error observe_sample(CalibratorMemory& memory, int32_t half, float* outputs) {
  return SampleObservation(memory, half, outputs).run();
}

}  // namespace intaglio

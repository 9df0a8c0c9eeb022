#include "calibrator/ranges/probes.h"

#include "calibrator/ranges/auto_rules.h"

namespace intaglio {
namespace {

// [height, width, channels] of one picture.
struct Picture {
  float* values;
  int64_t height, width, channels;

  void swap(int64_t a, int64_t b) const {  // pixels
    for (int64_t c = 0; c < channels; ++c) {
      const float kept = values[a * channels + c];
      values[a * channels + c] = values[b * channels + c];
      values[b * channels + c] = kept;
    }
  }

  void mirror() const {
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width / 2; ++x) swap(y * width + x, y * width + width - 1 - x);
  }

  // Fisher and Yates, by a linear congruential generator (Numerical Recipes).
  void shuffle() const {
    uint32_t random = 12345;
    for (int64_t last = height * width - 1; last > 0; --last) {
      random = random * 1664525u + 1013904223u;
      swap(last, static_cast<int64_t>(uint64_t{random} * static_cast<uint64_t>(last + 1) >> 32));
    }
  }
};

bool has_few_positions(const Shape& shape) {
  return shape.rank > 0 && shape.elements(0, shape.rank - 1) <= kAutoRules.probes.most_positions;
}

}  // namespace

bool has_probes(const Model& model, int64_t samples) {
  if (samples >= kAutoRules.probes.samples || model.inputs().size != 1) return false;
  const TensorInfo input = model.tensor(model.inputs()[0]);
  const Shape shape = input.shape;
  if (input.dtype != DType::kF32 || shape.rank != 4 || shape[0] != 1) return false;
  // Three channels of places are colours whether or not the model says how pixels become values.
  return model.image_count() == 1 || (shape[3] == 3 && shape[1] > 1 && shape[2] > 1);
}

void observe_probe(const FloatModel& fp32, const Observing& observing, int32_t lane, const Executor& executor,
                   Probe probe) {
  Session session = fp32.on_lane(lane, executor);
  const Model& model = fp32.model;
  const Span<float> values = session.input(0).as<float>();
  const Shape shape = model.tensor(model.inputs()[0]).shape;
  const Picture picture{values.data, shape[1], shape[2], shape[3]};
  probe == Probe::kMirrored ? picture.mirror() : picture.shuffle();
  const Span<TensorObserver> observers = observing.lanes[static_cast<size_t>(lane)].observers;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    fp32.run_nodes(session, n, n + 1);
    for (const int32_t tensor : model.node_outputs(n)) {
      const int32_t observer = observing.observer_of[static_cast<size_t>(tensor)];
      if (observer < 0 || !has_few_positions(model.tensor(tensor).shape)) continue;
      const Extremes reached = extremes_of(session.tensor(tensor).as<float>(), *observing.observe);
      if (reached.finite) add_probe(observers[static_cast<size_t>(observer)], reached);
    }
  }
}

}  // namespace intaglio

#include "calibrator/observe/observe_sample.h"

#include "calibrator/observe/patch_means.h"

namespace intaglio {
namespace {

// One sample, which stands in the inputs of a lane: runs it and observes every tensor.
class SampleObservation {
 public:
  SampleObservation(const FloatModel& fp32, const Observing& observing, int32_t lane,
                    const Executor& executor, LaneSample& sample)
      : fp32_(fp32),
        model_(fp32.model),
        observing_(observing),
        lane_(lane),
        executor_(executor),
        sample_(sample),
        session_(fp32.on_lane(lane, executor)),
        into_(observing.lanes[static_cast<size_t>(lane)]) {}

  Error run() {
    for (size_t i = 0; i < model_.inputs().size; ++i) {
      const auto input = static_cast<int32_t>(i);
      add_sample(into_.inputs[i], model_, input, session_.input(input).as<float>());
    }
    for (int32_t n = -1; n < model_.node_count(); ++n) {
      if (n >= 0) fp32_.run_nodes(session_, n, n + 1);
      ITG_TRY(observe_behind(n));
      for (const OutputTensor& output : observing_.outputs)
        if (output.node == n && sample_.outputs != nullptr)
          memcpy(sample_.outputs + output.first, session_.tensor(output.tensor).data,
                 output.elements * sizeof(float));
    }
    return kNoError;
  }

 private:
  // Observes what node `n` has written, or the model's inputs, and what the node behind it will read: in one pass
  // where that is the same and there are no threads to do it side by side.
  Error observe_behind(int32_t n) {
    const Span<const int32_t> written = n < 0 ? model_.inputs() : model_.node_outputs(n);
    const Span<double> means =
        n + 1 < model_.node_count() ? observing_.means_of(n + 1, lane_) : Span<double>();
    if (means.empty()) return observe_all(written, n, -1);
    const NodeInfo reader = model_.node(n + 1);
    int32_t together = -1;
    for (const int32_t tensor : written)
      if (tensor == reader.inputs[0] && executor_.parallel_for == nullptr &&
          can_observe_by_rows(model_, reader))
        together = tensor;
    Error error;
    parallel_for(executor_, together < 0 ? 2 : 1, [&](int32_t task) {
      if (task == 0) {
        error = observe_all(written, n, together);
      } else {
        patch_means(session_, n + 1, *observing_.patch_sums, means);
      }
    });
    ITG_TRY(error);
    int64_t* const sums = into_.mean_sums.data + observing_.first_sum(n + 1, half_of(sample_.name.digest));
    add_means(sums, means, kSavedMeanBits);
    return kNoError;
  }

  // `together`: the tensor that is observed while the means of node + 1 are taken, or -1.
  Error observe_all(Span<const int32_t> tensors, int32_t node, int32_t together) {
    for (const int32_t tensor : tensors) {
      if (model_.tensor(tensor).dtype != DType::kF32) continue;  // integers have no scale
      const Span<float> values = session_.tensor(tensor).as<float>();
      const int32_t observer = observing_.observer_of[static_cast<size_t>(tensor)];
      TensorPass pass(observer < 0 ? nullptr : &into_.observers[static_cast<size_t>(observer)], values.size,
                      half_of(sample_.name.digest),
                      {*observing_.observe, observing_.spare[static_cast<size_t>(lane_)]});
      bool finite;
      if (tensor == together) {
        finite = observe_with_means(session_, node + 1, *observing_.patch_sums, pass,
                                    observing_.means_of(node + 1, lane_));
      } else {
        finite = pass.add(values);
        if (finite) pass.finish();
      }
      if (!finite)
        return {Status::kNonFiniteActivation, node, tensor, sample_.index, first_non_finite(values)};
    }
    return kNoError;
  }

  const FloatModel& fp32_;
  const Model& model_;
  const Observing& observing_;
  int32_t lane_;
  Executor executor_;
  LaneSample& sample_;
  Session session_;
  const LaneObservers& into_;
};

}  // namespace

Span<double> Observing::means_of(int32_t node, int32_t lane) const {
  const auto n = static_cast<size_t>(node);
  const size_t end = n + 1 < first_mean.size ? first_mean[n + 1] : lanes[0].mean_sums.size / halves;
  return {lanes[static_cast<size_t>(lane)].means.data, end - first_mean[n]};
}

SampleName name_of(const Session& session, const Sha256Kernel& kernel) {
  Sha256 sha(kernel);
  SampleName name;
  for (const int32_t input : session.model().inputs()) {
    const TensorView view = session.tensor(input);
    sha.update(view.data, view.info.bytes());
    name.fingerprint = fingerprint(name.fingerprint, view.data, view.info.bytes());
  }
  name.digest = sha.finish();
  return name;
}

void observe_sample(const FloatModel& fp32, const Observing& observing, int32_t lane,
                    const Executor& executor, LaneSample& sample) {
  sample.error = SampleObservation(fp32, observing, lane, executor, sample).run();
}

void merge_lanes(const Observing& observing) {
  const LaneObservers& seen = observing.lanes[0];
  for (size_t lane = 1; lane < observing.lanes.size; ++lane) {
    const LaneObservers& state = observing.lanes[lane];
    for (size_t i = 0; i < seen.observers.size; ++i) {
      TensorObserver& observer = state.observers[i];
      if (observer.samples[0] + observer.samples[1] == 0) continue;
      merge(seen.observers[i], observer);
      reset(observer);
    }
    for (size_t i = 0; i < seen.mean_sums.size; ++i) {
      seen.mean_sums[i] = order_free_sum(seen.mean_sums[i], state.mean_sums[i]);
      state.mean_sums[i] = 0;
    }
    for (size_t i = 0; i < seen.inputs.size; ++i) {
      merge(seen.inputs[i], state.inputs[i]);
      state.inputs[i] = InputValues();
    }
  }
}

}  // namespace intaglio

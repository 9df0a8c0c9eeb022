#include "calibrator/calibrator_memory.h"
#include "calibrator/observe/patch_means.h"

namespace intaglio {
namespace {

// One sample, which stands in the inputs of a lane: runs it and looks at every tensor.
class SampleObservation {
 public:
  SampleObservation(CalibratorMemory& memory, int32_t lane, const Executor& executor, LaneSample& sample)
      : memory_(memory),
        lane_(lane),
        executor_(executor),
        sample_(sample),
        session_(memory.lanes.of(memory.session, lane, executor)),
        observers_(lane == 0 ? memory.seen.observers
                             : memory.lane_states[static_cast<size_t>(lane)].observers),
        mean_sums_(lane == 0 ? memory.seen.mean_sums
                             : memory.lane_states[static_cast<size_t>(lane)].mean_sums),
        inputs_(lane == 0 ? memory.seen.inputs : memory.lane_states[static_cast<size_t>(lane)].inputs) {}

  Error run() {
    const Model& model = memory_.model;
    for (size_t i = 0; i < model.inputs().size; ++i) {
      const auto input = static_cast<int32_t>(i);
      add_sample(inputs_[i], model, input, session_.input(input).as<float>());
    }
    for (int32_t n = -1; n < model.node_count(); ++n) {
      if (n >= 0) session_.run_nodes(n, n + 1);
      ITG_TRY(look_behind(n));
      for (const OutputTensor& output : memory_.outputs)
        if (output.node == n && sample_.outputs != nullptr)
          memcpy(sample_.outputs + output.first, session_.tensor(output.tensor).data,
                 output.elements * sizeof(float));
    }
    return kNoError;
  }

 private:
  // What node `n` has written, or the model's inputs, and what the node behind it will read: in one pass
  // where that is the same and there are no threads to do it side by side.
  Error look_behind(int32_t n) {
    const Model& model = memory_.model;
    const Span<const int32_t> written = n < 0 ? model.inputs() : model.node(n).outputs;
    const Span<double> means = n + 1 < model.node_count() ? memory_.means_of(n + 1, lane_) : Span<double>();
    if (means.empty()) return observe_all(written, n, -1);
    const NodeInfo reader = model.node(n + 1);
    int32_t together = -1;
    for (const int32_t tensor : written)
      if (tensor == reader.inputs[0] && executor_.parallel_for == nullptr && can_look_by_rows(model, reader))
        together = tensor;
    Error error;
    parallel_for(executor_, together < 0 ? 2 : 1, [&](int32_t task) {
      if (task == 0) {
        error = observe_all(written, n, together);
      } else {
        patch_means(session_, n + 1, *memory_.patch_sums, means);
      }
    });
    ITG_TRY(error);
    int64_t* const sums = mean_sums_.data + memory_.first_sum(n + 1, half_of(sample_.name.digest));
    add_means(sums, means);
    return kNoError;
  }

  // `together`: the tensor that is looked at while the means of node + 1 are taken, or -1.
  Error observe_all(Span<const int32_t> tensors, int32_t node, int32_t together) {
    Histogram& scratch = memory_.spare[static_cast<size_t>(lane_)].halves[0];
    for (const int32_t tensor : tensors) {
      const Span<float> values = session_.tensor(tensor).as<float>();
      const int32_t observer = memory_.observer_of[static_cast<size_t>(tensor)];
      TensorLook look(observer < 0 ? nullptr : &observers_[static_cast<size_t>(observer)], values.size,
                      half_of(sample_.name.digest), {*memory_.observe, scratch});
      bool finite;
      if (tensor == together) {
        finite = observe_with_means(session_, node + 1, *memory_.patch_sums, look,
                                    memory_.means_of(node + 1, lane_));
      } else {
        finite = look.add(values);
        if (finite) look.finish();
      }
      if (!finite)
        return {Status::kNonFiniteActivation, node, tensor, int64_t{memory_.seen.sample_count} + lane_,
                first_non_finite(values)};
    }
    return kNoError;
  }

  CalibratorMemory& memory_;
  int32_t lane_;
  Executor executor_;
  LaneSample& sample_;
  Session session_;
  Span<TensorObserver> observers_;
  Span<int64_t> mean_sums_;
  Span<InputValues> inputs_;
};

}  // namespace

void observe_sample(CalibratorMemory& memory, int32_t lane, const Executor& executor, LaneSample& sample) {
  sample.error = SampleObservation(memory, lane, executor, sample).run();
}

void merge_lanes(CalibratorMemory& memory) {
  const CalibrationState& seen = memory.seen;
  for (size_t lane = 1; lane < memory.lane_states.size; ++lane) {
    const LaneState& state = memory.lane_states[lane];
    for (size_t i = 0; i < seen.observers.size; ++i) {
      TensorObserver& observer = state.observers[i];
      if (observer.samples[0] + observer.samples[1] == 0) continue;
      merge(seen.observers[i], observer);
      reset(observer);
    }
    for (size_t i = 0; i < seen.mean_sums.size; ++i) {
      seen.mean_sums[i] += state.mean_sums[i];
      state.mean_sums[i] = 0;
    }
    for (size_t i = 0; i < seen.inputs.size; ++i) {
      merge(seen.inputs[i], state.inputs[i]);
      state.inputs[i] = InputValues();
    }
  }
}

}  // namespace intaglio

// A sample runs through the FP32 network, and every tensor is observed.
#pragma once

#include "calibrator/observe/input_values.h"
#include "calibrator/observe/observer.h"
#include "calibrator/observe/output_tensors.h"
#include "calibrator/workspace/float_model.h"
#include "kernels/observe/patch_sums.h"

namespace intaglio {

// The observers of one lane.
struct LaneObservers {
  Span<TensorObserver> observers;
  Span<int64_t> mean_sums;
  Span<InputValues> inputs;
  Span<double> means;  // of one layer, while it is worked on
};

// The sessions that observe samples, and the observers that they fill.
struct Observing {
  const ObserveF32Kernel* observe = nullptr;
  const PatchSumsKernel* patch_sums = nullptr;
  const Sha256Kernel* sha256 = nullptr;
  Span<int32_t>
      observer_of;  // of each tensor: index into a lane's observers, or -1: no slot's range hangs on it
  Span<size_t> first_mean;     // of each node: where its patch means start in each half of a lane's mean_sums
  Span<LaneObservers> lanes;   // the first one's lists but `means` are those of the calibration's state
  Span<TensorObserver> spare;  // one a lane
  Span<const OutputTensor> outputs;

  uint32_t halves = 2;  // that are told apart

  // The first lane adds to these from now on.
  void look_into(Span<TensorObserver> observers, Span<int64_t> mean_sums, Span<InputValues> inputs) {
    lanes[0] = {observers, mean_sums, inputs, lanes[0].means};
  }
  // Room for a node's patch means on a lane; empty for a node without weights.
  Span<double> means_of(int32_t node, int32_t lane) const;
  size_t first_sum(int32_t node, int32_t half) const {
    const bool is_behind = half == 1 && halves == 2;
    return first_mean[static_cast<size_t>(node)] + (is_behind ? lanes[0].mean_sums.size / 2 : 0);
  }
};

// A sample that stands in the inputs of a lane of the FP32 session.
struct LaneSample {
  int64_t index = 0;  // that an error names
  SampleName name;
  float* outputs = nullptr;  // gets the values of Observing::outputs; nullptr: they are not kept
  Error error;
};

SampleName name_of(const Session& session, const Sha256Kernel& kernel);

// Runs the sample of this lane and adds every tensor to what the lane has seen. Lanes may run at once, each
// with the serial executor.
void observe_sample(const FloatModel& fp32, const Observing& observing, int32_t lane,
                    const Executor& executor, LaneSample& sample);
// Adds the lists of the other lanes to the first one's.
void merge_lanes(const Observing& observing);

}  // namespace intaglio

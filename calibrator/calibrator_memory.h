// What a Calibrator keeps, and the steps that its finish() is made of.
#pragma once

#include "calibrator/bake/bake.h"
#include "calibrator/bake/graph.h"
#include "calibrator/observe/output_tensors.h"
#include "calibrator/quantization/slot_map.h"
#include "calibrator/state/calibration_state.h"
#include "calibrator/workspace/lanes.h"
#include "calibrator/workspace/thread_region.h"
#include "intaglio/calibrator.h"
#include "kernels/observe/patch_sums.h"

namespace intaglio {

// What one lane sees of its samples. The first lane's observers and sums are those of CalibratorMemory::seen.
struct LaneState {
  Span<TensorObserver> observers;
  Span<int64_t> mean_sums;
  Span<InputValues> inputs;
  Span<double> means;  // of one layer, while it is worked on
};

struct CalibratorMemory {
  Model model;                             // FP32
  CalibratorOptions options;               // its executor: that of `threads`
  RangeMethod asked = RangeMethod::kAuto;  // by the caller; options.method is the one in use
  const ObserveF32Kernel* observe = nullptr;
  const PatchSumsKernel* patch_sums = nullptr;
  const Sha256Kernel* sha256 = nullptr;
  ThreadRegion threads;
  Session session;
  SessionMemory session_memory;
  Lanes lanes;                // of the session, as many as lane_states
  Arena slot_memory;          // all of it, whatever has been made there
  SlotMap slots;              // of the last choose_params()
  Span<int32_t> observer_of;  // of each tensor: index into seen.observers, or -1: no slot's range hangs on it
  Span<size_t> first_mean;    // of each node: where its patch means start in each half of seen.mean_sums
  Span<LaneState> lane_states;
  Span<TensorObserver> spare;  // one a lane
  CalibrationState seen;
  // What errors are measured against: `session`, or where that is of a model whose outputs may differ in a
  // bit, the session of the model before it.
  Session reference;
  bool channels_scaled = false;   // whether model and seen are those of an equalized model
  bool channels_shifted = false;  // whether they are those of one with biases absorbed
  bool graph_is_named = false;    // whether seen.graph is known yet
  Error fault;                    // of a sample that cannot be taken back
  // finish() makes a model that is judged, and never handed over: its bytes are not written anew, reopened and
  // replayed, and their checksum is that of the model as it was baked.
  bool rehearses = false;
  uint32_t samples_elsewhere = 0;  // that will calibrate with these, for what depends on how many there are
  Span<const OutputTensor> outputs;
  Span<float> exact_outputs;  // of one sample a lane
  ReferenceOutputs references;
  Span<RecoveryRecord> records;
  Span<uint8_t> output;  // memory of finish()
  int32_t step = 0;      // of steps_of(), from 0
  CalibrationReport report;
  Span<TensorObserver> reported;  // seen's, or those of the rewritten model that finish() handed over

  // Room for a node's patch means on a lane; empty for a node without weights.
  Span<double> means_of(int32_t node, int32_t lane) const;
  size_t first_sum(int32_t node, int32_t half) const {
    return first_mean[static_cast<size_t>(node)] + (half == 0 ? 0 : seen.mean_sums.size / 2);
  }
  int32_t lane_count() const { return static_cast<int32_t>(lane_states.size); }
  void name_graph();
};

template <typename Bytes>
constexpr Bytes align_memory(Bytes bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

// Bytes of what create() makes beside the session.
uint64_t observer_bytes(const Model& model, const CalibratorOptions& options);
// Bytes of all that finish() makes.
uint64_t output_bytes(const Model& model, const SessionNeeds& session, const CalibratorOptions& options);

// Steps of a calibration, in order: the samples with the first int8 model, each recovery that is asked for,
// the report.
int32_t steps_of(const CalibratorOptions& options);

// What the sink gets; see finish.cc.
Error finish_calibration(CalibratorMemory& memory, const ModelSink& sink, const SampleSource* source);

// A sample that stands in the inputs of a lane of the FP32 session.
struct LaneSample {
  SampleName name;
  float* outputs = nullptr;  // gets the values of memory.outputs; nullptr: they are not kept
  Error error;
};

// Runs the sample of this lane and adds every tensor to what the lane has seen. Lanes may run at once, each
// with the serial executor.
void observe_sample(CalibratorMemory& memory, int32_t lane, const Executor& executor, LaneSample& sample);
// What the other lanes have seen goes over to memory.seen.
void merge_lanes(CalibratorMemory& memory);

// Mean inputs that are kept of a node; 0 where it has no weights or stays in FP32.
size_t mean_count(const Model& model, int32_t node, const CalibratorOptions& options);

// Sizes of the model's inputs, one behind the other.
size_t input_bytes(const Model& model);

}  // namespace intaglio

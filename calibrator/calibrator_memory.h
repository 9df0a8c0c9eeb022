// What a Calibrator keeps, and the steps that its finish() is made of.
#pragma once

#include "calibrator/bake.h"
#include "calibrator/calibration_state.h"
#include "calibrator/graph.h"
#include "calibrator/output_tensors.h"
#include "calibrator/slot_map.h"
#include "calibrator/thread_region.h"
#include "intaglio/calibrator.h"

namespace intaglio {

struct CalibratorMemory {
  Model model;                             // FP32
  CalibratorOptions options;               // its executor: that of `threads`
  RangeMethod asked = RangeMethod::kAuto;  // by the caller; options.method is the one in use
  ThreadRegion threads;
  Session session;
  SessionMemory session_memory;
  Arena slot_memory;          // all of it, whatever has been made there
  SlotMap slots;              // of the last choose_params()
  Span<int32_t> observer_of;  // of each tensor: index into seen.observers, or -1: no slot's range hangs on it
  Span<size_t> first_mean;    // of each node: where its patch means start in seen.mean_sums
  Span<double> means;         // of one layer, while it is worked on
  Span<TensorObserver> spare;
  CalibrationState seen;
  bool channels_scaled = false;  // whether model and seen are those of an equalized model
  bool graph_is_named = false;  // whether seen.graph is known yet
  Error fault;                  // of a sample that cannot be taken back
  Span<const OutputTensor> outputs;
  Span<float> exact_outputs;  // of one sample
  ReferenceOutputs references;
  Span<RecoveryRecord> records;
  Span<uint8_t> output;  // memory of finish()
  CalibrationReport report;

  Span<double> means_of(int32_t node);  // room for a node's patch means; empty for a node without weights
  void name_graph();
};

constexpr size_t align_memory(size_t bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

// Bytes of what create() makes beside the session.
size_t observer_bytes(const Model& model, const CalibratorOptions& options);
// Bytes of all that finish() makes.
size_t output_bytes(const Model& model, const SessionNeeds& session, const CalibratorOptions& options);

// What the sink gets; see finish.cc.
Error finish_calibration(CalibratorMemory& memory, const ModelSink& sink, const SampleSource* source);

// Runs the sample that stands in the FP32 session's inputs, and adds every tensor to what has been seen in
// `half` of the samples. `outputs`: gets the values of memory.outputs; or nullptr.
Error observe_sample(CalibratorMemory& memory, int32_t half, float* outputs);
// Mean inputs that are kept of a node; 0 where it has no weights or stays in FP32.
size_t mean_count(const Model& model, int32_t node, const CalibratorOptions& options);

// Sizes of the model's inputs, one behind the other.
size_t input_bytes(const Model& model);

}  // namespace intaglio

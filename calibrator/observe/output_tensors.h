// Where the error of a network is taken, and the FP32 values there of samples seen: a sample that comes again
// then needs no FP32 run.
#pragma once

#include "calibrator/observe/digest.h"
#include "calibrator/workspace/arena.h"
#include "intaglio/session.h"

namespace intaglio {

// An output of the FP32 model, or what its last operator reads where that is a softmax or gives indices.
struct OutputTensor {
  int32_t tensor = -1;
  int32_t node = -1;  // that writes it; -1 for a model input
  size_t first = 0;   // of its values among those of all outputs of a sample
  size_t elements = 0;
};

// The tensor of one output of the model; `first` is 0. Without elements where no FP32 value stands behind it.
OutputTensor output_tensor(const Model& model, int32_t output);

// How many tensors output_tensors() gives.
size_t output_parts(const Model& model);

// One a model output, by ascending node. Of an output that a Concat joins, through nothing that changes values: one a part, so that
// small values are not judged by large ones beside them.
Span<const OutputTensor> output_tensors(const Model& model, Arena& arena);

// Values of all of them.
size_t output_elements(Span<const OutputTensor> outputs);

// A sample by its content: the fingerprint finds its digest again.
struct SampleName {
  Digest digest;
  uint64_t fingerprint = 0;
};

class ReferenceOutputs {
 public:
  ReferenceOutputs() = default;
  ReferenceOutputs(Span<const OutputTensor> outputs, Span<uint8_t> memory);

  static size_t bytes_per_sample(Span<const OutputTensor> outputs);

  // Room for the values of a sample that keep() may get `ahead` samples from now; nullptr where there is
  // none.
  float* room(size_t ahead) const;
  // `values` in the memory that room() gave, or nullptr. Those of a sample that is known are not kept again.
  void keep(const SampleName& sample, const float* values);
  // nullptr where they were not kept.
  const float* find(const Digest& sample) const;
  const Digest* find_digest(uint64_t fingerprint) const;
  // Memory that no sample's values take.
  Span<uint8_t> rest() const;

 private:
  uint8_t* entry(size_t i) const { return memory_.data + i * stride_; }
  const SampleName& name(size_t i) const { return *reinterpret_cast<const SampleName*>(entry(i)); }

  Span<uint8_t> memory_;
  size_t stride_ = 1, count_ = 0;
};

}  // namespace intaglio

#include "calibrator/observe/output_tensors.h"

#include "calibrator/quantization/int8_nodes.h"
#include "calibrator/workspace/float_model.h"
#include "runtime/liveness.h"
#include "runtime/op_search.h"

namespace intaglio {

OutputTensor output_tensor(const Model& model, int32_t tensor) {
  int32_t writer = writer_of(model, tensor);
  // Indices have no error of their own: what they are chosen by has.
  while (writer >= 0 && model.tensor(tensor).dtype != DType::kF32) {
    tensor = model.node_inputs(writer)[0];
    writer = writer_of(model, tensor);
  }
  if (model.tensor(tensor).dtype != DType::kF32) return {tensor, writer, 0, 0};
  const OpDef* const def = writer < 0 ? nullptr : find_op(float_ops(), model, model.node(writer));
  // Scores that one class has won say nothing of the others. Every other output is judged as the caller reads it.
  if (def != nullptr && def->quant.table == TableRule::kSoftmax) {
    tensor = model.node_inputs(writer)[0];
    writer = writer_of(model, tensor);
  }
  return {tensor, writer, 0, static_cast<size_t>(model.tensor(tensor).shape.elements())};
}

namespace {

constexpr int32_t kMostJoins = 8;

// The node that computed a tensor's values, before any that only moved them; -1: a model input.
int32_t maker_of(const Model& model, int32_t tensor) {
  int32_t writer = writer_of(model, tensor);
  for (int32_t i = 0; i < kMostNodesBetween && writer >= 0; ++i) {
    const NodeInfo node = model.node(writer);
    const OpDef* const def = find_op(float_ops(), model, node);
    if (def == nullptr || def->quant.output != OutputRule::kSameAsInput || node.inputs[0] < 0) break;
    if (model.tensor(node.inputs[0]).shape.elements() != model.tensor(node.outputs[0]).shape.elements())
      break;
    writer = writer_of(model, node.inputs[0]);
  }
  return writer;
}

// Calls visit(part) for what `whole` is judged by.
template <typename Visit>
void for_each_part(const Model& model, const OutputTensor& whole, int32_t depth, Visit&& visit) {
  const int32_t maker = whole.elements == 0 ? -1 : maker_of(model, whole.tensor);
  if (maker < 0 || depth == kMostJoins || !joins(model, maker)) return visit(whole);
  for (const int32_t input : model.node_inputs(maker)) {
    const TensorInfo info = model.tensor(input);
    if (info.is_constant()) continue;
    for_each_part(model, {input, writer_of(model, input), 0, static_cast<size_t>(info.shape.elements())},
                  depth + 1, visit);
  }
}

template <typename Visit>
void for_each_part(const Model& model, Visit&& visit) {
  for (const int32_t output : model.outputs()) for_each_part(model, output_tensor(model, output), 0, visit);
}

}  // namespace

size_t output_parts(const Model& model) {
  size_t count = 0;
  for_each_part(model, [&count](const OutputTensor&) { ++count; });
  return count;
}

Span<const OutputTensor> output_tensors(const Model& model, Arena& arena) {
  const Span<OutputTensor> outputs = arena.make<OutputTensor>(output_parts(model));
  if (outputs.empty()) return {};
  size_t i = 0;
  for_each_part(model, [&](const OutputTensor& made) {
    size_t at = i++;
    for (; at > 0 && outputs[at - 1].node > made.node; --at) outputs[at] = outputs[at - 1];
    outputs[at] = made;
  });
  size_t first = 0;
  for (OutputTensor& output : outputs) {
    output.first = first;
    first += output.elements;
  }
  return outputs;
}

size_t output_elements(Span<const OutputTensor> outputs) {
  return outputs.empty() ? 0 : outputs[outputs.size - 1].first + outputs[outputs.size - 1].elements;
}

ReferenceOutputs::ReferenceOutputs(Span<const OutputTensor> outputs, Span<uint8_t> memory)
    : memory_(memory), stride_(bytes_per_sample(outputs)) {}

size_t ReferenceOutputs::bytes_per_sample(Span<const OutputTensor> outputs) {
  return align_memory(sizeof(SampleName) + output_elements(outputs) * sizeof(float));
}

float* ReferenceOutputs::room(size_t ahead) const {
  const size_t at = count_ + ahead;
  return at < memory_.size / stride_ ? reinterpret_cast<float*>(entry(at) + sizeof(SampleName)) : nullptr;
}

void ReferenceOutputs::keep(const SampleName& sample, const float* values) {
  if (values == nullptr || find(sample.digest) != nullptr) return;
  memcpy(entry(count_), &sample, sizeof sample);
  memmove(entry(count_) + sizeof sample, values, stride_ - sizeof sample);
  ++count_;
}

const float* ReferenceOutputs::find(const Digest& sample) const {
  for (size_t i = 0; i < count_; ++i)
    if (name(i).digest == sample) return reinterpret_cast<const float*>(entry(i) + sizeof(SampleName));
  return nullptr;
}

const Digest* ReferenceOutputs::find_digest(uint64_t fingerprint) const {
  for (size_t i = 0; i < count_; ++i)
    if (name(i).fingerprint == fingerprint) return &name(i).digest;
  return nullptr;
}

Span<uint8_t> ReferenceOutputs::rest() const {
  const size_t used = count_ * stride_;
  return {memory_.data + used, memory_.size - used};
}

}  // namespace intaglio

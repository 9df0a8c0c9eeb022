#include "cli/sample_buffer.h"

#include <cstring>

namespace intaglio::cli {
namespace {

size_t aligned(size_t bytes) { return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment; }

}  // namespace

size_t SampleBuffer::bytes(const Model& model) {
  size_t bytes = 0;
  for (const int32_t input : model.inputs()) bytes += aligned(model.tensor(input).bytes());
  return bytes;
}

SampleBuffer::SampleBuffer(const Model& model, uint8_t* memory) {
  for (const int32_t input : model.inputs()) {
    TensorView view;
    view.info = model.tensor(input);
    view.data = memory;
    views_.push_back(view);
    inputs_.push_back({memory, view.info.bytes()});
    memory += aligned(view.info.bytes());
  }
}

void fill_inputs(Session& session, Span<const Span<const uint8_t>> inputs) {
  for (size_t j = 0; j < inputs.size; ++j)
    std::memcpy(session.input(static_cast<int32_t>(j)).data, inputs[j].data, inputs[j].size);
}

}  // namespace intaglio::cli

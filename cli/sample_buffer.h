// One sample outside of any session, as it is kept and handed on.
#pragma once

#include <vector>

#include "intaglio/session.h"

namespace intaglio::cli {

// The values of all inputs of a model, in memory of bytes() that outlives this.
class SampleBuffer {
 public:
  static size_t bytes(const Model& model);
  SampleBuffer(const Model& model, uint8_t* memory);

  Span<const TensorView> views() const { return {views_.data(), views_.size()}; }
  Span<const Span<const uint8_t>> inputs() const { return {inputs_.data(), inputs_.size()}; }

 private:
  std::vector<TensorView> views_;
  std::vector<Span<const uint8_t>> inputs_;
};

// Into a session's inputs, of the same types.
void fill_inputs(Session& session, Span<const Span<const uint8_t>> inputs);

}  // namespace intaglio::cli

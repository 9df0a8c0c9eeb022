#include "calibrator/workspace/lanes.h"

namespace intaglio {

Session Lanes::of(const Session& session, int32_t i, const Executor& executor) const {
  if (i == 0) return *session.beside(own_.activations, own_.scratch, executor);
  const Span<uint8_t> scratch = scratch_of(i);
  uint8_t* const activations = scratch.data - align_memory(own_.activations.size);
  return *session.beside({activations, own_.activations.size}, scratch, executor);
}

Span<uint8_t> Lanes::scratch_of(int32_t i) const {
  if (i == 0) return own_.scratch;
  const size_t activations = align_memory(own_.activations.size), scratch = align_memory(own_.scratch.size);
  return {others_.data + static_cast<size_t>(i - 1) * (activations + scratch) + activations,
          own_.scratch.size};
}

}  // namespace intaglio

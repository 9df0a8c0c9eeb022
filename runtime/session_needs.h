// What sessions need and take, for those in one memory and in two.
#pragma once

#include "intaglio/session.h"
#include "runtime/op.h"

namespace intaglio {

// The kernels that a session may choose from; kBadExecutor.
Result<PlanContext> plan_context(const SessionOptions& options, bool for_this_cpu);

// `ceiling`: the most bytes that it may take in all; 0: any. `apart`: so many of the activations lie in a memory of their own: they are
// not among activation_bytes, and offset_bytes() stand at the end of persistent_bytes.
Result<SessionNeeds> needs_of(const Model& model, OpList ops, const Result<PlanContext>& context,
                              uint32_t ceiling, size_t apart);
inline size_t offset_bytes(const Model& model) {
  return sizeof(uint32_t) * static_cast<size_t>(model.tensor_count());
}

// Splits off `needs` bytes of each span, aligned, none over another. `to` is without memory as yet, and of no use after an error.
Error take_memory(const SessionMemory& given, const SessionNeeds& needs, SessionMemory* to);

}  // namespace intaglio

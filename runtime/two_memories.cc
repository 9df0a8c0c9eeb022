#include "intaglio/two_memories.h"

#include "intaglio/planned_model.h"
#include "runtime/liveness.h"
#include "runtime/session_needs.h"
#include "runtime/streaming/streamed_model.h"

namespace intaglio {

Error TwoMemories::check(const Model& model) {
  const size_t fast = model.fast_bytes();
  if (fast % kTensorAlignment != 0)
    return {Status::kPlanAlignment, -1, -1, static_cast<int64_t>(fast), kTensorAlignment};
  if (fast > model.activation_bytes())
    return {Status::kPlanOffset, -1, -1, static_cast<int64_t>(fast),
            static_cast<int64_t>(model.activation_bytes())};
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const size_t offset = model.activation_offset(t);
    if (offset >= fast) continue;
    size_t bytes = model.tensor(t).bytes();
#if ITG_STREAMING
    if (StreamedModel::streaming(model) != nullptr)
      bytes = StreamedModel::place_bytes(model, t, writer_of(model, t));
#endif
    if (bytes > fast - offset)
      return {Status::kPlanCrosses, -1, t, static_cast<int64_t>(offset + bytes), static_cast<int64_t>(fast)};
  }
  return kNoError;
}

Result<SessionNeeds> TwoMemories::measure_below(uint32_t ceiling, const Model& model, OpList ops,
                                                const SessionOptions& options, bool for_this_cpu) {
  ITG_TRY(check(model));
  return needs_of(model, ops, plan_context(options, for_this_cpu), ceiling, model.fast_bytes());
}

Result<SessionNeeds> TwoMemories::measure(const Model& model, OpList ops, const SessionOptions& options,
                                          bool for_this_cpu) {
  return measure_below(model.memory_ceiling(), model, ops, options, for_this_cpu);
}

Result<SessionNeeds> TwoMemories::measure_anywhere(const Model& model, OpList ops,
                                                   const SessionOptions& options, bool for_this_cpu) {
  return measure_below(0, model, ops, options, for_this_cpu);
}

SessionNeeds TwoMemories::measure(const PlannedModel& planned) {
  const Model model = Model::without_checks(planned.model, planned.streaming);
  SessionNeeds needs = planned.needs;
  if (model.fast_bytes() == 0) return needs;
  constexpr size_t kPart = kMemoryAlignment;
  needs.activation_bytes -= model.fast_bytes();
  needs.persistent_bytes = (needs.persistent_bytes + kPart - 1) / kPart * kPart + offset_bytes(model);
  return needs;
}

Result<Session> TwoMemories::create(const Model& model, OpList ops, const SessionMemory& memory,
                                    Span<uint8_t> fast, const SessionOptions& options) {
  ITG_TRY(check(model));
  Result<Session> made = Session::create_with(model, ops, model.fast_bytes(), memory, options);
  if (made) ITG_TRY(place(model, fast, &*made));
  return made;
}

Result<Session> TwoMemories::start(const PlannedModel& planned, const SessionMemory& memory,
                                   Span<uint8_t> fast, const SessionOptions& options) {
  Result<Session> made = Session::start_with(planned, measure(planned), memory, options);
  if (made) ITG_TRY(place(made->model(), fast, &*made));
  return made;
}

// The session adds an offset of 32 bits to one address, the lower of the two memories: so its offsets are those from there on.
Error TwoMemories::place(const Model& model, Span<uint8_t> given, Session* session) {
  SessionMemory& own = session->memory_;
  const size_t fast = model.fast_bytes(), all = model.activation_bytes();
  if (fast == 0) return kNoError;
  // The spans of the session stand apart already, so the fast one is looked at as if it were the activations beside the others.
  SessionMemory taken, rest;
  ITG_TRY(take_memory({own.persistent, given, own.activations},
                      {own.persistent.size, fast, own.activations.size}, &taken));
  ITG_TRY(take_memory({own.scratch, given, {}}, {own.scratch.size, fast, 0}, &rest));
  uint8_t* const at_fast = taken.activations.data;
  uint8_t* const at_slow = own.activations.size == 0 ? at_fast : own.activations.data;
  uint8_t* const base = at_fast < at_slow ? at_fast : at_slow;
  const auto of_fast = static_cast<size_t>(at_fast - base), of_slow = static_cast<size_t>(at_slow - base);
  const uint64_t apart = of_fast + of_slow;  // one of them is 0
  if (sizeof(size_t) > sizeof(uint32_t) && apart > UINT32_MAX - all)
    return {Status::kMemoryApart, -1, -1, static_cast<int64_t>(apart),
            static_cast<int64_t>(UINT32_MAX - all)};
  own.persistent.size -= offset_bytes(model);
  auto* const offsets = reinterpret_cast<uint32_t*>(own.persistent.data + own.persistent.size);
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const uint32_t offset = model.activation_offset(t);
    offsets[t] = offset == Model::kNoOffset ? offset
                 : offset < fast            ? offset + static_cast<uint32_t>(of_fast)
                                            : offset - static_cast<uint32_t>(fast - of_slow);
  }
  session->model_.offsets_ = offsets;
  own.activations = {base, all};
  return kNoError;
}

}  // namespace intaglio

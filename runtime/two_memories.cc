#include "intaglio/two_memories.h"

#include "intaglio/planned_model.h"
#include "runtime/liveness.h"
#include "runtime/streaming/streamed_model.h"

namespace intaglio {
namespace {

size_t align_up(size_t bytes) { return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment; }

// What a session keeps besides: an offset for each tensor.
size_t offset_bytes(const Model& model) {
  return sizeof(uint32_t) * static_cast<size_t>(model.tensor_count());
}

// Of a session in one memory.
SessionNeeds needs_in_two(const Model& model, SessionNeeds needs) {
  if (model.fast_bytes() == 0) return needs;
  needs.activation_bytes -= model.fast_bytes();
  needs.persistent_bytes = align_up(needs.persistent_bytes) + offset_bytes(model);
  return needs;
}

}  // namespace

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

Result<SessionNeeds> TwoMemories::measure_anywhere(const Model& model, OpList ops,
                                                   const SessionOptions& options, bool for_this_cpu) {
  ITG_TRY(check(model));
  const Result<SessionNeeds> in_one = Session::measure_anywhere(model, ops, options, for_this_cpu);
  if (!in_one) return in_one;
  // create() would compare a pack in memory that is not there.
  if (in_one->in_place_bytes > 0 && model.fast_bytes() > 0) return Error{Status::kBadPack};
  return needs_in_two(model, *in_one);
}

Result<SessionNeeds> TwoMemories::measure(const Model& model, OpList ops, const SessionOptions& options,
                                          bool for_this_cpu) {
  const Result<SessionNeeds> needs = measure_anywhere(model, ops, options, for_this_cpu);
  if (!needs || model.memory_ceiling() == 0) return needs;
  const size_t all = needs->total() + model.fast_bytes();
  if (all > model.memory_ceiling())
    return Error{Status::kAboveCeiling, -1, -1, static_cast<int64_t>(all), int64_t{model.memory_ceiling()}};
  return needs;
}

SessionNeeds TwoMemories::measure(const PlannedModel& planned) {
  return needs_in_two(Model::without_checks(planned.model, planned.streaming), planned.needs);
}

Result<Session> TwoMemories::create(const Model& model, OpList ops, const SessionMemory& memory,
                                    Span<uint8_t> fast, const SessionOptions& options) {
  const Result<SessionNeeds> needs = measure_anywhere(model, ops, options, true);
  if (!needs) return needs.error();
  SessionMemory own, in_one;
  ITG_TRY(take(model, *needs, memory, fast, &own, &in_one));
  Result<Session> made = Session::create(model, ops, in_one, options);
  if (made) ITG_TRY(place(model, own, fast, &*made));
  return made;
}

Result<Session> TwoMemories::start(const PlannedModel& planned, const SessionMemory& memory,
                                   Span<uint8_t> fast, const SessionOptions& options) {
  const Model model = Model::without_checks(planned.model, planned.streaming);
  SessionMemory own, in_one;
  ITG_TRY(take(model, measure(planned), memory, fast, &own, &in_one));
  Result<Session> made = Session::start(planned, in_one, options);
  if (made) ITG_TRY(place(model, own, fast, &*made));
  return made;
}

// `own`: the session's spans, which stand apart from each other and from the fast memory. `in_one`: the same as the code for one memory
// takes them. It touches no activation, so these get an address where nothing stands.
Error TwoMemories::take(const Model& model, const SessionNeeds& needs, const SessionMemory& given,
                        Span<uint8_t> fast, SessionMemory* own, SessionMemory* in_one) {
  const size_t fast_bytes = model.fast_bytes();
  ITG_TRY(Session::take_memory(given, needs, own));
  *in_one = *own;
  if (fast_bytes == 0) return kNoError;
  // Beside each of the others as if it were the activations.
  SessionMemory taken, rest;
  ITG_TRY(Session::take_memory({own->persistent, fast, own->activations},
                               {own->persistent.size, fast_bytes, own->activations.size}, &taken));
  ITG_TRY(Session::take_memory({own->scratch, fast, {}}, {own->scratch.size, fast_bytes, 0}, &rest));
  own->persistent.size -= offset_bytes(model);
  in_one->persistent.size = own->persistent.size;
  const auto end_of = [](const Span<uint8_t>& span) {
    return reinterpret_cast<uintptr_t>(span.data) + span.size;
  };
  const uintptr_t a = end_of(own->persistent), b = end_of(own->scratch);
  in_one->activations = {reinterpret_cast<uint8_t*>(align_up(a > b ? a : b)), model.activation_bytes()};
  return kNoError;
}

// The session adds an offset of 32 bits to one address, the lower of the two memories: so its offsets are those from there on.
Error TwoMemories::place(const Model& model, const SessionMemory& own, Span<uint8_t> given,
                         Session* session) {
  const size_t fast = model.fast_bytes(), all = model.activation_bytes();
  if (fast == 0) return kNoError;
  uint8_t* const at_slow = own.activations.size == 0 ? given.data : own.activations.data;
  uint8_t* const base = given.data < at_slow ? given.data : at_slow;
  const auto of_fast = static_cast<size_t>(given.data - base), of_slow = static_cast<size_t>(at_slow - base);
  const uint64_t apart = of_fast + of_slow;  // one of them is 0
  if (sizeof(size_t) > sizeof(uint32_t) && apart > UINT32_MAX - all)
    return {Status::kMemoryApart, -1, -1, static_cast<int64_t>(apart),
            static_cast<int64_t>(UINT32_MAX - all)};
  auto* const offsets = reinterpret_cast<uint32_t*>(own.persistent.data + own.persistent.size);
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const uint32_t offset = model.activation_offset(t);
    offsets[t] = offset == Model::kNoOffset ? offset
                 : offset < fast            ? offset + static_cast<uint32_t>(of_fast)
                                            : offset - static_cast<uint32_t>(fast - of_slow);
  }
  session->model_.offsets_ = offsets;
  session->memory_.activations = {base, all};
  return kNoError;
}

}  // namespace intaglio

#include "c_api/c_handles.h"
#include "intaglio/planned_model.h"
#include "intaglio/two_memories.h"

using namespace intaglio;

namespace {

void observe(void* context, int32_t node, int32_t tensor, const TensorView& view) {
  const itg_observer& observer = *static_cast<const CSession*>(context)->observer;
  itg_tensor seen = intaglio::to_c(view.info, view.data);
  seen.struct_size = sizeof seen;
  observer.on_tensor(observer.context, node, tensor, &seen);
}

void report_packed(void* context, int32_t node) {
  const itg_observer& observer = *static_cast<const CSession*>(context)->observer;
  observer.on_packed(observer.context, node);
}

itg_session_needs to_c(const SessionNeeds& needs) {
  itg_session_needs result{};
  result.persistent_bytes = needs.persistent_bytes;
  result.activation_bytes = needs.activation_bytes;
  result.scratch_bytes = needs.scratch_bytes;
  result.total_bytes = needs.total();
  result.packed_bytes = needs.packed_bytes;
  result.in_place_bytes = needs.in_place_bytes;
  return result;
}

SessionMemory from_c(const itg_session_memory& memory) {
  return {intaglio::from_c(memory.persistent), intaglio::from_c(memory.activations),
          intaglio::from_c(memory.scratch)};
}

// An empty session, and its options: those of C, with an observer that speaks C.
SessionOptions put_session(itg_session* session, const itg_session_options* options) {
  put_object(session, CSession());
  CSession& made = object_in<CSession>(session);
  const itg_session_options chosen = take(options, itg_session_options_init);
  SessionOptions result = intaglio::from_c(chosen);
  const itg_observer* const observer = made.observer = chosen.observer;
  if (observer == nullptr) return result;
  result.observer.context = &made;
  if (observer->on_tensor != nullptr) result.observer.on_tensor = observe;
  if (knows(observer, &itg_observer::on_packed) && observer->on_packed != nullptr)
    result.observer.on_packed = report_packed;
  return result;
}

itg_error measured(const Result<SessionNeeds>& found, itg_session_needs* needs) {
  give(needs, found ? to_c(*found) : itg_session_needs{});
  return intaglio::to_c(found.error());
}

itg_error keep(itg_session* session, const Result<Session>& made) {
  object_in<CSession>(session).session = *made;
  return intaglio::to_c(made.error());
}

const PlannedModel& planned_in(const itg_planned_model* handle) {
  return *reinterpret_cast<const PlannedModel*>(handle);
}

itg_tensor view(const TensorView& tensor) { return intaglio::to_c(tensor.info, tensor.data); }

}  // namespace

SessionOptions intaglio::from_c(const itg_session_options& options) {
  SessionOptions result;
  result.isa = options.isa;
  result.executor = intaglio::from_c(options.executor);
  return result;
}

void itg_session_options_init(itg_session_options* options, size_t struct_size) {
  itg_session_options defaults{};
  defaults.isa = ITG_ISA_ALL;
  options->struct_size = struct_size;
  give(options, defaults);
}

itg_error itg_session_measure(const itg_model* model, itg_op_list ops, const itg_session_options* options,
                              bool for_this_cpu, itg_session_needs* needs) {
  return measured(Session::measure(model_in(model), intaglio::from_c(ops),
                                   intaglio::from_c(take(options, itg_session_options_init)), for_this_cpu),
                  needs);
}
itg_error itg_session_measure_anywhere(const itg_model* model, itg_op_list ops,
                                       const itg_session_options* options, bool for_this_cpu,
                                       itg_session_needs* needs) {
  return measured(
      Session::measure_anywhere(model_in(model), intaglio::from_c(ops),
                                intaglio::from_c(take(options, itg_session_options_init)), for_this_cpu),
      needs);
}

itg_session_memory itg_session_split(itg_span block, const itg_session_needs* needs) {
  const SessionMemory memory = Session::split(
      intaglio::from_c(block), {needs->persistent_bytes, needs->activation_bytes, needs->scratch_bytes});
  const auto to_span = [](Span<uint8_t> span) { return itg_span{span.data, span.size}; };
  return {to_span(memory.persistent), to_span(memory.activations), to_span(memory.scratch)};
}

itg_error itg_session_create(itg_session* session, const itg_model* model, itg_op_list ops,
                             const itg_session_memory* memory, const itg_session_options* options) {
  const SessionOptions chosen = put_session(session, options);
  return keep(session, Session::create(model_in(model), intaglio::from_c(ops), from_c(*memory), chosen));
}

void itg_planned_model_needs(const itg_planned_model* planned, itg_session_needs* needs) {
  give(needs, to_c(planned_in(planned).needs));
}
itg_error itg_planned_model_check(const itg_planned_model* planned) {
  return intaglio::to_c(planned_in(planned).check());
}
itg_error itg_session_start(itg_session* session, const itg_planned_model* planned,
                            const itg_session_memory* memory, const itg_session_options* options) {
  const SessionOptions chosen = put_session(session, options);
  return keep(session, Session::start(planned_in(planned), from_c(*memory), chosen));
}
itg_error itg_two_memories_measure(const itg_model* model, itg_op_list ops,
                                   const itg_session_options* options, bool for_this_cpu,
                                   itg_session_needs* needs) {
  return measured(
      TwoMemories::measure(model_in(model), intaglio::from_c(ops),
                           intaglio::from_c(take(options, itg_session_options_init)), for_this_cpu),
      needs);
}
itg_error itg_two_memories_measure_anywhere(const itg_model* model, itg_op_list ops,
                                            const itg_session_options* options, bool for_this_cpu,
                                            itg_session_needs* needs) {
  return measured(
      TwoMemories::measure_anywhere(model_in(model), intaglio::from_c(ops),
                                    intaglio::from_c(take(options, itg_session_options_init)), for_this_cpu),
      needs);
}
void itg_two_memories_needs(const itg_planned_model* planned, itg_session_needs* needs) {
  give(needs, to_c(TwoMemories::measure(planned_in(planned))));
}
itg_error itg_two_memories_create(itg_session* session, const itg_model* model, itg_op_list ops,
                                  const itg_session_memory* memory, itg_span fast,
                                  const itg_session_options* options) {
  const SessionOptions chosen = put_session(session, options);
  return keep(session, TwoMemories::create(model_in(model), intaglio::from_c(ops), from_c(*memory),
                                           intaglio::from_c(fast), chosen));
}
itg_error itg_two_memories_start(itg_session* session, const itg_planned_model* planned,
                                 const itg_session_memory* memory, itg_span fast,
                                 const itg_session_options* options) {
  const SessionOptions chosen = put_session(session, options);
  return keep(session,
              TwoMemories::start(planned_in(planned), from_c(*memory), intaglio::from_c(fast), chosen));
}
void itg_session_model(const itg_session* session, itg_model* model) {
  put_object(model, session_in(session).model());
}

void itg_session_input(const itg_session* session, int32_t i, itg_tensor* tensor) {
  give(tensor, view(session_in(session).input(i)));
}
void itg_session_output(const itg_session* session, int32_t i, itg_tensor* tensor) {
  give(tensor, view(session_in(session).output(i)));
}
void itg_session_tensor(const itg_session* session, int32_t index, itg_tensor* tensor) {
  give(tensor, view(session_in(session).tensor(index)));
}
void* itg_session_input_data(const itg_session* session, int32_t i) {
  return session_in(session).input(i).data;
}
const void* itg_session_output_data(const itg_session* session, int32_t i) {
  return session_in(session).output(i).data;
}

void itg_session_run(itg_session* session) { object_in<CSession>(session).session.run(); }
void itg_session_run_nodes(itg_session* session, int32_t first, int32_t last) {
  object_in<CSession>(session).session.run_nodes(first, last);
}
int32_t itg_session_run_slice(itg_session* session, int32_t first, int32_t count) {
  return object_in<CSession>(session).session.run_slice(first, count);
}
bool itg_session_feed_rows(itg_session* session, const uint8_t* rows, int32_t count) {
  return object_in<CSession>(session).session.feed_rows(rows, count);
}
void itg_session_begin_picture(itg_session* session) { object_in<CSession>(session).session.begin_picture(); }
itg_error itg_session_prepare_node(itg_session* session, int32_t i) {
  return intaglio::to_c(object_in<CSession>(session).session.prepare_node(i));
}
void itg_session_reset(itg_session* session) { object_in<CSession>(session).session.reset(); }
const char* itg_session_kernel_name(const itg_session* session, int32_t node) {
  return session_in(session).kernel_name(node);
}

#include "c_api/c_handles.h"

using namespace intaglio;

namespace {

void observe(void* context, int32_t node, int32_t tensor, const TensorView& view) {
  const itg_observer& observer = static_cast<const CSession*>(context)->observer;
  itg_tensor seen = to_c(view.info, view.data);
  seen.struct_size = sizeof seen;
  observer.on_tensor(observer.context, node, tensor, &seen);
}

void report_packed(void* context, int32_t node) {
  const itg_observer& observer = static_cast<const CSession*>(context)->observer;
  observer.on_packed(observer.context, node);
}

SessionOptions from_c(const itg_session_options& options) {
  SessionOptions result;
  result.isa = options.isa;
  result.executor = intaglio::from_c(options.executor);
  return result;
}

itg_tensor view(const TensorView& tensor) { return to_c(tensor.info, tensor.data); }

}  // namespace

void itg_session_options_init(itg_session_options* options, size_t struct_size) {
  itg_session_options defaults{};
  defaults.isa = ITG_ISA_ALL;
  defaults.executor.width = 1;
  options->struct_size = struct_size;
  give(options, defaults);
}

itg_error itg_session_measure(const itg_model* model, itg_op_list ops, const itg_session_options* options,
                              bool for_this_cpu, itg_session_needs* needs) {
  const Result<SessionNeeds> found = Session::measure(
      model_in(model), intaglio::from_c(ops), from_c(take(options, itg_session_options_init)), for_this_cpu);
  *needs = {found->persistent_bytes,    found->activation_bytes, found->scratch_bytes,
            found ? found->total() : 0, found->packed_bytes,     found->in_place_bytes};
  return to_c(found.error());
}

itg_session_memory itg_session_split(itg_span block, const itg_session_needs* needs) {
  const SessionMemory memory = Session::split(
      intaglio::from_c(block), {needs->persistent_bytes, needs->activation_bytes, needs->scratch_bytes});
  const auto to_span = [](Span<uint8_t> span) { return itg_span{span.data, span.size}; };
  return {to_span(memory.persistent), to_span(memory.activations), to_span(memory.scratch)};
}

itg_error itg_session_create(itg_session* session, const itg_model* model, itg_op_list ops,
                             const itg_session_memory* memory, const itg_session_options* options) {
  put_object(session, CSession());
  CSession& made = object_in<CSession>(session);
  const itg_session_options chosen = take(options, itg_session_options_init);
  SessionOptions session_options = from_c(chosen);
  made.observer = chosen.observer;
  session_options.observer = {chosen.observer.on_tensor != nullptr ? observe : nullptr, &made,
                              chosen.observer.on_packed != nullptr ? report_packed : nullptr};
  const SessionMemory spans = {intaglio::from_c(memory->persistent), intaglio::from_c(memory->activations),
                               intaglio::from_c(memory->scratch)};
  const Result<Session> created =
      Session::create(model_in(model), intaglio::from_c(ops), spans, session_options);
  made.session = *created;
  return to_c(created.error());
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
itg_error itg_session_prepare_node(itg_session* session, int32_t i) {
  return to_c(object_in<CSession>(session).session.prepare_node(i));
}
void itg_session_reset(itg_session* session) { object_in<CSession>(session).session.reset(); }
const char* itg_session_kernel_name(const itg_session* session, int32_t node) {
  return session_in(session).kernel_name(node);
}

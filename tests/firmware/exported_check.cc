// The sources that export-c wrote for this board, in either form: its self-test, and that the sizes in its header are
// exact.
#include "net_model.h"
#include "tests/firmware/board_print.h"

alignas(ITG_MEMORY_ALIGNMENT) static uint8_t memory[NET_MEMORY_BYTES];

extern "C" int main() {
  const itg_error error = net_self_test(memory);
  print_number("self-test: status ", static_cast<uint32_t>(error.status));
  if (error.status != ITG_kOk) return 1;

  itg_model model;
  itg_session session;
  if (net_start(&model, &session, memory).status != ITG_kOk) return 2;
  itg_session_needs needs;
  needs.struct_size = sizeof needs;
#ifdef NET_PLANNED
  itg_planned_model_needs(net_planned_model(), &needs);
#else
  if (itg_session_measure(&model, net_model_ops(), nullptr, true, &needs).status != ITG_kOk) return 3;
#endif
  print_number("bytes ", static_cast<uint32_t>(needs.total_bytes));
  if (needs.total_bytes != NET_MEMORY_BYTES || needs.persistent_bytes != NET_PERSISTENT_BYTES ||
      needs.activation_bytes != NET_ACTIVATION_BYTES || needs.scratch_bytes != NET_SCRATCH_BYTES)
    return 4;
  // One byte less is refused.
  const itg_session_memory parts = itg_session_split({memory, sizeof memory}, &needs);
  itg_session_memory less = parts;
  --less.activations.size;  // scratch may be empty
#ifdef NET_PLANNED
  const itg_error refused = itg_session_start(&session, net_planned_model(), &less, nullptr);
#else
  const itg_error refused = itg_session_create(&session, &model, net_model_ops(), &less, nullptr);
#endif
  if (refused.status != ITG_kActivationsTooSmall) return 5;
  const int8_t code = net_input_0_quantize(0.0f);
  return code == NET_INPUT_0_ZERO_POINT ? 0 : 6;
}

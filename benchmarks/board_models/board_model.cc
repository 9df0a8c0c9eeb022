// One model on one board, as small as a program can be that checks what it does: flash, memory and executed
// instructions are measured on it. ITG_RUNS runs; ends with 0 where the output is the build machine's.
#include "board_model.h"  // written by make_board_model
#include "benchmarks/board_models/board_input.h"
#include "runtime/crc32.h"

// In a section of its own, so that it does not count as code.
__asm__(".section .model, \"a\"\n.balign 16\nmodel_bytes:\n.incbin \"" ITG_MODEL "\"\n.previous\n");
extern "C" const uint8_t model_bytes[kModelBytes];

alignas(intaglio::kMemoryAlignment) static uint8_t memory[kMemoryBytes];

extern "C" int main() {
  using namespace intaglio;
  const Result<Model> model = Model::open({model_bytes, kModelBytes});
  if (!model) return 1;
  const OpList ops = kOps;
  const Result<SessionNeeds> needs = Session::measure(*model, ops);
  if (!needs || needs->total() != kMemoryBytes) return 2;
  Result<Session> session = Session::create(*model, ops, Session::split({memory, sizeof memory}, *needs));
  if (!session) return 3;
  for (int32_t run = 1; run < ITG_RUNS; ++run) session->run();
  fill_board_input(session->input());
  session->run();
  const TensorView output = session->output();
  return crc32(0, static_cast<const uint8_t*>(output.data), output.info.bytes()) == kExpectedCrc ? 0 : 4;
}

// One model on one board, as small as a program can be that checks what it does: flash, memory and executed
// instructions are measured on it. ITG_RUNS runs; ends with 0 where the output is the build machine's. With
// ITG_PLANNED the session is the one that export-c --planned wrote. With ITG_STACK it also prints how much of
// the stack was used.
#include "board_model.h"  // written by make_board_model
#include "benchmarks/board_models/board_input.h"
#include "runtime/crc32.h"

// In a section of its own, so that it does not count as code; under the name that export-c gives it.
__asm__(".section .model, \"a\"\n.balign 16\n.global net_model_data\nnet_model_data:\n.incbin \"" ITG_MODEL
        "\"\n.previous\n");
#if defined(ITG_PLANNED)
#include "intaglio/planned_model.h"
#include "net_model.h"
alignas(intaglio::kMemoryAlignment) static uint8_t memory[NET_MEMORY_BYTES];
#else
extern "C" const uint8_t net_model_data[kModelBytes];
alignas(intaglio::kMemoryAlignment) static uint8_t memory[kMemoryBytes];
#endif

#if defined(ITG_STACK)
#include "tests/firmware/board_print.h"

namespace {

extern "C" uint32_t stack_top[];  // of board.ld
constexpr ptrdiff_t kPaintedWords = 4096;
constexpr uint32_t kPaint = 0xa5a5a5a5u;

// Everything below the caller's frame, as far as a stack may reach.
__attribute__((noinline)) void paint_stack() {
  auto* const here = static_cast<volatile uint32_t*>(__builtin_frame_address(0));
  for (volatile uint32_t* word = stack_top - kPaintedWords; word < here - 16; ++word) *word = kPaint;
}

__attribute__((noinline)) uint32_t stack_bytes() {
  const volatile uint32_t* word = stack_top - kPaintedWords;
  while (*word == kPaint) ++word;
  return static_cast<uint32_t>(stack_top - word) * sizeof(uint32_t);
}

}  // namespace
#endif

#if defined(NET_ROWS)
// The picture comes row by row: zeros, or the input that the build machine gave.
static void feed_picture(intaglio::Session& session, bool zeros) {
  static uint8_t row[NET_ROW_BYTES];
  BoardInput input;
  session.begin_picture();
  for (int32_t y = 0; y < NET_ROWS; ++y) {
    if (!zeros)
      for (uint8_t& byte : row) byte = input.next();
    session.feed_rows(row, 1);
  }
}
#endif

extern "C" int main() {
  using namespace intaglio;
#if defined(ITG_STACK)
  paint_stack();
#endif
#if defined(ITG_PLANNED)
  Result<Session> session =
      Session::start(net_planned, Session::split({memory, sizeof memory}, net_planned.needs));
#else
  const Result<Model> model = Model::open({net_model_data, kModelBytes});
  if (!model) return 1;
  const OpList ops = kOps;
  const Result<SessionNeeds> needs = Session::measure(*model, ops);
  if (!needs || needs->total() != kMemoryBytes) return 2;
  Result<Session> session = Session::create(*model, ops, Session::split({memory, sizeof memory}, *needs));
#endif
  if (!session) return 3;
#if defined(NET_ROWS)
  for (int32_t run = 1; run < ITG_RUNS; ++run) feed_picture(*session, true);
  feed_picture(*session, false);
#else
  for (int32_t run = 1; run < ITG_RUNS; ++run) session->run();
  fill_board_input(session->input());
  session->run();
#endif
#if defined(ITG_STACK)
  print_number("stack ", stack_bytes());
#endif
  const TensorView output = session->output();
#if defined(NET_ROWS)
  constexpr uint32_t kExpected = kExpectedFedCrc;
#else
  constexpr uint32_t kExpected = kExpectedCrc;
#endif
  return crc32(0, static_cast<const uint8_t*>(output.data), output.info.bytes()) == kExpected ? 0 : 4;
}

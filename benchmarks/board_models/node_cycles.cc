// Runs any model node by node, so that what each executes is counted apart: benchmarks/instruction_count/cycle_table.py. qemu loads
// the model's bytes to kModelPlace, and how many there are to the word before.
#include <cstring>

#include "benchmarks/board_models/board_input.h"
#include "intaglio/session.h"

using namespace intaglio;

namespace {

constexpr uintptr_t kModelPlace = 0x00100000, kSizePlace = kModelPlace - 4;
alignas(kMemoryAlignment) uint8_t memory[(4 << 20) - (64 << 10)];

// Reals within -4 to 4: functions take other ways for those that are no number.
void fill(const TensorView& input) {
  if (input.info.dtype != DType::kF32) return fill_board_input(input);
  BoardInput from;
  for (float& x : input.as<float>()) x = static_cast<float>(from.next()) * (1.0f / 32) - 4.0f;
}

}  // namespace

// Where the plugin cuts what it counts.
extern "C" __attribute__((noinline, used)) void next_part() { __asm__ volatile("" ::: "memory"); }

extern "C" int main() {
  uint32_t bytes = 0;
  memcpy(&bytes, reinterpret_cast<const void*>(kSizePlace), sizeof bytes);
  const Result<Model> model = Model::open({reinterpret_cast<const uint8_t*>(kModelPlace), bytes});
  if (!model) return 1;
  const Result<SessionNeeds> needs = Session::measure(*model, all_ops());
  if (!needs) return 2;
  if (needs->total() > sizeof memory) return 3;
  Result<Session> session =
      Session::create(*model, all_ops(), Session::split({memory, sizeof memory}, *needs));
  if (!session) return 4;
  for (size_t i = 0; i < model->inputs().size; ++i) fill(session->input(static_cast<int32_t>(i)));
  next_part();
  session->run_nodes(0, 0);  // what a call takes
  next_part();
  for (int32_t n = 0; n < model->node_count(); ++n) {
    session->run_nodes(n, n + 1);
    next_part();
  }
  return 0;
}

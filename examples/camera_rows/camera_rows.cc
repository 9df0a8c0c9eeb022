// A network on a board that has no memory for the camera's picture: each line goes into the session as it comes, and is
// forgotten. All of RAM is what camera.ld gives: the session's memory, one line, and the stack. Ends with 0 where
// the scores are those that the build machine computed layer by layer.
#include "camera_network.h"  // written by make_camera_network
#include "examples/camera_rows/camera.h"
#include "intaglio/session.h"
#include "intaglio/streaming.h"
#include "runtime/crc32.h"
#include "tests/firmware/board_print.h"

// In a section of its own, which is the board's large flash.
__asm__(".section .model, \"a\"\n.balign 16\n.global camera_network\ncamera_network:\n.incbin \"" ITG_MODEL
        "\"\n.previous\n");
extern "C" const uint8_t camera_network[kModelBytes];
extern "C" uint32_t ram_start[], bss_end[], stack_top[];  // of camera.ld

namespace intaglio {
extern const OpDef kConv2dS8, kDepthwiseConv2dS8, kAddS8, kMeanS8, kFullyConnectedS8;
}

namespace {

using namespace intaglio;

const OpDef* const kOps[] = {&kConv2dS8, &kDepthwiseConv2dS8, &kAddS8, &kMeanS8, &kFullyConnectedS8};

alignas(kMemoryAlignment) uint8_t memory[kMemoryBytes];
uint8_t line[kCameraLineBytes];

constexpr uint32_t kPaint = 0xa5a5a5a5u;

// All that the stack may grow into.
__attribute__((noinline)) void paint_stack() {
  auto* const here = static_cast<volatile uint32_t*>(__builtin_frame_address(0));
  for (volatile uint32_t* word = bss_end; word < here - 16; ++word) *word = kPaint;
}

// Bytes that it did not touch.
__attribute__((noinline)) uint32_t untouched_bytes() {
  const volatile uint32_t* word = bss_end;
  while (*word == kPaint) ++word;
  return static_cast<uint32_t>(word - bss_end) * sizeof(uint32_t);
}

int fail(const char* what) {
  print_line("FAILED: ", what);
  return 1;
}

}  // namespace

extern "C" int main() {
  paint_stack();
  const Result<Model> model = Model::open({camera_network, kModelBytes});
  if (!model) return fail("the model is refused");
  const Result<Model> by_rows = stream_rows(*model);
  if (!by_rows) return fail("the streamed plan is refused");
  const OpList ops = kOps;
  const Result<SessionNeeds> needs = Session::measure(*by_rows, ops);
  if (!needs) return fail("the session is refused");
  if (needs->total() != kMemoryBytes)
    return fail("this board needs other memory than the build machine measured");
  Result<Session> session = Session::create(*by_rows, ops, Session::split({memory, sizeof memory}, *needs));
  if (!session) return fail("no session");
  bool done = false;
  for (int32_t y = 0; y < kCameraRows; ++y) {
    camera_line(y, line);
    done = session->feed_rows(line, 1);
  }
  if (!done) return fail("rows are missing");
  const TensorView scores = session->output();
  if (crc32(0, static_cast<const uint8_t*>(scores.data), scores.info.bytes()) != kScoresCrc)
    return fail("the scores differ from the build machine's");
  const uint32_t untouched = untouched_bytes();
  if (untouched == 0) return fail("the stack is too small");
  print_number("activations ", static_cast<uint32_t>(needs->activation_bytes));
  print_number("scratch ", static_cast<uint32_t>(needs->scratch_bytes));
  print_number("bookkeeping ", static_cast<uint32_t>(needs->persistent_bytes));
  print_number("all RAM in use ",
               static_cast<uint32_t>(stack_top - ram_start) * sizeof(uint32_t) - untouched);
  return 0;
}

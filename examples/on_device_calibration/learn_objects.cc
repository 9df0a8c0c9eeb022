// Shows a device three objects, and lets it recognise them after a reset: a last layer learnt from five frames of each. The
// model is the one that the device has calibrated. Ends with 0 where the layer is the build machine's, byte for byte, and
// frames that were not shown get the right object.
//
// On a board model and layer stand in flash, each in a store of two slots.
#include <cstring>

#include "calibration_data.h"  // written by make_calibration
#include "examples/on_device_calibration/objects.h"
#include "intaglio/model_store.h"
#include "tests/firmware/board_print.h"

using namespace intaglio;

namespace {

constexpr size_t kSlotBytes = 16384, kFrameBytes = 2 * kFrameWidth * kFrameHeight;
const FrameInfo kInfo{kFrameWidth, kFrameHeight, PixelOrder::kRgb565Swapped};

// Stand for flash: what a reset leaves.
alignas(kMemoryAlignment) uint8_t model_slots[2][kSlotBytes], layer_slots[2][kSlotBytes];

// What a reset loses.
struct Memory {
  alignas(kMemoryAlignment) uint8_t session[32768];
  alignas(double) uint8_t learning[kLearnBytes];
  alignas(float) uint8_t patch[kPatchBytes];
  alignas(uint32_t) uint8_t scratch[kScratchBytes];
  uint8_t frame[kFrameBytes];
} memory;

Flash flash_of(uint8_t (&slots)[2][kSlotBytes]) {
  Flash flash;
  for (int32_t i = 0; i < 2; ++i) flash.slots[i] = slots[i];
  flash.slot_bytes = kSlotBytes;
  flash.context = slots;
  flash.erase = [](void* context, int32_t slot) {
    memset((*static_cast<uint8_t(*)[2][kSlotBytes]>(context))[slot], 0xff, kSlotBytes);
    return true;
  };
  flash.program = [](void* context, int32_t slot, size_t offset, const uint8_t* bytes, size_t size) {
    memcpy((*static_cast<uint8_t(*)[2][kSlotBytes]>(context))[slot] + offset, bytes, size);
    return true;
  };
  return flash;
}

Result<Session> start() {
  const Result<Model> model = Model::open(stored_model(flash_of(model_slots)));
  if (!model) return model.error();
  const Result<SessionNeeds> needs = Session::measure(*model, int8_ops());
  if (!needs) return needs.error();
  return Session::create(*model, int8_ops(), Session::split(memory.session, *needs));
}

int fail(const char* what) { return print_line("FAILED: ", what), 1; }

int learn() {
  Result<Session> session = start();
  if (!session) return fail("the model does not start");
  const auto report =
      learn_objects(*session, kInfo, memory.frame, memory.scratch, memory.learning, memory.patch);
  if (!report) return fail("nothing was learnt");
  print_number("examples held out ", static_cast<uint32_t>(report->held_out));
  print_number("  recognised ", static_cast<uint32_t>(report->right));
  if (!report->kept || memcmp(memory.patch, kLearnt, sizeof kLearnt) != 0)
    return fail("not the build machine's bytes");
  return store_model(flash_of(layer_slots), memory.patch) ? 0 : fail("the layer is not stored");
}

int recognise() {
  Result<Session> session = start();
  if (!session) return fail("the model does not start");
  const Result<LastLayer> layer = LastLayer::open(stored_model(flash_of(layer_slots)), session->model());
  if (!layer) return fail("the stored layer is refused");
  int32_t right = 0;
  for (int32_t time = kShown; time < kShown + kAsked; ++time)
    for (int32_t object = 0; object < kObjects; ++object) {
      const auto seen =
          see(*session, *find_features(session->model()), object, time, kInfo, memory.frame, memory.scratch);
      if (!seen) return fail("a frame is refused");
      right += layer->classify(*seen) == object ? 1 : 0;
    }
  print_number("after a reset, of 27 frames recognised ", static_cast<uint32_t>(right));
  return right == kObjects * kAsked ? 0 : fail("a frame gets another object");
}

}  // namespace

extern "C" int main(int, char**) {
  if (!store_model(flash_of(model_slots), kDevice)) return fail("the model is not stored");
  print_number("bytes of memory to learn ", kLearnBytes);
  print_number("  of the layer ", kPatchBytes);
  if (learn() != 0) return 1;
  memset(&memory, 0xa5, sizeof memory);  // a reset
  return recognise();
}

// Calibrates on the device itself, by every method: FP32 passes over a few frames of a camera, ranges, int8
// weights, a replay of what was written; all in memory that the program gives. Ends with 0 where each model
// is the build machine's, byte for byte.
//
// On a board the models go to a store of two slots, as in flash, and run from there; on Linux to a file, if
// the command line names one.
#include <cstring>

#include "calibration_data.h"  // written by make_calibration
#include "examples/on_device_calibration/calibrate_frames.h"
#include "intaglio/model_store.h"
#include "tests/firmware/board_print.h"

#if defined(__linux__)
#include "calibrator/host/system/files.h"
#endif

using namespace intaglio;

namespace {

constexpr size_t kSlotBytes = 16384;
#if defined(__linux__)
constexpr size_t kRoom = 4;  // for kernels that pack weights
#else
constexpr size_t kRoom = 1;
#endif
alignas(kMemoryAlignment) uint8_t memory[kRoom * kCalibratorBytes];
alignas(kMemoryAlignment) uint8_t slots[2][kSlotBytes];  // stand for flash
alignas(uint32_t) uint8_t scratch[kScratchBytes];

const Frames kSeen{kPixels, kFrameCount, {kFrameWidth, kFrameHeight, PixelOrder::kRgb565Swapped}};

// The first is what a device would do; the others try every method with the full search.
struct Expected {
  bool as_device;
  RangeMethod method;
  const char* name;
  Span<const uint8_t> model;
};
const Expected kExpected[] = {{true, RangeMethod::kAuto, "as a device", kDevice},
                              {false, RangeMethod::kAuto, "auto", kAuto},
                              {false, RangeMethod::kMinMax, "min-max", kMinMax},
                              {false, RangeMethod::kPercentile, "percentile", kPercentile},
                              {false, RangeMethod::kMse, "MSE", kMse}};

Flash flash() {
  Flash f;
  f.slots[0] = slots[0];
  f.slots[1] = slots[1];
  f.slot_bytes = kSlotBytes;
  f.erase = [](void*, int32_t slot) {
    memset(slots[slot], 0xff, kSlotBytes);
    return true;
  };
  f.program = [](void*, int32_t slot, size_t offset, const uint8_t* bytes, size_t size) {
    memcpy(slots[slot] + offset, bytes, size);
    return true;
  };
  return f;
}

bool store(void*, Span<const uint8_t> model) { return store_model(flash(), model); }

// Runs what is stored on the first frame: as after the next start.
Error run_stored(Span<uint8_t> block) {
  const Result<Model> model = Model::open(stored_model(flash()));
  if (!model) return model.error();
  const Result<SessionNeeds> needs = Session::measure(*model, int8_ops());
  if (!needs) return needs.error();
  Result<Session> session = Session::create(*model, int8_ops(), Session::split(block, *needs));
  if (!session) return session.error();
  ITG_TRY(write_frame(model->image(0), session->input(), kSeen.at(0), scratch));
  session->run();
  return kNoError;
}

int calibrate(const Model& model, const Expected& expected) {
  const CalibratorOptions options = options_of(expected.as_device, expected.method);
  const Result<CalibratorNeeds> needs = Calibrator::measure(model, options);
  if (!needs || needs->total() > sizeof memory) return print_line("FAILED: memory: ", expected.name), 1;
  const Error error = calibrate_frames(model, kSeen, options, memory, scratch, {store, nullptr});
  if (!error.ok()) return print_number("FAILED: status ", static_cast<uint32_t>(error.status)), 1;
  const Span<const uint8_t> found = stored_model(flash());
  if (found.size != expected.model.size || memcmp(found.data, expected.model.data, found.size) != 0)
    return print_line("FAILED: not the build machine's bytes: ", expected.name), 1;
  if (!run_stored(memory).ok()) return print_line("FAILED: the stored model: ", expected.name), 1;
  print_line("the build machine's bytes: ", expected.name);
  return 0;
}

}  // namespace

extern "C" int main(int argc, char** argv) {
  const Result<Model> model = Model::open(Span<const uint8_t>(kFloatModel));
  if (!model) return print_line("FAILED: ", "the FP32 model is refused"), 1;
  const Result<CalibratorNeeds> needs = Calibrator::measure(*model, CalibratorOptions::device());
  print_number("bytes of memory: session ", static_cast<uint32_t>(needs->session_bytes));
  print_number("  observers ", static_cast<uint32_t>(needs->observer_bytes));
  print_number("  output ", static_cast<uint32_t>(needs->output_bytes));
  for (const Expected& expected : kExpected)
    if (calibrate(*model, expected) != 0) return 1;
#if defined(__linux__)
  if (argc > 1 && !write_file_atomically(argv[1], stored_model(flash())))
    return print_line("FAILED: cannot write ", argv[1]), 1;
#else
  (void)argc;
  (void)argv;
#endif
  return 0;
}

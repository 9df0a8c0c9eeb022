// A program that links intaglio, in C++: it calibrates an FP32 model and runs the int8 one. Both must
// give the bytes that the build which is tested gave (package_model).
//
//   consumer FOLDER
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "intaglio/calibrator.h"
#include "intaglio/describe.h"

using namespace intaglio;

namespace {

constexpr size_t kSamples = 4;

struct alignas(kMemoryAlignment) Block {
  uint8_t bytes[kMemoryAlignment];
};

// Bytes where a model or a session may stand.
struct Memory {
  explicit Memory(size_t bytes) : blocks(bytes / sizeof(Block) + 1), size(bytes) {}
  Span<uint8_t> span() { return {blocks[0].bytes, size}; }

  std::vector<Block> blocks;
  size_t size;
};

Memory read_file(const std::string& path) {
  FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return Memory(0);
  std::fseek(file, 0, SEEK_END);
  Memory memory(static_cast<size_t>(std::ftell(file)));
  std::rewind(file);
  if (std::fread(memory.span().data, 1, memory.size, file) != memory.size) memory.size = 0;
  std::fclose(file);
  return memory;
}

bool equal(Span<const uint8_t> a, Span<const uint8_t> b) {
  return a.size == b.size && a.size > 0 && std::memcmp(a.data, b.data, a.size) == 0;
}

int fail(const char* what, const Error& error) {
  char text[256];
  describe(error, nullptr, text, sizeof text);
  std::printf("%s: %s\n", what, text);
  return 1;
}

}  // namespace

int main(int argc, char** arguments) {
  const std::string folder = argc > 1 ? arguments[1] : ".";
  Memory fp32 = read_file(folder + "/fp32.itg"), samples = read_file(folder + "/samples.bin"),
         int8 = read_file(folder + "/int8.itg"), input = read_file(folder + "/input.bin"),
         output = read_file(folder + "/output.bin");

  const Result<Model> model = Model::open(fp32.span());
  if (!model) return fail("the FP32 model is refused", model.error());
  const Result<CalibratorNeeds> needs = Calibrator::measure(*model);
  if (!needs) return fail("calibration is refused", needs.error());
  Memory work(needs->total());
  Result<Calibrator> calibrator = Calibrator::create(*model, work.span());
  if (!calibrator) return fail("no calibrator", calibrator.error());
  const size_t sample_bytes = samples.size / kSamples;
  for (size_t i = 0; i < kSamples; ++i) {
    const Span<const uint8_t> sample = {samples.span().data + i * sample_bytes, sample_bytes};
    if (const Error error = calibrator->add({&sample, 1}); !error.ok())
      return fail("a sample is refused", error);
  }
  ModelSink sink;
  sink.write = [](void*, Span<const uint8_t>) { return true; };
  if (const Error error = calibrator->finish(sink); !error.ok()) return fail("calibration failed", error);
  if (!equal(calibrator->report().bytes, int8.span())) return std::puts("the calibrated model differs"), 1;

  const Result<Model> quantized = Model::open(int8.span());
  if (!quantized) return fail("the int8 model is refused", quantized.error());
  const Result<SessionNeeds> session_needs = Session::measure(*quantized, int8_ops());
  if (!session_needs) return fail("the int8 model does not fit", session_needs.error());
  Memory arena(session_needs->total());
  Result<Session> session =
      Session::create(*quantized, int8_ops(), Session::split(arena.span(), *session_needs));
  if (!session) return fail("no session", session.error());
  std::memcpy(session->input().data, input.span().data, input.size);
  session->run();
  const TensorView result = session->output();
  if (!equal({static_cast<const uint8_t*>(result.data), result.info.bytes()}, output.span()))
    return std::puts("the output differs"), 1;
  std::puts("consumer: same bytes");
  return 0;
}

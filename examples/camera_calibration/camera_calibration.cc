// A Linux board calibrates its network from what its own camera (V4L2) sees.
//
//   camera_calibration NET.itg OUT.itg COUNT /dev/video0
//   camera_calibration NET.itg OUT.itg COUNT FRAMES WIDTH HEIGHT [ORDER]     from a file of frames; ORDER is yuyv unless given
#include <filesystem>
#include <fstream>

#include "examples/camera_frames.h"
#include "intaglio/calibrator.h"

using namespace intaglio;

namespace {

constexpr int32_t kEvery = 15;  // of a camera's frames: those between differ little

// Frames that are kept, so that errors can be corrected layer by layer once the ranges are known.
struct Kept {
  const Model& model;
  const Frame& form;
  Span<uint8_t> scratch;
  std::vector<std::vector<uint8_t>> pixels;

  Frame at(size_t i) const {
    Frame frame = form;
    frame.pixels = {pixels[i].data(), pixels[i].size()};
    return frame;
  }
};

// Nobody finds half a file: what is written gets its name when it is whole.
bool write_whole(const std::string& path, Span<const uint8_t> bytes) {
  const std::string part = path + ".part";
  std::ofstream file(part, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data), static_cast<std::streamsize>(bytes.size));
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(part, path, error);
  return file && !error;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 7 && argc != 8)
    example::fail(
        "give NET.itg OUT.itg COUNT /dev/video0, or NET.itg OUT.itg COUNT FRAMES WIDTH HEIGHT [ORDER]");
  const int32_t count = std::atoi(argv[3]);
  if (count < 1) example::fail(std::string(argv[3]) + ": give the number of frames, from 1 on");
  const auto frames = example::open_frames(argc - 4, argv + 4);
  example::Memory file = example::read_file(argv[1]);
  const auto model = Model::open(file.span());
  example::check(argv[1], model.error());
  example::Memory scratch = example::frame_scratch(argv[1], *model, frames->form());
  const auto needs = Calibrator::measure(*model);
  example::check(argv[1], needs.error(), &*model);
  example::Memory memory(needs->total());
  auto calibrator = Calibrator::create(*model, memory.span());
  example::check(argv[1], calibrator.error(), &*model);

  Kept kept{*model, frames->form(), scratch.span(), {}};
  int32_t seen = 0;
  frames->each([&](const Frame& frame) {
    if (argc == 5 && seen++ % kEvery != 0) return true;
    example::check("frame", calibrator->add_frame(frame, scratch.span()), &*model);
    kept.pixels.emplace_back(frame.pixels.begin(), frame.pixels.end());
    return static_cast<int32_t>(kept.pixels.size()) < count;
  });

  SampleSource source;
  source.context = &kept;
  source.count = static_cast<int32_t>(kept.pixels.size());
  source.load = [](void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
    const Kept& k = *static_cast<Kept*>(context);
    const TensorView input{k.model.tensor(k.model.inputs()[0]), inputs[0].data};
    return write_frame(k.model.image(0), input, k.at(static_cast<size_t>(i)), k.scratch).ok();
  };
  std::string out = argv[2];
  const ModelSink sink{[](void* context, Span<const uint8_t> bytes) {
                         return write_whole(*static_cast<std::string*>(context), bytes);
                       },
                       &out};
  example::check(argv[2], calibrator->finish(sink, &source), &*model);
  std::printf("%s: calibrated from %d frames\n", argv[2], source.count);
}

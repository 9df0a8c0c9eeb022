// Frames of a Linux camera (V4L2), one after another, to classes.
//
//   camera_loop NET.itg /dev/video0 [COUNT]                  without COUNT until Ctrl-C
//   camera_loop NET.itg FRAMES WIDTH HEIGHT [ORDER]          the same from a file of frames; ORDER is yuyv unless given
#include <chrono>

#include "examples/camera_frames.h"

using namespace intaglio;

namespace {

// Prepares the way from frames to classes, and prints one line a frame.
class Classifier {
 public:
  Classifier(const char* path, const Frame& form)
      : net_(path), scratch_(example::frame_scratch(path, net_.model(), form)) {}

  void classify(const Frame& frame) {
    const auto start = std::chrono::steady_clock::now();
    example::check("frame", write_frame(net_.model().image(0), net_->input(), frame, scratch_.span()));
    net_->run();
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    std::printf("frame %zu: class %zu, %.2f ms\n", frame_++, net_.best_class(), spent.count());
    std::fflush(stdout);
  }

 private:
  example::FileSession net_;
  example::Memory scratch_;
  size_t frame_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 6)
    example::fail("give NET.itg /dev/video0 [COUNT], or NET.itg FRAMES WIDTH HEIGHT [ORDER]");
  const bool counts = argc == 4;
  int64_t left = counts ? std::atoll(argv[3]) : INT64_MAX;
  if (left < 1) example::fail(std::string(argv[3]) + ": give the number of frames, from 1 on");
  const auto frames = example::open_frames(counts ? 1 : argc - 2, argv + 2);
  Classifier classifier(argv[1], frames->form());
  frames->each([&](const Frame& frame) {
    classifier.classify(frame);
    return --left > 0;
  });
}

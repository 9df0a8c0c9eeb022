// Frames of a Linux camera (V4L2), one after another, to classes.
//
//   camera_loop NET.itg /dev/video0 [COUNT]            640 x 480 YUYV frames; without COUNT until Ctrl-C
//   camera_loop NET.itg FRAMES.yuyv WIDTH HEIGHT       the same from a file of frames
#include <fcntl.h>
#include <linux/videodev2.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>

#include "examples/example_session.h"

using namespace intaglio;

namespace {

// Of a frame in the memory of the driver or the file. False: no more frames.
using TakeFrame = std::function<bool(const uint8_t* yuyv)>;

uint8_t clamped(int32_t value) { return static_cast<uint8_t>(std::clamp(value, 0, 255)); }

// BT.601, limited range, as cameras give it: two pixels share their colour. Integers alone, so that frames become the same
// pixels on every machine.
void rgb_of_yuyv(const uint8_t* yuyv, size_t pixels, uint8_t* rgb) {
  for (size_t i = 0; i < pixels; ++i, rgb += 3) {
    const uint8_t* const pair = yuyv + i / 2 * 4;
    const int32_t c = 298 * (pair[i % 2 * 2] - 16) + 128, d = pair[1] - 128, e = pair[3] - 128;
    rgb[0] = clamped((c + 409 * e) >> 8);
    rgb[1] = clamped((c - 100 * d - 208 * e) >> 8);
    rgb[2] = clamped((c + 516 * d) >> 8);
  }
}

// A camera whose frames lie in buffers of the driver.
class Camera {
 public:
  Camera(const std::string& path, int32_t* width, int32_t* height)
      : path_(path), file_(::open(path.c_str(), O_RDWR)) {
    if (file_ < 0) example::fail(path + ": " + std::strerror(errno));
    v4l2_format format{};
    format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    format.fmt.pix.width = 640;
    format.fmt.pix.height = 480;
    format.fmt.pix.pixelformat = V4L2_PIX_FMT_YUYV;
    control(VIDIOC_S_FMT, &format, "no capture device, or one without frames");
    if (format.fmt.pix.pixelformat != V4L2_PIX_FMT_YUYV) example::fail(path + ": gives no YUYV frames");
    *width = static_cast<int32_t>(format.fmt.pix.width);
    *height = static_cast<int32_t>(format.fmt.pix.height);
    if (format.fmt.pix.bytesperline != format.fmt.pix.width * 2) example::fail(path + ": its rows have gaps");
    frame_bytes_ = size_t{format.fmt.pix.width} * 2 * format.fmt.pix.height;
    v4l2_requestbuffers request{};
    request.count = kBuffers;
    request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    request.memory = V4L2_MEMORY_MMAP;
    control(VIDIOC_REQBUFS, &request, "has no buffers to map");
    for (uint32_t i = 0; i < request.count && i < kBuffers; ++i) {
      v4l2_buffer buffer = named(i);
      control(VIDIOC_QUERYBUF, &buffer, "has no such buffer");
      if (buffer.length < frame_bytes_) example::fail(path + ": its buffers are smaller than a frame");
      frames_[i] =
          ::mmap(nullptr, buffer.length, PROT_READ, MAP_SHARED, file_, static_cast<off_t>(buffer.m.offset));
      if (frames_[i] == MAP_FAILED) example::fail(path + ": a buffer cannot be mapped");
      control(VIDIOC_QBUF, &buffer, "takes no buffer");
    }
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    control(VIDIOC_STREAMON, &type, "does not start");
  }

  // Passes over frames that the driver calls damaged or short, as many cameras begin with.
  bool next(const TakeFrame& take) {
    v4l2_buffer buffer = named(0);
    control(VIDIOC_DQBUF, &buffer, "gives no frame");
    while ((buffer.flags & V4L2_BUF_FLAG_ERROR) != 0 || buffer.bytesused < frame_bytes_) {
      control(VIDIOC_QBUF, &buffer, "takes no buffer");
      control(VIDIOC_DQBUF, &buffer, "gives no frame");
    }
    const bool more = take(static_cast<const uint8_t*>(frames_[buffer.index]));
    control(VIDIOC_QBUF, &buffer, "takes no buffer");
    return more;
  }

 private:
  static constexpr uint32_t kBuffers = 4;

  static v4l2_buffer named(uint32_t index) {
    v4l2_buffer buffer{};
    buffer.index = index;
    buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    buffer.memory = V4L2_MEMORY_MMAP;
    return buffer;
  }

  void control(unsigned long request, void* argument, const char* problem) {
    while (::ioctl(file_, request, argument) != 0)
      if (errno != EINTR) example::fail(path_ + ": " + problem + ": " + std::strerror(errno));
  }

  std::string path_;
  int file_;
  size_t frame_bytes_ = 0;
  void* frames_[kBuffers] = {};
};

// Prepares the way from frames to classes, and prints one line a frame.
class Classifier {
 public:
  Classifier(const char* path, int32_t width, int32_t height)
      : net_(path),
        picture_{width, height, PixelOrder::kRgb},
        rgb_(static_cast<size_t>(width) * static_cast<size_t>(height) * 3) {
    if (net_.model().image_count() == 0)
      example::fail(std::string(path) + ": takes no picture; import it with --pixels");
    const auto scratch = ImageWriter::measure(net_.model().image(0), net_->input().info, picture_);
    example::check(path, scratch.error());
    scratch_.resize(*scratch / sizeof(uint32_t) + 1);
  }

  void classify(const uint8_t* yuyv) {
    const auto start = std::chrono::steady_clock::now();
    rgb_of_yuyv(yuyv, rgb_.size() / 3, rgb_.data());
    const size_t row_bytes = static_cast<size_t>(picture_.width) * 3;
    example::check(
        "frame",
        write_image(net_.model().image(0), net_->input(), picture_, {rgb_.data(), rgb_.size()}, row_bytes,
                    {reinterpret_cast<uint8_t*>(scratch_.data()), scratch_.size() * sizeof(uint32_t)}));
    net_->run();
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    std::printf("frame %zu: class %zu, %.2f ms\n", frame_++, net_.best_class(), spent.count());
    std::fflush(stdout);
  }

 private:
  example::FileSession net_;
  PictureInfo picture_;
  std::vector<uint8_t> rgb_;
  std::vector<uint32_t> scratch_;
  size_t frame_ = 0;
};

void run_file(char** argv) {
  const int32_t width = std::atoi(argv[3]), height = std::atoi(argv[4]);
  if (width <= 0 || width % 2 != 0 || width > kMaxPictureSide || height <= 0 || height > kMaxPictureSide)
    example::fail("give an even width and a height in pixels");
  const auto frame_bytes = static_cast<size_t>(width) * static_cast<size_t>(height) * 2;
  example::Memory file = example::read_file(argv[2]);
  const Span<uint8_t> frames = file.span();
  if (frames.size == 0 || frames.size % frame_bytes != 0)
    example::fail(std::string(argv[2]) + ": holds " + std::to_string(frames.size) +
                  " bytes, which is no multiple of a frame's " + std::to_string(frame_bytes));
  Classifier classifier(argv[1], width, height);
  for (size_t at = 0; at < frames.size; at += frame_bytes) classifier.classify(frames.data + at);
}

void run_camera(int argc, char** argv) {
  const int64_t count = argc == 4 ? std::atoll(argv[3]) : INT64_MAX;
  if (count < 1) example::fail(std::string(argv[3]) + ": give the number of frames, from 1 on");
  int64_t left = count;
  int32_t width = 0, height = 0;
  Camera camera(argv[2], &width, &height);
  Classifier classifier(argv[1], width, height);
  while (camera.next([&](const uint8_t* yuyv) {
    classifier.classify(yuyv);
    return --left > 0;
  })) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5)
    run_file(argv);
  else if (argc == 3 || argc == 4)
    run_camera(argc, argv);
  else
    example::fail("give NET.itg /dev/video0 [COUNT], or NET.itg FRAMES.yuyv WIDTH HEIGHT");
}

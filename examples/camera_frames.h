// Frames of a Linux camera (V4L2), or of a file where there is none. They stay in the driver's buffers.
#pragma once

#include <fcntl.h>
#include <linux/videodev2.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>

#include "examples/example_session.h"
#include "intaglio/frame.h"

namespace example {

// Formats of a camera. The first that it has is taken.
struct CameraFormat {
  const char* name;
  uint32_t v4l2;
  intaglio::PixelOrder order;
  uint8_t bits;
};
inline constexpr CameraFormat kCameraFormats[] = {
    {"yuyv", V4L2_PIX_FMT_YUYV, intaglio::PixelOrder::kYuyv, 8},
    {"uyvy", V4L2_PIX_FMT_UYVY, intaglio::PixelOrder::kUyvy, 8},
    {"nv12", V4L2_PIX_FMT_NV12, intaglio::PixelOrder::kNv12, 8},
    {"nv21", V4L2_PIX_FMT_NV21, intaglio::PixelOrder::kNv21, 8},
    {"rgb565", V4L2_PIX_FMT_RGB565, intaglio::PixelOrder::kRgb565, 8},
    {"rgb565-swapped", V4L2_PIX_FMT_RGB565X, intaglio::PixelOrder::kRgb565Swapped, 8},
    {"bgra", V4L2_PIX_FMT_XBGR32, intaglio::PixelOrder::kBgra, 8},
    {"rgb", V4L2_PIX_FMT_RGB24, intaglio::PixelOrder::kRgb, 8},
    {"bgr", V4L2_PIX_FMT_BGR24, intaglio::PixelOrder::kBgr, 8},
    {"bayer-rggb", V4L2_PIX_FMT_SRGGB8, intaglio::PixelOrder::kBayerRggb, 8},
    {"bayer-grbg", V4L2_PIX_FMT_SGRBG8, intaglio::PixelOrder::kBayerGrbg, 8},
    {"bayer-gbrg", V4L2_PIX_FMT_SGBRG8, intaglio::PixelOrder::kBayerGbrg, 8},
    {"bayer-bggr", V4L2_PIX_FMT_SBGGR8, intaglio::PixelOrder::kBayerBggr, 8},
    {"bayer-rggb10", V4L2_PIX_FMT_SRGGB10, intaglio::PixelOrder::kBayerRggb, 10},
    {"bayer-bggr10", V4L2_PIX_FMT_SBGGR10, intaglio::PixelOrder::kBayerBggr, 10},
    {"gray", V4L2_PIX_FMT_GREY, intaglio::PixelOrder::kGray, 8},
    {"gray10", V4L2_PIX_FMT_Y10, intaglio::PixelOrder::kGray, 10},
    {"gray12", V4L2_PIX_FMT_Y12, intaglio::PixelOrder::kGray, 12},
    {"gray16", V4L2_PIX_FMT_Y16, intaglio::PixelOrder::kGray, 16},
};

// False: no more frames are wanted.
using TakeFrame = std::function<bool(const intaglio::Frame& frame)>;

class Frames {
 public:
  virtual ~Frames() = default;
  // All frames are like this one, which has no pixels yet.
  const intaglio::Frame& form() const { return form_; }
  virtual void each(const TakeFrame& take) = 0;

 protected:
  intaglio::Frame form_;
};

// A camera whose frames lie in buffers of the driver.
class Camera : public Frames {
 public:
  explicit Camera(const std::string& path) : path_(path), file_(::open(path.c_str(), O_RDWR)) {
    if (file_ < 0) fail(path + ": " + std::strerror(errno));
    choose_format();
    v4l2_requestbuffers request{};
    request.count = kBuffers;
    request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    request.memory = V4L2_MEMORY_MMAP;
    control(VIDIOC_REQBUFS, &request, "has no buffers to map");
    for (uint32_t i = 0; i < request.count && i < kBuffers; ++i) {
      v4l2_buffer buffer = named(i);
      control(VIDIOC_QUERYBUF, &buffer, "has no such buffer");
      buffers_[i] =
          ::mmap(nullptr, buffer.length, PROT_READ, MAP_SHARED, file_, static_cast<off_t>(buffer.m.offset));
      if (buffers_[i] == MAP_FAILED) fail(path + ": a buffer cannot be mapped");
      control(VIDIOC_QBUF, &buffer, "takes no buffer");
    }
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    control(VIDIOC_STREAMON, &type, "does not start");
  }

  // Passes over frames that the driver calls damaged or short, as many cameras begin with.
  void each(const TakeFrame& take) override {
    for (bool more = true; more;) {
      v4l2_buffer buffer = named(0);
      control(VIDIOC_DQBUF, &buffer, "gives no frame");
      if ((buffer.flags & V4L2_BUF_FLAG_ERROR) == 0 && buffer.bytesused >= frame_bytes_) {
        intaglio::Frame frame = form_;
        frame.pixels = {static_cast<const uint8_t*>(buffers_[buffer.index]), buffer.bytesused};
        more = take(frame);
      }
      control(VIDIOC_QBUF, &buffer, "takes no buffer");
    }
  }

 private:
  static constexpr uint32_t kBuffers = 4;

  void choose_format() {
    v4l2_format format{};
    for (const CameraFormat& known : kCameraFormats) {
      format = {};
      format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
      format.fmt.pix.width = 640;
      format.fmt.pix.height = 480;
      format.fmt.pix.pixelformat = known.v4l2;
      control(VIDIOC_S_FMT, &format, "no capture device, or one without frames");
      if (format.fmt.pix.pixelformat != known.v4l2) continue;
      form_.info = {static_cast<int32_t>(format.fmt.pix.width), static_cast<int32_t>(format.fmt.pix.height),
                    known.order, known.bits};
      const bool full = format.fmt.pix.quantization == V4L2_QUANTIZATION_FULL_RANGE;
      form_.info.yuv = format.fmt.pix.ycbcr_enc == V4L2_YCBCR_ENC_709
                           ? (full ? intaglio::YuvColors::kBt709Full : intaglio::YuvColors::kBt709)
                           : (full ? intaglio::YuvColors::kBt601Full : intaglio::YuvColors::kBt601);
      form_.row_bytes = format.fmt.pix.bytesperline;
      const size_t rows = format.fmt.pix.height,
                   pairs = frame_chroma_row_bytes(form_.info) == 0 ? 0 : (rows + 1) / 2;
      frame_bytes_ = form_.row_bytes * (rows + pairs);
      return;
    }
    fail(path_ + ": gives frames of another kind alone");
  }

  static v4l2_buffer named(uint32_t index) {
    v4l2_buffer buffer{};
    buffer.index = index;
    buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    buffer.memory = V4L2_MEMORY_MMAP;
    return buffer;
  }

  void control(unsigned long request, void* argument, const char* problem) {
    while (::ioctl(file_, request, argument) != 0)
      if (errno != EINTR) fail(path_ + ": " + problem + ": " + std::strerror(errno));
  }

  std::string path_;
  int file_;
  size_t frame_bytes_ = 0;
  void* buffers_[kBuffers] = {};
};

// Frames one behind the other, without gaps.
class FileOfFrames : public Frames {
 public:
  FileOfFrames(const std::string& path, const char* width, const char* height, const std::string& order)
      : file_(read_file(path)) {
    const CameraFormat* known = nullptr;
    for (const CameraFormat& format : kCameraFormats)
      if (order == format.name) known = &format;
    if (known == nullptr) fail(order + ": is no order of pixels that a camera gives");
    form_.info = {std::atoi(width), std::atoi(height), known->order, known->bits};
    const auto is_side = [](int32_t side) { return side >= 1 && side <= intaglio::kMaxPictureSide; };
    if (!is_side(form_.info.width) || !is_side(form_.info.height))
      fail("give a width and a height in pixels");
    const size_t bytes = intaglio::frame_bytes(form_.info), all = file_.span().size;
    if (all == 0 || all % bytes != 0)
      fail(path + ": holds " + std::to_string(all) + " bytes, which is no multiple of a frame's " +
           std::to_string(bytes));
  }
  void each(const TakeFrame& take) override {
    const size_t bytes = intaglio::frame_bytes(form_.info);
    bool more = true;
    for (size_t at = 0; at < file_.span().size && more; at += bytes) {
      intaglio::Frame frame = form_;
      frame.pixels = {file_.span().data + at, bytes};
      more = take(frame);
    }
  }

 private:
  Memory file_;
};

// The frames that the words name: "/dev/video0", or "FRAMES WIDTH HEIGHT [ORDER]".
inline std::unique_ptr<Frames> open_frames(int count, char** words) {
  if (count == 1) return std::make_unique<Camera>(words[0]);
  return std::make_unique<FileOfFrames>(words[0], words[1], words[2], count == 4 ? words[3] : "yuyv");
}

// Scratch memory for frames that become the picture of a model.
inline Memory frame_scratch(const std::string& path, const intaglio::Model& model,
                            const intaglio::Frame& form) {
  if (model.image_count() == 0) fail(path + ": takes no picture; import it with --pixels");
  const intaglio::ImageInput recipe = model.image(0);
  const auto bytes = intaglio::FrameWriter::measure(
      recipe, model.tensor(model.inputs()[static_cast<size_t>(recipe.input)]), form.info);
  check(path, bytes.error(), &model);
  return Memory(*bytes);
}

}  // namespace example

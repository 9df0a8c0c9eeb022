// Turns pixels into a model's input. The recipe is part of the model file, and the same code applies it on the device
// and on the build machine.
//
// A picture comes whole, or row by row as from a camera. Its pixels get the model's colours, the picture is resized,
// and each value is written to the input tensor:
//
//   gray      (77 R + 150 G + 29 B + 128) >> 8. A gray source gives a colour model three equal channels.
//   part      the part of the source that is used: w x h pixels at ((source_w - w) / 2, (source_h - h) / 2),
//             rounded down. crop: 87.5 % of the largest rectangle with the target's proportions; half rounds up.
//             Otherwise all of it.
//   content   the part of the target that is filled. letterbox: the largest rectangle with the source's
//             proportions, half rounds up, central in the same way; the rest is the pixel `border`. Otherwise all of it.
//   resize    pixel = (sum over y, x of wy * wx * source[y][x] + 2^21) >> 22. The weights of an axis that
//             brings S source pixels to T are integers that sum to 2048; divisions round down:
//     T < S   the mean of the area: in parts of S, output t covers source pixel i from
//             a = max(i T - t S, 0) to b = min((i + 1) T - t S, S); the weight is C(b) - C(a),
//             where C(x) = (2048 x + S / 2) / S
//     T >= S  bilinear between pixel centres: p = (2048 ((2 t + 1) S - T) + T) / (2 T), clamped to
//             [0, 2048 (S - 1)]; pixel p >> 11 weighs 2048 - (p & 2047), the next one p & 2047
//   value     int8: table[channel][pixel]; FP32: (float(pixel) - mean[channel]) * norm[channel]
//
// The result is the same on every machine: integers, and two float operations for an FP32 value. A source that has the
// target's size is not resized, in any mode.
#pragma once

#include "intaglio/span.h"
#include "intaglio/status.h"
#include "intaglio/tensor.h"

namespace intaglio {

// The order of a model's channels.
enum class ColorOrder : uint8_t { kRgb = 0, kBgr = 1, kGray = 2 };

// How a picture of another size becomes the input.
enum class ResizeMode : uint8_t {
  kStretch = 0,    // each axis by its own factor
  kCrop = 1,       // the central part with the target's proportions, 87.5 % of the largest one
  kLetterbox = 2,  // the whole picture, with borders of one pixel value
};

inline constexpr int32_t kMaxImageChannels = 4;
inline constexpr uint8_t kUsualBorder = 128;
inline constexpr int32_t kMaxPictureSide = 32767;  // of a source, in pixels

// The recipe of one image input: real = (pixel - mean[c]) * norm[c], with channels `c` in the model's order. Pixels are
// in [0, 255].
struct ImageInput {
  int32_t input = 0;  // index into the model's inputs
  ColorOrder color = ColorOrder::kRgb;
  ResizeMode resize = ResizeMode::kStretch;
  uint8_t border = kUsualBorder;  // letterbox: the pixel of its borders, in each channel
  int32_t channels = 0;           // 1 for gray, 3 otherwise
  float mean[kMaxImageChannels] = {};
  float norm[kMaxImageChannels] = {};
  Span<const int8_t> table;  // int8 inputs: [channels, 256], from pixel to code; empty for FP32 inputs
};

// The pixels of a source. The first four have 8 bits a channel, the channels of a pixel side by side, and are those of pictures;
// intaglio/frame.h says what the others are, and takes all of them. Alpha is ignored.
enum class PixelOrder : uint8_t {
  kRgb = 0,
  kBgr = 1,
  kGray = 2,
  kRgba = 3,
  kBgra = 4,
  kRgb565 = 5,         // the low byte first
  kRgb565Swapped = 6,  // the high byte first
  kYuyv = 7,
  kUyvy = 8,
  kNv12 = 9,
  kNv21 = 10,
  kBayerRggb = 11,
  kBayerGrbg = 12,
  kBayerGbrg = 13,
  kBayerBggr = 14,
};

// Bytes of one pixel of a picture: 1, 3 or 4.
constexpr int32_t pixel_bytes(PixelOrder order) {
  return order == PixelOrder::kGray ? 1 : order == PixelOrder::kRgba ? 4 : 3;
}

// The size of a source, and what its pixels are.
struct PictureInfo {
  int32_t width = 0;                    // in pixels, 1 to kMaxPictureSide
  int32_t height = 0;                   // likewise
  PixelOrder order = PixelOrder::kRgb;  // kRgb to kRgba
};

// Fills one input tensor from the rows of one picture, from top to bottom. The tensor is int8 or FP32, NHWC, with the
// shape [1, h, w, c]; a larger batch is refused (kShapeMismatch). The sides h and w are at most kMaxPictureSide.
class ImageWriter {
 public:
  // The bytes of scratch memory that begin() needs: those of a few rows. 0 if the picture has the target's size and
  // colours. Errors: the recipe, the target or the picture's size is not usable.
  static Result<size_t> measure(const ImageInput& recipe, const TensorInfo& target,
                                const PictureInfo& picture);

  // Starts a picture. Letterbox borders are written here.
  //
  // `scratch` starts at a multiple of 4, has measure() bytes and is used until the last row. The recipe is copied,
  // but its table is not: that outlives the writer. Errors: those of measure(), and scratch that is too small
  // (kScratchTooSmall) or misaligned (kMemoryMisaligned).
  Error begin(const ImageInput& recipe, const TensorView& target, const PictureInfo& picture,
              Span<uint8_t> scratch);
  // Takes the next row: width * pixel_bytes(order) bytes. Rows outside the used part are only counted. A row too
  // many is refused (kPictureRows).
  Error push_row(const uint8_t* row);
  // Whether the whole target has been written.
  bool done() const { return content_.h != 0 && next_output_ == content_.h; }

 private:
  struct Box {
    int32_t x = 0, y = 0, w = 0, h = 0;
  };

  friend class FrameWriter;
  // Takes the next row of the target, from top to bottom: its pixels, in the model's colours.
  using PutRow = void (*)(ImageWriter& writer, const uint8_t* pixels);

  Error plan(const ImageInput& recipe, const TensorInfo& target, const PictureInfo& picture);
  void plan_boxes();
  size_t scratch_bytes() const {
    return 2 * sums_bytes_ + columns_bytes_ + static_cast<size_t>(row_bytes_) + pixels_bytes_;
  }
  Error begin_rows(const ImageInput& recipe, const TensorInfo& target, const PictureInfo& picture,
                   Span<uint8_t> scratch, void* sink, PutRow put_row);
  void fill_columns();
  const uint8_t* to_model_colors(const uint8_t* row);
  void resize_columns(const uint8_t* pixels, int32_t* sums) const;
  void take_pixels(const uint8_t* pixels, int32_t part_row);
  void shrink_rows(const uint8_t* pixels, int32_t row);
  void enlarge_rows(const uint8_t* pixels, int32_t row);
  template <typename PixelAt>
  void emit_row(PixelAt pixel_at);
  void end_row(const uint8_t* pixels);
  void put_border(int32_t rows);
  static void put_in_tensor(ImageWriter& writer, const uint8_t* pixels);

  ImageInput recipe_;
  PictureInfo picture_;
  DType dtype_ = DType::kNone;
  PutRow put_row_ = nullptr;
  void* sink_ = nullptr;  // where rows go: the next row of the tensor, unless put_row_ is another
  int32_t target_h_ = 0, target_w_ = 0;
  Box part_;     // of the source
  Box content_;  // of the target
  bool same_colors_ = false, same_size_ = false;

  // Places in the scratch memory.
  size_t sums_bytes_ = 0, columns_bytes_ = 0, pixels_bytes_ = 0;
  int32_t row_bytes_ = 0;        // 0: rows of the source are rows of the target
  int32_t* sums_[2] = {};        // weighted sums of pixels: [content w, channels]
  uint16_t* columns_ = nullptr;  // for each content column: first pixel of the part, count, the weights
  uint8_t* row_ = nullptr;       // a row of the target, with its borders
  uint8_t* pixels_ = nullptr;    // a row of the part in the model's colours

  int32_t next_row_ = 0;     // of the source
  int32_t next_output_ = 0;  // of the content
};

// Fills an input tensor from a picture in memory, as an ImageWriter does. Its rows start `row_bytes` apart. `scratch`
// is as for ImageWriter::begin(). Errors: those of ImageWriter::begin(), rows that overlap (kRowBytes), and `pixels`
// with fewer bytes than the picture (kPictureBytes).
Error write_image(const ImageInput& recipe, const TensorView& target, const PictureInfo& picture,
                  Span<const uint8_t> pixels, size_t row_bytes, Span<uint8_t> scratch);

}  // namespace intaglio

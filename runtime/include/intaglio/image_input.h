// Pixels to model input, on the device and on the host alike: the recipe is part of the model file.
//
// A picture comes row by row, as from a camera, or whole. Each pixel is brought to the model's colours, the
// picture is resized, and each value goes to the input tensor:
//
//   gray      (77 R + 150 G + 29 B + 128) >> 8; a gray source gives a colour model three equal channels
//   part      of the source that is used, w x h at ((source_w - w) / 2, (source_h - h) / 2), rounded down.
//             crop: 87.5 % of the largest rectangle with the target's proportions (half rounds up)
//   content   of the target that is filled. letterbox: the largest rectangle with the source's proportions
//             (half rounds up), central in the same way; the rest is the pixel 128
//   resize    pixel = (sum over y, x of wy * wx * source[y][x] + 2^21) >> 22. The weights of an axis that
//             brings S source pixels to T are integers that sum to 2048; divisions round down:
//     T < S   the mean of the area: in parts of S, output t covers source pixel i from
//             a = max(i T - t S, 0) to b = min((i + 1) T - t S, S); the weight is C(b) - C(a),
//             where C(x) = (2048 x + S / 2) / S
//     T >= S  bilinear between pixel centres: p = (2048 ((2 t + 1) S - T) + T) / (2 T), clamped to
//             [0, 2048 (S - 1)]; pixel p >> 11 weighs 2048 - (p & 2047), the next one p & 2047
//   value     int8: table[channel][pixel]; FP32: (float(pixel) - mean[channel]) * norm[channel]
//
// All of it is integers and two float operations a value, the same on every machine. A source that has the
// target's size already passes unchanged in every mode.
#pragma once

#include "intaglio/span.h"
#include "intaglio/status.h"
#include "intaglio/tensor.h"

namespace intaglio {

enum class ColorOrder : uint8_t { kRgb = 0, kBgr = 1, kGray = 2 };
enum class ResizeMode : uint8_t {
  kStretch = 0,    // each axis by its own factor
  kCrop = 1,       // central part in the target's proportions, 87.5 % of the largest
  kLetterbox = 2,  // whole picture, borders filled with the pixel value 128
};

inline constexpr int32_t kMaxImageChannels = 4;
inline constexpr int32_t kMaxPictureSide = 32767;  // of a source, in pixels

// real = (pixel - mean[c]) * norm[c], channels in the model's own order.
struct ImageInput {
  int32_t input = 0;  // index into the model's inputs
  ColorOrder color = ColorOrder::kRgb;
  ResizeMode resize = ResizeMode::kStretch;
  int32_t channels = 0;  // 1 for gray, 3 otherwise
  float mean[kMaxImageChannels] = {};
  float norm[kMaxImageChannels] = {};
  Span<const int8_t> table;  // int8 inputs: [channels, 256], pixel to code; empty for FP32 inputs
};

// Pixels of a source, 8 bits a channel, channels side by side.
enum class PixelOrder : uint8_t { kRgb = 0, kBgr = 1, kGray = 2, kRgba = 3 };  // alpha is ignored

constexpr int32_t pixel_bytes(PixelOrder order) {
  return order == PixelOrder::kGray ? 1 : order == PixelOrder::kRgba ? 4 : 3;
}

struct PictureInfo {
  int32_t width = 0;
  int32_t height = 0;
  PixelOrder order = PixelOrder::kRgb;
};

// Fills one input tensor, NHWC [1, h, w, c], s8 or f32, from the rows of one picture, top to bottom.
class ImageWriter {
 public:
  // Checks the recipe, the target and the picture's size, and gives the scratch bytes that begin() takes:
  // a few rows, and nothing where the picture has the target's size and colours.
  static Result<size_t> measure(const ImageInput& recipe, const TensorInfo& target,
                                const PictureInfo& picture);

  // `scratch` starts at a multiple of 4 and is this writer's until the last row; the recipe is copied, its
  // table is not. Letterbox borders are written here.
  Error begin(const ImageInput& recipe, const TensorView& target, const PictureInfo& picture,
              Span<uint8_t> scratch);
  // The next row: width * pixel_bytes(order) bytes. Rows beyond the part that is used are only counted.
  Error push_row(const uint8_t* row);
  // The whole target has been written.
  bool done() const { return content_.h != 0 && next_output_ == content_.h; }

 private:
  struct Box {
    int32_t x = 0, y = 0, w = 0, h = 0;
  };

  Error plan(const ImageInput& recipe, const TensorInfo& target, const PictureInfo& picture);
  void plan_boxes();
  void fill_border();
  void fill_columns();
  const uint8_t* to_model_colors(const uint8_t* row);
  void resize_columns(const uint8_t* pixels, int32_t* sums) const;
  void shrink_rows(const uint8_t* pixels, int32_t row);
  void enlarge_rows(const uint8_t* pixels, int32_t row);
  template <typename PixelAt>
  void emit_row(Box box, int32_t row, PixelAt pixel_at);

  ImageInput recipe_;
  PictureInfo picture_;
  DType dtype_ = DType::kNone;
  void* target_ = nullptr;
  int32_t target_h_ = 0, target_w_ = 0;
  Box part_;     // of the source
  Box content_;  // of the target
  bool same_colors_ = false, same_size_ = false;

  // Places in the scratch memory.
  size_t sums_bytes_ = 0, columns_bytes_ = 0, pixels_bytes_ = 0;
  int32_t* sums_[2] = {};        // weighted sums of pixels: [content w, channels]
  uint16_t* columns_ = nullptr;  // for each content column: first pixel of the part, count, the weights
  uint8_t* pixels_ = nullptr;    // a row of the part in the model's colours

  int32_t next_row_ = 0;     // of the source
  int32_t next_output_ = 0;  // of the content
};

// The same for a picture in memory, its rows `row_bytes` apart.
Error write_image(const ImageInput& recipe, const TensorView& target, const PictureInfo& picture,
                  Span<const uint8_t> pixels, size_t row_bytes, Span<uint8_t> scratch);

}  // namespace intaglio

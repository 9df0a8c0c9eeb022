// Turns a frame, as a camera's interface gives it, into a model's input: any order of pixels, rows any number of bytes apart.
//
// Each pixel becomes 8 bits of red, green and blue by the formulas below, and from there on it is a picture's pixel: its colours become
// the model's, it is resized and normalized as intaglio/image_input.h says. All of it is integers, so that a frame gives the same input on
// every machine. `x` and `y` count from 0 at the top left; divisions round down. A word of two bytes has its low byte first.
//
//   kGray        v to (v, v, v). With `bits` above 8 a pixel is a word, and v = (word >> (bits - 8)) & 255.
//   kRgb565      a word r5 g6 b5, red at the top: (r5 << 3 | r5 >> 2, g6 << 2 | g6 >> 4, b5 << 3 | b5 >> 2).
//                kRgb565Swapped has the high byte first.
//   kYuyv        bytes Y0 U Y1 V for pixels 2i and 2i + 1; kUyvy: U Y0 V Y1. A row of odd width ends with a whole group of 4.
//   kNv12        rows of Y, and a second plane with a row of pairs (U, V) for two rows and a pair for two columns: pixel (x, y) has pair
//                (x / 2, y / 2). It has (height + 1) / 2 rows of (width + 1) / 2 pairs. kNv21: pairs (V, U).
//     Y, U, V    c = m[0] * (Y - m[1]) + 128, d = U - 128, e = V - 128, shifts are arithmetic, and each result is held within [0, 255]:
//                ((c + m[2] * e) >> 8, (c - m[3] * d - m[4] * e) >> 8, (c + m[5] * d) >> 8)
//                where m is of YuvColors. For a gray model d = e = 0: its pixel is the luma alone, and the chroma is not read.
//   kBayer...    one colour a pixel; the name gives those of the first two pixels of row 0, then of row 1. `bits` as for kGray, so that
//                samples have 8 bits before anything else. Two colours of a pixel come from its neighbours, bilinear: the green of a red
//                or blue pixel is (left + right + above + below + 2) >> 2, its blue or red the sum of the four diagonal ones + 2, >> 2. The
//                red and blue of a green pixel are (left + right + 1) >> 1 and (above + below + 1) >> 1, each of the two that have it.
//                Behind an edge lies the pixel inside of it: -1 is 1, n is n - 2; where a side has one pixel, all are that one.
#pragma once

#include "intaglio/image_input.h"
#include "intaglio/session.h"

namespace intaglio {

// The meaning of Y, U and V: the standard's matrix, and whether Y is 16 to 235 (as most cameras give it) or 0 to 255.
enum class YuvColors : uint8_t {
  kBt601 = 0,      // 298 16 409 100 208 516
  kBt601Full = 1,  // 256  0 359  88 183 454; that of JPEG, and of many sensors' own YUV
  kBt709 = 2,      // 298 16 459  55 136 541
  kBt709Full = 3,  // 256  0 403  48 120 475
};

// The size of a frame, and what its pixels are.
struct FrameInfo {
  int32_t width = 0;                    // in pixels, 1 to kMaxPictureSide
  int32_t height = 0;                   // likewise
  PixelOrder order = PixelOrder::kRgb;  // any of them
  uint8_t bits = 8;                     // of a sample: 8 to 16 of kGray and Bayer's, 8 of all others
  YuvColors yuv = YuvColors::kBt601;    // of kYuyv to kNv21
};

// Bytes of a row: of Y where the frame has two planes.
constexpr size_t frame_row_bytes(const FrameInfo& frame) {
  const auto width = static_cast<size_t>(frame.width);
  switch (frame.order) {
    case PixelOrder::kRgb:
    case PixelOrder::kBgr:
      return 3 * width;
    case PixelOrder::kRgba:
    case PixelOrder::kBgra:
      return 4 * width;
    case PixelOrder::kRgb565:
    case PixelOrder::kRgb565Swapped:
      return 2 * width;
    case PixelOrder::kYuyv:
    case PixelOrder::kUyvy:
      return (width + 1) / 2 * 4;
    case PixelOrder::kNv12:
    case PixelOrder::kNv21:
      return width;
    default:
      return frame.bits > 8 ? 2 * width : width;
  }
}

// Bytes of a row of the second plane; 0 for a frame that has none.
constexpr size_t frame_chroma_row_bytes(const FrameInfo& frame) {
  const bool two = frame.order == PixelOrder::kNv12 || frame.order == PixelOrder::kNv21;
  return two ? (static_cast<size_t>(frame.width) + 1) / 2 * 2 : 0;
}

// Bytes of a frame whose rows and planes follow each other without gaps.
constexpr size_t frame_bytes(const FrameInfo& frame) {
  const auto height = static_cast<size_t>(frame.height);
  return height * frame_row_bytes(frame) + (height + 1) / 2 * frame_chroma_row_bytes(frame);
}

// A frame in memory.
struct Frame {
  FrameInfo info;
  Span<const uint8_t> pixels;  // its rows, or those of Y
  size_t row_bytes = 0;        // from row to row; 0: frame_row_bytes()
  Span<const uint8_t>
      chroma;  // the second plane; empty: it lies in `pixels`, behind `height` times `row_bytes`
  size_t chroma_row_bytes = 0;  // 0: row_bytes, or frame_chroma_row_bytes() where that is 0, too
};

// Fills one input tensor from the rows of one frame, from top to bottom, as ImageWriter does from those of a picture. It takes every
// PixelOrder.
class FrameWriter {
 public:
  // The bytes of scratch memory that begin() needs: those of a few rows, the same on every machine. Errors: the recipe, the target,
  // the frame's size, order (kBadEnum) or bits (kSampleBits) is not usable.
  static Result<size_t> measure(const ImageInput& recipe, const TensorInfo& target, const FrameInfo& frame);

  // Starts a frame that becomes a tensor. `scratch` and the recipe are as for ImageWriter::begin(), and so are the errors, besides those of
  // measure().
  Error begin(const ImageInput& recipe, const TensorView& target, const FrameInfo& frame,
              Span<uint8_t> scratch);
  // Starts a frame whose rows, once they have the model's size and colours, go to session.feed_rows(): no picture stands in memory where
  // the model has a plan that feeds rows. The recipe is that of the first input, and so is what measure() is asked for. Calls
  // session.begin_picture(). The session outlives the last row, in the same place.
  Error begin_feed(Session& session, const FrameInfo& frame, Span<uint8_t> scratch);
  // Takes the next row: frame_row_bytes(), and of kNv12 and kNv21 row y / 2 of the second plane as well, unless the model is gray. Errors:
  // a row that is missing (kInputMissing), and one too many (kPictureRows).
  Error push_row(const uint8_t* row, const uint8_t* chroma = nullptr);
  // Whether the whole target has been written, or every row been fed.
  bool done() const { return image_.done(); }

 private:
  Error plan(const ImageInput& recipe, const TensorInfo& target, const FrameInfo& frame);
  Error begin_rows(const ImageInput& recipe, const TensorInfo& target, const FrameInfo& frame,
                   Span<uint8_t> scratch, void* sink, ImageWriter::PutRow put_row);
  bool is_bayer() const { return frame_.order >= PixelOrder::kBayerRggb; }
  int32_t sample(const uint8_t* row, int32_t x) const;
  uint8_t* line(int32_t y) const;
  void keep_line(const uint8_t* row, int32_t y) const;
  void take_row(int32_t y, const uint8_t* row, const uint8_t* chroma);
  void put_yuv(const uint8_t* row, const uint8_t* chroma) const;
  void put_bayer(int32_t y) const;

  ImageWriter image_;  // gets pixels in the model's colours
  FrameInfo frame_;
  bool needs_chroma_ = false;
  size_t pixels_bytes_ = 0, line_bytes_ = 0;
  uint8_t* pixels_ = nullptr;  // in the scratch memory: a row of the used part in the model's colours
  uint8_t* lines_ = nullptr;   // Bayer: three rows of samples, each with a neighbour at both ends
  int32_t next_row_ = 0;
};

// Fills an input tensor from a frame in memory. Errors: those of FrameWriter::begin(), rows that overlap (kRowBytes), and a plane with
// fewer bytes than its rows (kPictureBytes).
Error write_frame(const ImageInput& recipe, const TensorView& target, const Frame& frame,
                  Span<uint8_t> scratch);

// Feeds a frame in memory to a session: afterwards its outputs are there. Errors: those of FrameWriter::begin_feed() and write_frame().
// Then nothing was run.
Error feed_frame(Session& session, const Frame& frame, Span<uint8_t> scratch);

}  // namespace intaglio

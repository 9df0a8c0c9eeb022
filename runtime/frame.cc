#include "intaglio/frame.h"

#include "runtime/picture_rows.h"

namespace intaglio {
namespace {

constexpr int32_t kLines = 3;  // of samples that a Bayer pixel's neighbours lie in

int32_t held(int32_t v) { return v < 0 ? 0 : v > 255 ? 255 : v; }

// The sample that stands for number `i` of `n` where that is one past an end.
int32_t reflected(int32_t i, int32_t n) {
  if (n == 1) return 0;
  return i < 0 ? 1 : i >= n ? n - 2 : i;
}

bool has_samples(PixelOrder order) { return order == PixelOrder::kGray || order >= PixelOrder::kBayerRggb; }
bool has_planes(PixelOrder order) { return order == PixelOrder::kNv12 || order == PixelOrder::kNv21; }

Error check_frame(const FrameInfo& frame) {
  if (frame.order > PixelOrder::kBayerBggr) {
    return {Status::kBadEnum, -1, -1, static_cast<int64_t>(frame.order),
            static_cast<int64_t>(PixelOrder::kBayerBggr)};
  }
  if (frame.yuv > YuvColors::kBt709Full) {
    return {Status::kBadEnum, -1, -1, static_cast<int64_t>(frame.yuv),
            static_cast<int64_t>(YuvColors::kBt709Full)};
  }
  const int32_t most = has_samples(frame.order) ? 16 : 8;
  if (frame.bits < 8 || frame.bits > most) return {Status::kSampleBits, -1, -1, frame.bits, most};
  return kNoError;
}

// The picture whose pixels need no conversion.
PictureInfo in_model_colors(const ImageInput& recipe, const FrameInfo& frame) {
  return {frame.width, frame.height,
          recipe.color == ColorOrder::kGray  ? PixelOrder::kGray
          : recipe.color == ColorOrder::kBgr ? PixelOrder::kBgr
                                             : PixelOrder::kRgb};
}

}  // namespace

Error FrameWriter::plan(const ImageInput& recipe, const TensorInfo& target, const FrameInfo& frame) {
  ITG_TRY(image_.plan(recipe, target, in_model_colors(recipe, frame)));
  ITG_TRY(check_frame(frame));
  frame_ = frame;
  needs_chroma_ = has_planes(frame.order) && recipe.color != ColorOrder::kGray;
  pixels_bytes_ = static_cast<size_t>(image_.part_.w) * static_cast<size_t>(recipe.channels);
  line_bytes_ = is_bayer() ? static_cast<size_t>(image_.part_.w) + 2 : 0;
  return kNoError;
}

Result<size_t> FrameWriter::measure(const ImageInput& recipe, const TensorInfo& target,
                                    const FrameInfo& frame) {
  FrameWriter writer;
  ITG_TRY(writer.plan(recipe, target, frame));
  return writer.image_.scratch_bytes() + writer.pixels_bytes_ + kLines * writer.line_bytes_;
}

Error FrameWriter::begin(const ImageInput& recipe, const TensorView& target, const FrameInfo& frame,
                         Span<uint8_t> scratch) {
  return begin_rows(recipe, target.info, frame, scratch, target.data, ImageWriter::put_in_tensor);
}

Error FrameWriter::begin_rows(const ImageInput& recipe, const TensorInfo& target, const FrameInfo& frame,
                              Span<uint8_t> scratch, void* sink, ImageWriter::PutRow put_row) {
  frame_.height = next_row_ = 0;  // no rows are taken before all is well
  image_ = ImageWriter();
  ITG_TRY(plan(recipe, target, frame));
  frame_.height = 0;
  const size_t of_image = image_.scratch_bytes();
  const size_t needed = of_image + pixels_bytes_ + kLines * line_bytes_;
  if (scratch.size < needed) {
    return {Status::kScratchTooSmall, -1, -1, static_cast<int64_t>(scratch.size),
            static_cast<int64_t>(needed)};
  }
  ITG_TRY(image_.begin_rows(recipe, target, in_model_colors(recipe, frame), {scratch.data, of_image}, sink,
                            put_row));
  pixels_ = scratch.data + of_image;
  lines_ = pixels_ + pixels_bytes_;
  frame_.height = frame.height;
  return kNoError;
}

Error FrameWriter::push_row(const uint8_t* row, const uint8_t* chroma) {
  const int32_t y = next_row_;
  if (row == nullptr || (needs_chroma_ && chroma == nullptr))
    return {Status::kInputMissing, -1, -1, image_.recipe_.input, 0};
  if (y >= frame_.height) return {Status::kPictureRows, -1, -1, y, frame_.height};
  ++next_row_;
  if (!is_bayer()) {
    take_row(y, row, chroma);
    return kNoError;
  }
  // A row's pixels need the row below.
  keep_line(row, y);
  if (y > 0) take_row(y - 1, row, nullptr);
  if (next_row_ == frame_.height) take_row(y, row, nullptr);
  return kNoError;
}

int32_t FrameWriter::sample(const uint8_t* row, int32_t x) const {
  if (frame_.bits == 8) return row[x];
  return ((row[2 * x] | row[2 * x + 1] << 8) >> (frame_.bits - 8)) & 255;
}

// Row `y` of the samples, of the three that are kept.
uint8_t* FrameWriter::line(int32_t y) const {
  return lines_ + static_cast<size_t>(reflected(y, frame_.height) % kLines) * line_bytes_;
}

void FrameWriter::keep_line(const uint8_t* row, int32_t y) const {
  const int32_t part_row = y - image_.part_.y;
  if (part_row < -1 || part_row > image_.part_.h) return;
  uint8_t* const to = line(y);
  for (int32_t i = 0; i < image_.part_.w + 2; ++i)
    to[i] = static_cast<uint8_t>(sample(row, reflected(image_.part_.x + i - 1, frame_.width)));
}

void FrameWriter::take_row(int32_t y, const uint8_t* row, const uint8_t* chroma) {
  const int32_t part_row = y - image_.part_.y, x = image_.part_.x, width = image_.part_.w;
  if (part_row < 0 || part_row >= image_.part_.h) return;
  const ColorOrder color = image_.recipe_.color;
  switch (frame_.order) {
    case PixelOrder::kGray: {
      const auto rgb_at = [&](int32_t i) {
        const int32_t v = sample(row, x + i);
        return Rgb{v, v, v};
      };
      put_colors(color, width, rgb_at, pixels_);
      break;
    }
    case PixelOrder::kRgb565:
    case PixelOrder::kRgb565Swapped: {
      const int32_t high = frame_.order == PixelOrder::kRgb565 ? 1 : 0;
      const auto rgb_at = [&](int32_t i) {
        const uint8_t* const word = row + 2 * static_cast<ptrdiff_t>(x + i);
        const int32_t v = word[high] << 8 | word[1 - high];
        const int32_t r = v >> 11, g = v >> 5 & 63, b = v & 31;
        return Rgb{r << 3 | r >> 2, g << 2 | g >> 4, b << 3 | b >> 2};
      };
      put_colors(color, width, rgb_at, pixels_);
      break;
    }
    case PixelOrder::kYuyv:
    case PixelOrder::kUyvy:
    case PixelOrder::kNv12:
    case PixelOrder::kNv21:
      put_yuv(row, chroma);
      break;
    case PixelOrder::kBayerRggb:
    case PixelOrder::kBayerGrbg:
    case PixelOrder::kBayerGbrg:
    case PixelOrder::kBayerBggr:
      put_bayer(y);
      break;
    default: {
      const bool alpha = frame_.order == PixelOrder::kRgba || frame_.order == PixelOrder::kBgra;
      const bool rgb = frame_.order == PixelOrder::kRgb || frame_.order == PixelOrder::kRgba;
      const int32_t step = alpha ? 4 : 3;
      put_colors_of_bytes(color, width, row + static_cast<ptrdiff_t>(x) * step, step, rgb ? 0 : 2, pixels_);
    }
  }
  image_.take_pixels(pixels_, part_row);
}

void FrameWriter::put_yuv(const uint8_t* row, const uint8_t* chroma) const {
  // Y, its offset, then red of V, green of U, green of V, blue of U: in 256ths. See YuvColors.
  static constexpr int16_t kMatrices[4][6] = {{298, 16, 409, 100, 208, 516},
                                              {256, 0, 359, 88, 183, 454},
                                              {298, 16, 459, 55, 136, 541},
                                              {256, 0, 403, 48, 120, 475}};
  const int16_t* const m = kMatrices[static_cast<size_t>(frame_.yuv)];
  const bool planes = has_planes(frame_.order), uyvy = frame_.order == PixelOrder::kUyvy;
  const uint8_t* const luma = uyvy ? row + 1 : row;
  const uint8_t* const pairs = planes ? chroma : uyvy ? row : row + 1;
  const int32_t luma_step = planes ? 1 : 2, pair_step = planes ? 2 : 4;
  const int32_t v_at = planes ? 1 : 2;
  const bool swapped = frame_.order == PixelOrder::kNv21;
  const bool gray = image_.recipe_.color == ColorOrder::kGray;
  const auto rgb_at = [&](int32_t i) {
    const int32_t x = image_.part_.x + i;
    const int32_t c = m[0] * (luma[x * luma_step] - m[1]) + 128;
    int32_t d = 0, e = 0;
    if (!gray) {
      const uint8_t* const pair = pairs + static_cast<ptrdiff_t>(x / 2) * pair_step;
      d = pair[swapped ? v_at : 0] - 128;
      e = pair[swapped ? 0 : v_at] - 128;
    }
    return Rgb{held((c + m[2] * e) >> 8), held((c - m[3] * d - m[4] * e) >> 8), held((c + m[5] * d) >> 8)};
  };
  put_colors(image_.recipe_.color, image_.part_.w, rgb_at, pixels_);
}

void FrameWriter::put_bayer(int32_t y) const {
  // Where red lies in a block of 2 x 2: the orders are numbered so.
  const int32_t first = static_cast<int32_t>(frame_.order) - static_cast<int32_t>(PixelOrder::kBayerRggb);
  const bool red_row = ((y ^ first >> 1) & 1) == 0;
  const uint8_t *const above = line(y - 1), *const middle = line(y), *const below = line(y + 1);
  const auto rgb_at = [&](int32_t i) {
    const bool red_column = (((image_.part_.x + i) ^ first) & 1) == 0;
    const int32_t left = i, x = i + 1, right = i + 2, own = middle[x];
    if (red_row != red_column) {  // green
      const int32_t beside = (middle[left] + middle[right] + 1) >> 1, over = (above[x] + below[x] + 1) >> 1;
      return red_row ? Rgb{beside, own, over} : Rgb{over, own, beside};
    }
    const int32_t green = (middle[left] + middle[right] + above[x] + below[x] + 2) >> 2;
    const int32_t other = (above[left] + above[right] + below[left] + below[right] + 2) >> 2;
    return red_row ? Rgb{own, green, other} : Rgb{other, green, own};
  };
  put_colors(image_.recipe_.color, image_.part_.w, rgb_at, pixels_);
}

Result<FramePlanes> planes_of(const ImageInput& recipe, const TensorInfo& target, const Frame& frame) {
  ITG_TRY(FrameWriter::measure(recipe, target, frame.info).error());
  if (frame.pixels.data == nullptr) return Error{Status::kInputMissing, -1, -1, recipe.input, 0};
  const size_t used = frame_row_bytes(frame.info), chroma_used = frame_chroma_row_bytes(frame.info);
  const auto rows = static_cast<size_t>(frame.info.height);
  FramePlanes planes;
  planes.rows = frame.pixels.data;
  planes.row_bytes = frame.row_bytes == 0 ? used : frame.row_bytes;
  ITG_TRY(check_plane(frame.pixels.size, planes.row_bytes, used, rows));
  if (chroma_used == 0 || recipe.color == ColorOrder::kGray) return planes;
  planes.chroma_row_bytes = frame.chroma_row_bytes != 0 ? frame.chroma_row_bytes
                            : frame.row_bytes != 0      ? frame.row_bytes
                                                        : chroma_used;
  Span<const uint8_t> chroma = frame.chroma;
  if (chroma.data == nullptr) {
    // Behind the rows of Y, each with its padding. The rows are within `pixels`, so that only one row's stride may still be anything.
    const size_t all =
        planes.row_bytes <= frame.pixels.size / rows ? planes.row_bytes * rows : frame.pixels.size;
    chroma = {frame.pixels.data + all, frame.pixels.size - all};
  }
  ITG_TRY(check_plane(chroma.size, planes.chroma_row_bytes, chroma_used, (rows + 1) / 2));
  planes.chroma = chroma.data;
  return planes;
}

Error push_planes(FrameWriter& writer, const FrameInfo& frame, const FramePlanes& planes) {
  for (int32_t y = 0; y < frame.height; ++y) {
    const size_t chroma_at = static_cast<size_t>(y / 2) * planes.chroma_row_bytes;
    ITG_TRY(writer.push_row(planes.rows + static_cast<size_t>(y) * planes.row_bytes,
                            planes.chroma == nullptr ? nullptr : planes.chroma + chroma_at));
  }
  return kNoError;
}

Error write_frame(const ImageInput& recipe, const TensorView& target, const Frame& frame,
                  Span<uint8_t> scratch) {
  const Result<FramePlanes> planes = planes_of(recipe, target.info, frame);
  ITG_TRY(planes.error());
  FrameWriter writer;
  ITG_TRY(writer.begin(recipe, target, frame.info, scratch));
  return push_planes(writer, frame.info, *planes);
}

}  // namespace intaglio

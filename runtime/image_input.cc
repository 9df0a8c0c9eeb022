#include "intaglio/image_input.h"

#include <cstring>

#include "runtime/picture_rows.h"

namespace intaglio {
namespace {

constexpr int32_t kOne = 2048;  // the weights of an output pixel along one axis sum to this

int32_t at_least_one(int64_t v) { return v < 1 ? 1 : static_cast<int32_t>(v); }

// Half rounds up; numbers from 0.
int64_t divide_rounding(int64_t numerator, int64_t denominator) {
  return (2 * numerator + denominator) / (2 * denominator);
}

// The weight of the first `covered` parts, of `size`, of an area. Differences of it sum to kOne exactly.
int32_t area_weight(int32_t covered, int32_t size) { return (kOne * covered + size / 2) / size; }

// Where output t of an axis enlarged from `from` to `to` pixels lies between the source's pixel centres.
int32_t enlarged_position(int32_t t, int32_t from, int32_t to) {
  const int64_t numerator = int64_t{kOne} * ((2 * int64_t{t} + 1) * from - to) + to;
  if (numerator < 0) return 0;
  const int64_t position = numerator / (2 * int64_t{to});
  const int64_t last = int64_t{kOne} * (from - 1);
  return static_cast<int32_t>(position < last ? position : last);
}

bool is_finite(float v) { return v - v == 0.0f; }

Error check_recipe(const ImageInput& recipe, DType dtype) {
  const int32_t channels = recipe.channels;
  if (recipe.color > ColorOrder::kGray || recipe.resize > ResizeMode::kLetterbox ||
      channels != (recipe.color == ColorOrder::kGray ? 1 : 3)) {
    return {Status::kBadImageInput, -1, -1, channels, kMaxImageChannels};
  }
  if (dtype == DType::kS8) {
    const auto needed = static_cast<size_t>(channels) * 256;
    if (recipe.table.data == nullptr || recipe.table.size != needed) {
      return {Status::kBadImageInput, -1, -1, 0, static_cast<int64_t>(needed)};
    }
    return kNoError;
  }
  for (int32_t c = 0; c < channels; ++c) {
    if (!is_finite(recipe.mean[c]) || !is_finite(recipe.norm[c])) {
      return {Status::kBadImageInput, -1, -1, c, kMaxImageChannels};
    }
  }
  return kNoError;
}

Error check_target(const TensorInfo& target, int32_t channels) {
  if (target.dtype != DType::kS8 && target.dtype != DType::kF32) {
    return {Status::kBadDType, -1, -1, static_cast<int64_t>(target.dtype), static_cast<int64_t>(DType::kS8)};
  }
  if (target.shape.rank != 4) return {Status::kBadRank, -1, -1, target.shape.rank, 4};
  if (target.shape[0] != 1) return {Status::kShapeMismatch, -1, -1, target.shape[0], 1};
  if (target.shape[3] != channels) return {Status::kShapeMismatch, -1, -1, target.shape[3], channels};
  for (int32_t i = 1; i < 3; ++i) {
    if (target.shape[i] < 1 || target.shape[i] > kMaxPictureSide) {
      return {Status::kBadDimension, -1, -1, target.shape[i], kMaxPictureSide};
    }
  }
  return kNoError;
}

}  // namespace

Error ImageWriter::plan(const ImageInput& recipe, const TensorInfo& target, const PictureInfo& picture) {
  if (recipe.channels == 0) return {Status::kNoImageInput};
  ITG_TRY(check_target(target, recipe.channels));
  ITG_TRY(check_recipe(recipe, target.dtype));
  for (const int32_t side : {picture.width, picture.height}) {
    if (side < 1 || side > kMaxPictureSide) {
      return {Status::kBadPictureSize, -1, -1, side, kMaxPictureSide};
    }
  }
  if (picture.order > PixelOrder::kRgba) {
    return {Status::kBadEnum, -1, -1, static_cast<int64_t>(picture.order),
            static_cast<int64_t>(PixelOrder::kRgba)};
  }
  recipe_ = recipe;
  picture_ = picture;
  dtype_ = target.dtype;
  target_h_ = target.shape[1];
  target_w_ = target.shape[2];
  plan_boxes();

  same_size_ = part_.w == content_.w && part_.h == content_.h;
  same_colors_ = (picture.order == PixelOrder::kRgb && recipe.color == ColorOrder::kRgb) ||
                 (picture.order == PixelOrder::kBgr && recipe.color == ColorOrder::kBgr) ||
                 (picture.order == PixelOrder::kGray && recipe.color == ColorOrder::kGray);
  const auto channels = static_cast<size_t>(recipe.channels);
  const auto from = static_cast<size_t>(part_.w), to = static_cast<size_t>(content_.w);
  sums_bytes_ = same_size_ ? 0 : to * channels * sizeof(int32_t);
  // A shrunk row's outputs share at most one pixel with each neighbour; an enlarged one's blend two.
  const size_t weights = to < from ? from + to : 2 * to;
  columns_bytes_ = same_size_ ? 0 : (2 * to + weights) * sizeof(uint16_t);
  const bool whole = content_.w == target_w_ && content_.h == target_h_;
  row_bytes_ = same_size_ && whole ? 0 : target_w_ * recipe.channels;
  pixels_bytes_ = same_colors_ ? 0 : from * channels;
  return kNoError;
}

void ImageWriter::plan_boxes() {
  const int64_t sw = picture_.width, sh = picture_.height, tw = target_w_, th = target_h_;
  part_ = {0, 0, picture_.width, picture_.height};
  content_ = {0, 0, target_w_, target_h_};
  if (sw == tw && sh == th) return;
  const bool source_is_wider = sw * th >= sh * tw;
  if (recipe_.resize == ResizeMode::kCrop) {
    if (source_is_wider) {
      part_.w = at_least_one(divide_rounding(7 * sh * tw, 8 * th));
      part_.h = at_least_one(divide_rounding(7 * sh, 8));
    } else {
      part_.w = at_least_one(divide_rounding(7 * sw, 8));
      part_.h = at_least_one(divide_rounding(7 * sw * th, 8 * tw));
    }
    part_.x = (picture_.width - part_.w) / 2;
    part_.y = (picture_.height - part_.h) / 2;
  } else if (recipe_.resize == ResizeMode::kLetterbox) {
    if (source_is_wider) {
      content_.h = at_least_one(divide_rounding(sh * tw, sw));
    } else {
      content_.w = at_least_one(divide_rounding(sw * th, sh));
    }
    content_.x = (target_w_ - content_.w) / 2;
    content_.y = (target_h_ - content_.h) / 2;
  }
}

Result<size_t> ImageWriter::measure(const ImageInput& recipe, const TensorInfo& target,
                                    const PictureInfo& picture) {
  ImageWriter writer;
  ITG_TRY(writer.plan(recipe, target, picture));
  return writer.scratch_bytes();
}

Error ImageWriter::begin(const ImageInput& recipe, const TensorView& target, const PictureInfo& picture,
                         Span<uint8_t> scratch) {
  return begin_rows(recipe, target.info, picture, scratch, target.data, put_in_tensor);
}

Error ImageWriter::begin_rows(const ImageInput& recipe, const TensorInfo& target, const PictureInfo& picture,
                              Span<uint8_t> scratch, void* sink, PutRow put_row) {
  next_row_ = picture_.height;  // no rows are taken before all is well
  next_output_ = 0;
  ITG_TRY(plan(recipe, target, picture));
  next_row_ = picture_.height;
  if (sink == nullptr) return {Status::kInputMissing, -1, -1, recipe.input, 0};
  sink_ = sink;
  put_row_ = put_row;
  const size_t needed = scratch_bytes();
  if (scratch.size < needed) {
    return {Status::kScratchTooSmall, -1, -1, static_cast<int64_t>(scratch.size),
            static_cast<int64_t>(needed)};
  }
  if (needed != 0) {
    const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(scratch.data) % alignof(int32_t));
    if (past != 0) return {Status::kMemoryMisaligned, -1, -1, past, alignof(int32_t)};
    uint8_t* place = scratch.data;
    for (auto& sums : sums_) {
      sums = reinterpret_cast<int32_t*>(place);
      place += sums_bytes_;
    }
    columns_ = reinterpret_cast<uint16_t*>(place);
    row_ = place + columns_bytes_;
    pixels_ = row_ + row_bytes_;
  }
  if (!same_size_) fill_columns();
  if (row_bytes_ != 0) put_border(content_.y);
  next_row_ = 0;
  return kNoError;
}

void ImageWriter::put_in_tensor(ImageWriter& writer, const uint8_t* pixels) {
  const int32_t count = writer.target_w_ * writer.recipe_.channels;
  put_pixels(writer.recipe_, writer.dtype_, count, pixels, writer.sink_);
  writer.sink_ =
      static_cast<uint8_t*>(writer.sink_) + static_cast<size_t>(count) * element_bytes(writer.dtype_);
}

// Whole rows of the border. What a row of content leaves of it at its sides stays in the row.
void ImageWriter::put_border(int32_t rows) {
  memset(row_, recipe_.border, static_cast<size_t>(row_bytes_));
  for (; rows > 0; --rows) put_row_(*this, row_);
}

void ImageWriter::end_row(const uint8_t* pixels) {
  put_row_(*this, pixels);
  if (++next_output_ == content_.h && row_bytes_ != 0) put_border(target_h_ - content_.y - content_.h);
}

// The next row of the content: pixel_at(i) is its i-th value.
template <typename PixelAt>
void ImageWriter::emit_row(PixelAt pixel_at) {
  const int32_t channels = recipe_.channels, count = content_.w * channels;
  uint8_t* const to = row_ + static_cast<ptrdiff_t>(content_.x) * channels;
  for (int32_t i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(pixel_at(i));
  end_row(row_);
}

void ImageWriter::fill_columns() {
  const int32_t from = part_.w, to = content_.w;
  uint16_t* next = columns_;
  for (int32_t t = 0; t < to; ++t) {
    if (to < from) {
      const int32_t first = t * from / to;
      const int32_t last = ((t + 1) * from - 1) / to;
      *next++ = static_cast<uint16_t>(first);
      *next++ = static_cast<uint16_t>(last - first + 1);
      int32_t before = 0;
      for (int32_t i = first; i <= last; ++i) {
        const int32_t covered = (i + 1) * to - t * from;
        const int32_t upto = area_weight(covered < from ? covered : from, from);
        *next++ = static_cast<uint16_t>(upto - before);
        before = upto;
      }
    } else {
      const int32_t position = enlarged_position(t, from, to);
      const int32_t fraction = position % kOne;
      *next++ = static_cast<uint16_t>(position / kOne);
      *next++ = fraction == 0 ? 1 : 2;
      *next++ = static_cast<uint16_t>(kOne - fraction);
      if (fraction != 0) *next++ = static_cast<uint16_t>(fraction);
    }
  }
}

const uint8_t* ImageWriter::to_model_colors(const uint8_t* row) {
  const int32_t step = pixel_bytes(picture_.order);
  const uint8_t* from = row + static_cast<ptrdiff_t>(part_.x) * step;
  if (same_colors_) return from;
  put_colors_of_bytes(recipe_.color, part_.w, from, step, picture_.order == PixelOrder::kBgr ? 2 : 0,
                      pixels_);
  return pixels_;
}

void ImageWriter::resize_columns(const uint8_t* pixels, int32_t* sums) const {
  const int32_t channels = recipe_.channels;
  const uint16_t* column = columns_;
  for (int32_t t = 0; t < content_.w; ++t, sums += channels) {
    const uint8_t* pixel = pixels + static_cast<ptrdiff_t>(column[0]) * channels;
    const int32_t count = column[1];
    const uint16_t* weights = column + 2;
    for (int32_t c = 0; c < channels; ++c) {
      int32_t sum = 0;
      for (int32_t i = 0; i < count; ++i) sum += weights[i] * pixel[i * channels + c];
      sums[c] = sum;
    }
    column = weights + count;
  }
}

void ImageWriter::shrink_rows(const uint8_t* pixels, int32_t row) {
  const int32_t from = part_.h, to = content_.h;
  const int32_t values = content_.w * recipe_.channels;
  int32_t* const area = sums_[0];
  int32_t* const current = sums_[1];
  resize_columns(pixels, current);
  // This row is [row * to, (row + 1) * to) where output t is [t * from, (t + 1) * from): it lies in one
  // output or ends in the next.
  const int32_t begin = row * to - next_output_ * from;
  const int32_t end = begin + to;
  const int32_t weight = area_weight(end < from ? end : from, from) - area_weight(begin, from);
  for (int32_t i = 0; i < values; ++i) area[i] = (begin == 0 ? 0 : area[i]) + weight * current[i];
  if (end < from) return;
  emit_row([area](int32_t i) { return (area[i] + (1 << 21)) >> 22; });
  const int32_t rest = area_weight(end - from, from);
  for (int32_t i = 0; i < values; ++i) area[i] = rest * current[i];
}

void ImageWriter::enlarge_rows(const uint8_t* pixels, int32_t row) {
  resize_columns(pixels, sums_[row & 1]);
  while (next_output_ < content_.h) {
    const int32_t position = enlarged_position(next_output_, part_.h, content_.h);
    const int32_t fraction = position % kOne;
    const int32_t upper = position / kOne;
    const int32_t lower = upper + (fraction != 0 ? 1 : 0);
    if (lower > row) return;
    const int32_t* a = sums_[upper & 1];
    const int32_t* b = sums_[lower & 1];
    emit_row([=](int32_t i) { return ((kOne - fraction) * a[i] + fraction * b[i] + (1 << 21)) >> 22; });
  }
}

Error ImageWriter::push_row(const uint8_t* row) {
  if (row == nullptr) return {Status::kInputMissing, -1, -1, recipe_.input, 0};
  if (next_row_ >= picture_.height) {
    return {Status::kPictureRows, -1, -1, next_row_, picture_.height};
  }
  const int32_t part_row = next_row_++ - part_.y;
  if (part_row < 0 || part_row >= part_.h) return kNoError;
  take_pixels(to_model_colors(row), part_row);
  return kNoError;
}

// Row `part_row` of the part, in the model's colours.
void ImageWriter::take_pixels(const uint8_t* pixels, int32_t part_row) {
  if (row_bytes_ == 0) {
    end_row(pixels);
  } else if (same_size_) {
    emit_row([pixels](int32_t i) { return pixels[i]; });
  } else if (content_.h < part_.h) {
    shrink_rows(pixels, part_row);
  } else {
    enlarge_rows(pixels, part_row);
  }
}

Error write_image(const ImageInput& recipe, const TensorView& target, const PictureInfo& picture,
                  Span<const uint8_t> pixels, size_t row_bytes, Span<uint8_t> scratch) {
  ImageWriter writer;
  ITG_TRY(writer.begin(recipe, target, picture, scratch));
  const size_t used = static_cast<size_t>(picture.width) * static_cast<size_t>(pixel_bytes(picture.order));
  const auto rows = static_cast<size_t>(picture.height);
  ITG_TRY(check_plane(pixels.size, row_bytes, used, rows));
  for (size_t y = 0; y < rows; ++y) ITG_TRY(writer.push_row(pixels.data + y * row_bytes));
  return kNoError;
}

}  // namespace intaglio

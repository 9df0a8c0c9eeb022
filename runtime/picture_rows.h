// Rows of pictures: whether memory holds them, their pixels in the model's colours, and those as an input's values. See
// intaglio/image_input.h.
#pragma once

#include <cstddef>

#include "intaglio/frame.h"
#include "intaglio/image_input.h"
#include "intaglio/model.h"
#include "intaglio/status.h"

namespace intaglio {

// Whether rows lie within the memory that is said to hold them: strides and sizes come from the caller and may be any numbers.
// `rows` rows of `used` bytes, `row_bytes` apart, in `size` bytes. The last one need not be followed by its padding.
inline Error check_plane(size_t size, size_t row_bytes, size_t used, size_t rows) {
  if (row_bytes < used)
    return {Status::kRowBytes, -1, -1, static_cast<int64_t>(row_bytes), static_cast<int64_t>(used)};
  if (used > size || (rows > 1 && (size - used) / (rows - 1) < row_bytes))
    return {Status::kPictureBytes, -1, -1, static_cast<int64_t>(size),
            static_cast<int64_t>((rows - 1) * row_bytes + used)};
  return kNoError;
}

struct Rgb {
  int32_t r, g, b;  // 0 to 255
};

// rgb_at(x) is pixel x of `count`; `to` gets 1 or 3 bytes for each.
template <typename RgbAt>
void put_colors(ColorOrder color, int32_t count, RgbAt rgb_at, uint8_t* to) {
  for (int32_t x = 0; x < count; ++x) {
    const Rgb pixel = rgb_at(x);
    if (color == ColorOrder::kGray) {
      *to++ = static_cast<uint8_t>((77 * pixel.r + 150 * pixel.g + 29 * pixel.b + 128) >> 8);
    } else {
      const bool rgb = color == ColorOrder::kRgb;
      *to++ = static_cast<uint8_t>(rgb ? pixel.r : pixel.b);
      *to++ = static_cast<uint8_t>(pixel.g);
      *to++ = static_cast<uint8_t>(rgb ? pixel.b : pixel.r);
    }
  }
}

// Pixels of `step` bytes: 1 gray, 3 and 4 colours with red at `red`, 0 or 2.
inline void put_colors_of_bytes(ColorOrder color, int32_t count, const uint8_t* from, int32_t step,
                                int32_t red, uint8_t* to) {
  const int32_t green = step == 1 ? 0 : 1;
  const int32_t blue = step == 1 ? 0 : 2 - red;
  const auto rgb_at = [&](int32_t) {
    const Rgb pixel = {from[red], from[green], from[blue]};
    from += step;
    return pixel;
  };
  put_colors(color, count, rgb_at, to);
}

// Pixels of a row become an input's values by the model's recipe: `count` values, the channels of a pixel side by side, into elements of
// `dtype`.
inline void put_pixels(const ImageInput& recipe, DType dtype, int32_t count, const uint8_t* pixels,
                       void* out) {
  const int32_t channels = recipe.channels;
  if (dtype == DType::kS8) {
    auto* const codes = static_cast<int8_t*>(out);
    for (int32_t c = 0; c < channels; ++c) {
      const int8_t* const table = recipe.table.data + c * 256;
      for (int32_t i = c; i < count; i += channels) codes[i] = table[pixels[i]];
    }
  } else {
    auto* const reals = static_cast<float*>(out);
    for (int32_t c = 0; c < channels; ++c) {
      const float mean = recipe.mean[c], norm = recipe.norm[c];
      for (int32_t i = c; i < count; i += channels) reals[i] = (static_cast<float>(pixels[i]) - mean) * norm;
    }
  }
}

// The recipe of the model's first input; without channels where it has none.
inline ImageInput recipe_of_fed_input(const Model& model) {
  ImageInput recipe;
  int32_t i = 0;
  do {
    recipe = model.image(i++);
  } while (recipe.input != 0);  // the one behind the last is of input 0, without channels
  return recipe;
}

// The rows of a frame in memory, once it is known that they lie there.

struct FramePlanes {
  const uint8_t *rows = nullptr,
                *chroma = nullptr;  // no chroma: there is none, or a gray model does not read it
  size_t row_bytes = 0, chroma_row_bytes = 0;
};

// Errors: those of FrameWriter::measure(), kRowBytes and kPictureBytes.
Result<FramePlanes> planes_of(const ImageInput& recipe, const TensorInfo& target, const Frame& frame);

// All rows, into a writer that has begun.
Error push_planes(FrameWriter& writer, const FrameInfo& frame, const FramePlanes& planes);

}  // namespace intaglio

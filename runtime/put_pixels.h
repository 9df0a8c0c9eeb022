// Pixels of a row become an input's values by the model's recipe: see intaglio/image_input.h.
#pragma once

#include "intaglio/image_input.h"

namespace intaglio {

// pixel_at(i) is value i of `count`, the channels of a pixel side by side.
template <typename PixelAt>
void put_pixels(const ImageInput& recipe, int32_t count, PixelAt pixel_at, int8_t* out) {
  const int32_t channels = recipe.channels;
  for (int32_t c = 0; c < channels; ++c) {
    const int8_t* const table = recipe.table.data + c * 256;
    for (int32_t i = c; i < count; i += channels) out[i] = table[pixel_at(i)];
  }
}

template <typename PixelAt>
void put_pixels(const ImageInput& recipe, int32_t count, PixelAt pixel_at, float* out) {
  const int32_t channels = recipe.channels;
  for (int32_t c = 0; c < channels; ++c) {
    const float mean = recipe.mean[c], norm = recipe.norm[c];
    for (int32_t i = c; i < count; i += channels) out[i] = (static_cast<float>(pixel_at(i)) - mean) * norm;
  }
}

}  // namespace intaglio

// Pixels of a row become an input's values by the model's recipe: see intaglio/image_input.h.
#pragma once

#include "intaglio/image_input.h"

namespace intaglio {

// `count` values, the channels of a pixel side by side, into elements of `dtype`.
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

}  // namespace intaglio

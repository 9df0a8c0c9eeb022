// Pixels of any kind to the model's colours: see intaglio/image_input.h.
#pragma once

#include "intaglio/image_input.h"

namespace intaglio {

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

}  // namespace intaglio

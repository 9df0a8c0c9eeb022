// BMP bytes to pixels: 1, 4 and 8 bits with a palette, 16, 24 and 32 bits; without compression.
#pragma once

#include "calibrator/host/pictures/image_decode.h"

namespace intaglio {

// A file that starts with BM. Colours that the palette does not hold are refused, and so is what is cut off.
Outcome<Picture> decode_bmp(Span<const uint8_t> file, const DecodeLimits& limits);

}  // namespace intaglio

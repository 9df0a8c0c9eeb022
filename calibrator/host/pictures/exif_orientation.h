// How the pixels of a JPEG, a WebP or a PNG are to be turned, by its Exif data: cameras write rows as the sensor lies.
#pragma once

#include <cstdint>

#include "calibrator/host/pictures/image_decode.h"

namespace intaglio {

// Exif 2.3, tag 0x0112 of the first directory: 1 (as they are) to 8. 1 where the file does not say it, or says what
// cannot be understood: pixels do not depend on the rest of this data.
int32_t jpeg_orientation(Span<const uint8_t> file);
int32_t webp_orientation(Span<const uint8_t> file);  // of the chunk EXIF
int32_t png_orientation(Span<const uint8_t> file);   // of the chunk eXIf, before the pixels or behind them

// 1: nothing; 2: mirrored left to right; 3: turned by half; 4: mirrored top to bottom; 5: mirrored at the diagonal through
// the first pixel; 6: turned by a quarter, clockwise; 7: mirrored at the other diagonal; 8: turned by a quarter,
// counterclockwise.
Picture oriented(Picture picture, int32_t orientation);

}  // namespace intaglio

// WebP bytes to pixels, where the build found libwebp.
#pragma once

#include "calibrator/host/pictures/image_decode.h"

namespace intaglio {

bool is_webp(Span<const uint8_t> file);

// As decode_picture() says: the lossy and the lossless kind, alpha dropped. An animation is refused: it is no one picture.
// libwebp's own tables are not in the limit: SECURITY.md has their size.
Outcome<Picture> decode_webp(Span<const uint8_t> file, const DecodeLimits& limits);

}  // namespace intaglio

// PNG, JPEG, BMP and WebP bytes to pixels.
#pragma once

#include <cstdint>
#include <vector>

#include "calibrator/host/system/outcome.h"
#include "intaglio/image_input.h"

namespace intaglio {

inline constexpr int32_t kMaxDecodedSide = 8192;

struct DecodeLimits {
  size_t max_bytes = size_t{512} << 20;  // of memory while decoding; libwebp's own tables are not counted
  bool check_sums = true;  // of a PNG's chunks, and that its end is there; a fuzzer does without
};

// 8 bits a channel, rows without gaps. Alpha is dropped, 16 bits become 8, palettes become colours.
struct Picture {
  int32_t width = 0, height = 0;
  int32_t channels = 0;  // 1 (gray) or 3 (red, green, blue)
  std::vector<uint8_t> pixels;

  PictureInfo info() const { return {width, height, channels == 1 ? PixelOrder::kGray : PixelOrder::kRgb}; }
};

// The message says what is wrong with the bytes; the caller adds whose they are. The kind of picture is read
// from the bytes. Each pixel follows from the file, or the file is refused: a PNG's checksums must fit, a JPEG must
// hold every block and table (picture_faults.h), and palettes every colour that a pixel names.
// Pixels of JPEG, WebP and PNG are turned as their Exif data say (exif_orientation.h), so that they stand upright as a camera on a board
// gives them.
Outcome<Picture> decode_picture(Span<const uint8_t> file, const DecodeLimits& limits = {});

// BMP bytes to pixels: 1, 4 and 8 bits with a palette, 16, 24 and 32 bits; without compression.

// A file that starts with BM. Colours that the palette does not hold are refused, and so is what is cut off.
Outcome<Picture> decode_bmp(Span<const uint8_t> file, const DecodeLimits& limits);

// WebP bytes to pixels, where the build found libwebp.
bool is_webp(Span<const uint8_t> file);

// As decode_picture() says: the lossy and the lossless kind, alpha dropped. An animation is refused: it is no one picture.
// libwebp's own tables are not in the limit: SECURITY.md has their size.
Outcome<Picture> decode_webp(Span<const uint8_t> file, const DecodeLimits& limits);

}  // namespace intaglio

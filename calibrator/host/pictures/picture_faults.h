// Checks of a picture's bytes before a decoder sees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "calibrator/host/pictures/image_decode.h"
#include "calibrator/host/system/outcome.h"
#include "intaglio/span.h"

namespace intaglio {

// Refusals that all kinds of pictures share.

inline constexpr const char* kPictureCutOff = "is cut off: the picture's end is missing";

inline std::string picture_too_large() {
  return "has a side of more than " + std::to_string(kMaxDecodedSide) + " pixels";
}

inline std::string picture_needs_more_than(size_t max_bytes) {
  return "needs more than the " + std::to_string(max_bytes >> 20) + " MiB of memory that decoding may take";
}

// Checks of a PNG that stb_image does not make.

// Whether all chunks are there, and with `check_sums` the checksums of those that make pixels. Empty where all is
// well.
std::string png_fault(Span<const uint8_t> file, bool check_sums);

// Pixels may name colours that a palette lacks, and stb_image then takes what its stack holds. This is the file with
// 256 colours, where the added ones are transparent, (n, n, n, 0) for the n-th, and all others are not. Empty where
// the palette holds every colour that a pixel can name, or the file has none.
std::vector<uint8_t> png_with_whole_palette(Span<const uint8_t> file);

// Whether a JPEG says where each of its pixels comes from.

// stb_image goes on where data or tables are missing, and calls the rest a picture. Before 2.30 it also reads and writes
// beyond its tables there. What passes here has every table that it uses, every block of every component, and restart
// markers in order; so each pixel follows from the file.
//
// Gives the file without what makes no pixel: segments of applications (but APP0 and APP14, which say what the colours
// are), comments, fill bytes, padding behind a scan, a restart marker at its end. Releases of stb_image differ in what
// they make of these; of the rest 2.27 and later make the same pixels (calibrator/host/README.md lists what differs).
//
// Takes up to `max_bytes` of memory beside that copy. What stb_image refuses itself may pass.
Outcome<std::vector<uint8_t>> plain_jpeg(Span<const uint8_t> file, size_t max_bytes);

}  // namespace intaglio

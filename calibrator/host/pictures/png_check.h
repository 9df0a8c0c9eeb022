// What stb_image does not look at in a PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "intaglio/span.h"

namespace intaglio {

// Whether all chunks are there, and with `check_sums` the checksums of those that make pixels. Empty where all is
// well.
std::string png_fault(Span<const uint8_t> file, bool check_sums);

// Pixels may name colours that a palette lacks, and stb_image then takes what its stack holds. This is the file with
// 256 colours, where the added ones are transparent, (n, n, n, 0) for the n-th, and all others are not. Empty where
// the palette holds every colour that a pixel can name, or the file has none.
std::vector<uint8_t> png_with_whole_palette(Span<const uint8_t> file);

}  // namespace intaglio

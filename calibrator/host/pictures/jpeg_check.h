// Whether a JPEG says where each of its pixels comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "intaglio/span.h"

namespace intaglio {

// stb_image goes on where data or tables are missing, and calls the rest a picture. What passes here has every
// table that it uses, every block of every component, and restart markers in order; so each pixel follows from
// the file. Takes up to `max_bytes` of memory. Empty where all is well, else what is wrong. What stb_image refuses
// itself may pass.
std::string jpeg_fault(Span<const uint8_t> file, size_t max_bytes);

}  // namespace intaglio

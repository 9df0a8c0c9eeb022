// Whether a JPEG says where each of its pixels comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "calibrator/host/system/outcome.h"
#include "intaglio/span.h"

namespace intaglio {

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

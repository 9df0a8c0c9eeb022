// The rows of a frame in memory, once it is known that they lie there.
#pragma once

#include "intaglio/frame.h"

namespace intaglio {

struct FramePlanes {
  const uint8_t *rows = nullptr,
                *chroma = nullptr;  // no chroma: there is none, or a gray model does not read it
  size_t row_bytes = 0, chroma_row_bytes = 0;
};

// Errors: those of FrameWriter::measure(), kRowBytes and kPictureBytes.
Result<FramePlanes> planes_of(const ImageInput& recipe, const TensorInfo& target, const Frame& frame);

// All rows, into a writer that has begun.
Error push_planes(FrameWriter& writer, const FrameInfo& frame, const FramePlanes& planes);

}  // namespace intaglio

// Whether rows lie within the memory that is said to hold them. Strides and sizes come from the caller and may be any numbers.
#pragma once

#include <cstddef>

#include "intaglio/status.h"

namespace intaglio {

// `rows` rows of `used` bytes, `row_bytes` apart, in `size` bytes. The last one need not be followed by its padding.
inline Error check_plane(size_t size, size_t row_bytes, size_t used, size_t rows) {
  if (row_bytes < used)
    return {Status::kRowBytes, -1, -1, static_cast<int64_t>(row_bytes), static_cast<int64_t>(used)};
  if (used > size || (rows > 1 && (size - used) / (rows - 1) < row_bytes))
    return {Status::kPictureBytes, -1, -1, static_cast<int64_t>(size),
            static_cast<int64_t>((rows - 1) * row_bytes + used)};
  return kNoError;
}

}  // namespace intaglio

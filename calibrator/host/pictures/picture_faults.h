// What every kind of picture may be refused for, in one wording.
#pragma once

#include <string>

#include "calibrator/host/pictures/image_decode.h"

namespace intaglio {

inline constexpr const char* kPictureCutOff = "is cut off: the picture's end is missing";

inline std::string picture_too_large() {
  return "has a side of more than " + std::to_string(kMaxDecodedSide) + " pixels";
}

inline std::string picture_needs_more_than(size_t max_bytes) {
  return "needs more than the " + std::to_string(max_bytes >> 20) + " MiB of memory that decoding may take";
}

}  // namespace intaglio

// The camera of the example: a picture that boards and the build machine make alike, line by line.
#pragma once

#include <cstddef>
#include <cstdint>

inline constexpr int32_t kCameraRows = 224, kCameraColumns = 224, kCameraChannels = 3;
inline constexpr size_t kCameraLineBytes = size_t{kCameraColumns} * kCameraChannels;

// Line `y`, in [0, kCameraRows), of kCameraLineBytes: colours that change slowly, and some noise.
inline void camera_line(int32_t y, uint8_t* line) {
  uint32_t noise = static_cast<uint32_t>(y) * 2654435761u + 1u;
  for (int32_t x = 0; x < kCameraColumns; ++x)
    for (int32_t c = 0; c < kCameraChannels; ++c) {
      noise = noise * 1664525u + 1013904223u;
      *line++ = static_cast<uint8_t>(static_cast<uint32_t>(x * (c + 1) + y * (3 - c)) / 4 + (noise >> 26));
    }
}

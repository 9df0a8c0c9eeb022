// Pixels to model input, on the device and on the host alike: the recipe is part of the model file.
#pragma once

#include "intaglio/span.h"
#include "intaglio/status.h"

namespace intaglio {

enum class ColorOrder : uint8_t { kRgb = 0, kBgr = 1, kGray = 2 };
enum class ResizeMode : uint8_t {
  kStretch = 0,    // each axis by its own factor
  kCrop = 1,       // central square-in-proportion part, 87.5 % of the shorter side
  kLetterbox = 2,  // whole picture, borders filled with the pixel value 128
};

inline constexpr int32_t kMaxImageChannels = 4;

// real = (pixel - mean[c]) * norm[c], channels in the model's own order.
struct ImageInput {
  int32_t input = 0;  // index into the model's inputs
  ColorOrder color = ColorOrder::kRgb;
  ResizeMode resize = ResizeMode::kStretch;
  int32_t channels = 0;  // 1 to kMaxImageChannels
  float mean[kMaxImageChannels] = {};
  float norm[kMaxImageChannels] = {};
  Span<const int8_t> table;  // int8 inputs: [channels, 256], pixel to code; empty for FP32 inputs
};

}  // namespace intaglio

// The values that a model's input takes, in words.
#pragma once

#include <string>

#include "intaglio/model.h"

namespace intaglio::tools {

const char* color_name(ColorOrder color);    // "rgb"
const char* resize_name(ResizeMode resize);  // "stretch"

// "(pixel - 127.5) * 0.00784314, rgb"
std::string recipe_text(const ImageInput& image);

// "'x': picture rgb 96 x 96, (pixel - 127.5) * 0.00784314, stretch; f32" (height x width), or
// "'x': values 1 x 49 x 10 x 1, no picture; f32". Of the model's input `input`.
std::string input_text(const Model& model, int32_t input);

}  // namespace intaglio::tools

// The contents of a model: in words, and as JSON.
#pragma once

#include <string>

#include "intaglio/model.h"
#include "tools/json.h"

namespace intaglio::tools {

const char* color_name(ColorOrder color);    // "rgb"
const char* resize_name(ResizeMode resize);  // "stretch"

// "(pixel - 127.5) * 0.00784314, rgb"
std::string recipe_text(const ImageInput& image);

// "'x': picture rgb 96 x 96, (pixel - 127.5) * 0.00784314, stretch; f32" (height x width), or
// "'x': values 1 x 49 x 10 x 1, no picture; f32". Of the model's input `input`.
std::string input_text(const Model& model, int32_t input);

std::vector<int32_t> dims_of(const Shape& shape);
// Bytes of the constants, each counted once however many tensors share it.
size_t weight_bytes(const Model& model);
// Channels of the layers' outputs that the imported network has and the model has not, since they hold one code.
int64_t channels_left_out(const Model& model);
// [{name, dtype, shape, scale, zero_point}]
Json json_of_tensors(const Model& model, Span<const int32_t> tensors);
// The same of the outputs, and as `answer` what their numbers are; null where that is unknown.
Json json_of_outputs(const Model& model);
// [{input, color, resize, border, mean, norm}]
Json json_of_images(const Model& model);

}  // namespace intaglio::tools

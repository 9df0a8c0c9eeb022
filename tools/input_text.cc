#include "tools/input_text.h"

#include <algorithm>

#include "calibrator/host/system/real_text.h"
#include "intaglio/describe.h"

namespace intaglio::tools {
namespace {

// One number where all channels have the same.
std::string numbers(const float* values, int32_t channels) {
  const bool same = std::all_of(values, values + channels, [&](float x) { return x == values[0]; });
  std::string text;
  for (int32_t c = 0; c < (same ? 1 : channels); ++c) {
    text += (c == 0 ? "" : ", ") + general_text(static_cast<double>(values[c]), 6);
  }
  return same ? text : "(" + text + ")";
}

// Whether an int8 input has for each pixel the code 128 below it.
bool takes_codes(const ImageInput& image) {
  for (size_t i = 0; i < image.table.size; ++i)
    if (image.table[i] != static_cast<int32_t>(i % 256) - 128) return false;
  return image.table.size > 0;
}

std::string formula(const ImageInput& image) {
  if (takes_codes(image)) return "pixels are its 8-bit codes";
  return "(pixel - " + numbers(image.mean, image.channels) + ") * " + numbers(image.norm, image.channels);
}

}  // namespace

const char* color_name(ColorOrder color) {
  constexpr const char* kNames[] = {"rgb", "bgr", "gray"};
  return kNames[static_cast<size_t>(color)];
}

const char* resize_name(ResizeMode resize) {
  constexpr const char* kNames[] = {"stretch", "crop", "letterbox"};
  return kNames[static_cast<size_t>(resize)];
}

std::string recipe_text(const ImageInput& image) { return formula(image) + ", " + color_name(image.color); }

std::string input_text(const Model& model, int32_t input) {
  const TensorInfo info = model.tensor(model.inputs()[static_cast<size_t>(input)]);
  const Shape& shape = info.shape;
  std::string text;
  for (int32_t i = 0; i < model.image_count(); ++i) {
    const ImageInput image = model.image(i);
    if (image.input != input) continue;
    text = std::string("picture ") + color_name(image.color) + " " + std::to_string(shape[1]) + " x " +
           std::to_string(shape[2]) + ", " + formula(image) + ", " + resize_name(image.resize);
    if (image.resize == ResizeMode::kLetterbox) text += " with borders of " + std::to_string(image.border);
  }
  if (text.empty()) {
    text = "values ";
    for (int32_t d = 0; d < shape.rank; ++d) text += (d == 0 ? "" : " x ") + std::to_string(shape[d]);
    text += ", no picture";
  }
  return "'" + std::string(info.name) + "': " + text + "; " + dtype_name(info.dtype);
}

}  // namespace intaglio::tools

// Where a network's input lies in the picture that it was made of.
#pragma once

#include <cmath>

#include "intaglio/image_input.h"
#include "tools/decoders.h"

namespace intaglio::tools {

// picture = x0 + x_factor * input, in pixels (intaglio/image_input.h has the formulas).
struct Placement {
  double x0 = 0, y0 = 0, x_factor = 1, y_factor = 1;

  static double half_up(double x) { return std::floor(x + 0.5); }

  // A picture and an input of these sizes.
  static Placement of(ResizeMode mode, int32_t picture_width, int32_t picture_height, int32_t width,
                      int32_t height) {
    if (picture_width == width && picture_height == height) return {};
    double part_w = picture_width, part_h = picture_height, content_w = width, content_h = height;
    const double source = part_w / part_h, target = content_w / content_h;
    if (mode == ResizeMode::kCrop) {
      part_w = half_up(0.875 * (source > target ? picture_height * target : picture_width));
      part_h = half_up(0.875 * (source > target ? picture_height : picture_width / target));
    } else if (mode == ResizeMode::kLetterbox) {
      content_w = source > target ? content_w : half_up(height * source);
      content_h = source > target ? half_up(width / source) : content_h;
    }
    const double x_factor = part_w / content_w, y_factor = part_h / content_h;
    return {std::floor((picture_width - part_w) / 2) - x_factor * std::floor((width - content_w) / 2),
            std::floor((picture_height - part_h) / 2) - y_factor * std::floor((height - content_h) / 2),
            x_factor, y_factor};
  }

  Box in_picture(Box box) const {
    box.x0 = static_cast<float>(x0 + x_factor * static_cast<double>(box.x0));
    box.x1 = static_cast<float>(x0 + x_factor * static_cast<double>(box.x1));
    box.y0 = static_cast<float>(y0 + y_factor * static_cast<double>(box.y0));
    box.y1 = static_cast<float>(y0 + y_factor * static_cast<double>(box.y1));
    return box;
  }
};

}  // namespace intaglio::tools

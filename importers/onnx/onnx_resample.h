// Resampling along one axis, as ONNX's Resize defines it: which inputs an output is made of, and with what weights.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

struct ResampledAxis {
  int32_t from = 1, to = 1;
  float scale = 1.0f;              // as the file has it, or to / from
  float begin = 0.0f, end = 1.0f;  // of tf_crop_and_resize

  bool is_same() const { return from == to && scale == 1.0f; }
};

// The attributes of the operator, by ONNX's words.
struct Resampling {
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  float cubic_coefficient = -0.75f;
  float outside = 0.0f;  // beyond the input, of tf_crop_and_resize
  bool antialias = false, exclude_outside = false;
};

// Throws where the coordinates have a name that is not known.
void check_coordinates(const Resampling& how);

// One index for each output. Throws where there is no room for so many.
std::vector<int32_t> nearest_indices(const Draft& draft, const ResampledAxis& axis, const Resampling& how);

// y = weights * x + added; weights [to, from].
struct ResampledWeights {
  std::vector<float> weights, added;
};
ResampledWeights resampled_weights(const Draft& draft, const ResampledAxis& axis, const Resampling& how);

}  // namespace intaglio::importers

// Whether an input comes from codes of 8 bits: features that a front end has quantized, pixels in an array.
// Over the same codes nothing of them is lost, where a range of its own would round each value a second time.
#pragma once

#include "calibrator/observer.h"
#include "calibrator/scales.h"
#include "intaglio/image_input.h"
#include "intaglio/model.h"

namespace intaglio {

inline constexpr uint32_t kMostInputValues = 256;

// The distinct values that an input has had, ascending, as long as they are no more than that. A set, so the
// order of the samples is free.
struct InputValues {
  uint32_t count = 0;  // kMostInputValues + 1: there were more, and what stands below means nothing
  float values[kMostInputValues] = {};
};

// Of one sample. Those of a picture, within the range of its pixels, are not asked for: there is none better.
void add_values(InputValues& input, Span<const float> values);
void merge(InputValues& input, const InputValues& other);

// The distance of neighbouring codes, where every value is a multiple of it and 256 codes hold them all; 0
// where not, or with too few values to tell.
double code_step(const InputValues& input);

// Of all values that a pixel gives, and zero.
Range range_of_pixels(const ImageInput& image);
// Whether values between these two can be pixels of the model's input: an array for an image input may hold
// others.
bool is_picture(const Model& model, int32_t input, const Extremes& seen);

// 256 codes `step` apart that hold `seen`, which has zero within; those to spare go to both ends in
// proportion. Gives false where they do not suffice.
bool range_of_codes(double step, const Range& seen, Range& range);

}  // namespace intaglio

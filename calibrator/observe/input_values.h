// Whether an input comes from codes of 8 bits: pixels by the model's own recipe, or features that a front end
// has quantized, or pixels in another unit. Over the same codes nothing of them is lost, where a range of its
// own would round each value a second time. This is the one place that tells them from other values.
#pragma once

#include "calibrator/observe/observer.h"
#include "calibrator/quantization/scales.h"
#include "intaglio/image_input.h"
#include "intaglio/model.h"

namespace intaglio {

inline constexpr uint32_t kMostInputValues = 256;

// The distinct values that an input has had, ascending, as long as they are no more than that, and whether
// one of them is no pixel. A set and an "or", so the order of the samples is free.
struct InputValues {
  uint32_t count = 0;     // kMostInputValues + 1: there were more, and what stands below means nothing
  uint32_t off_grid = 0;  // 1: a sample holds a value that the model's recipe gives no pixel; 0 without one
  float values[kMostInputValues] = {};
};

// Adds one sample of the model's input `input`, in its own layout. Where all of it are pixels by the model's
// recipe its values are not kept: there is no better range than that of pixels.
void add_sample(InputValues& seen, const Model& model, int32_t input, Span<const float> values);
// The values alone.
void add_values(InputValues& seen, Span<const float> values);
void merge(InputValues& seen, const InputValues& other);

// Whether every value, channels side by side, is what the recipe makes of a pixel of 0 to 255, up to a 64th
// of the distance of two pixels: what another program computes in its own order counts, too. Always so of
// what write_image() has written, with means up to 2^14.
bool are_pixels(const ImageInput& recipe, Span<const float> values);
// The range of all values that the recipe gives a pixel, and zero.
Range range_of_pixels(const ImageInput& recipe);
// The range of the model's input `input` where it is a picture and all of `seen` are its pixels: that of
// all 256 of them. False: what has been seen says more.
bool range_of_pixels(const Model& model, int32_t input, const InputValues& seen, Range& range);

// The distance of neighbouring codes, where every value is a multiple of it and 256 codes hold them all; 0
// where not, or with too few values to tell.
double code_step(const InputValues& input);

// 256 codes `step` apart that hold `seen`, which has zero within; those to spare go to both ends in
// proportion. Gives false where they do not suffice.
bool range_of_codes(double step, const Range& seen, Range& range);

}  // namespace intaglio

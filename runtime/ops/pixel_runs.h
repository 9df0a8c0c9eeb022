// Runs of a depthwise convolution's output pixels, for kernels that take any number of them and no scratch a tap: where
// windows are inside the picture, one table of taps serves a whole run. Runs go along the longer side of the output.
#pragma once

#include "runtime/ops/conv_geometry.h"

namespace intaglio {

// `count` output pixels from number `first` on, `stride` pixels from each to the next. rows [taps]: of the first one; each
// further pixel's stand pixel_step bytes behind. pixel_step 0: rows [count][taps].
struct PixelRun {
  const int8_t* const* rows;
  int32_t pixel_step, first, stride, count;
};

// The runs of one line of output pixels, or of one column where columns are longer.
class PixelRuns {
 public:
  // For all images of the batch.
  static int64_t lines(const ConvGeometry& g) { return int64_t{g.images} * (g.oh > g.ow ? g.ow : g.oh); }

  // `rows` has room for the taps of `most` pixels.
  PixelRuns(const ConvGeometry& g, const int8_t* x, const int8_t* padding, int32_t line, int32_t most,
            const int8_t** rows);
  bool next(PixelRun* run);

 private:
  void fill_taps(int32_t along, int32_t count);

  const ConvGeometry& g_;
  const int8_t* const padding_;
  const int8_t** const rows_;
  const bool turned_;
  const int32_t most_;
  int32_t image_, line_, length_;
  const int8_t* input_;                         // the image's
  int32_t inside_first_ = 0, inside_past_ = 0;  // the line's pixels whose windows are inside
  int32_t along_ = 0;
};

}  // namespace intaglio

// TFLite pictures at another size.
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

void import_resize(TfliteOp& op, ResizeOptions resample, bool align_corners, bool half_pixel) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  const Shape from = op.draft().tensor(x).shape;
  const std::vector<int64_t> size = op.integers(1);  // height, width
  if (from.size() != 4 || size.size() != 2)
    fail("its input ", shape_text(from), " is no picture, or its size is not two numbers");
  if (align_corners && half_pixel) fail("align_corners with half_pixel_centers is not supported");
  resample.coordinates = align_corners ? Coordinates::kAlignCorners
                         : half_pixel  ? Coordinates::kHalfPixel
                                       : Coordinates::kAsymmetric;
  if (resample.interpolation == Interpolation::kNearest && (align_corners || half_pixel))
    resample.rounding = NearestRounding::kHalfUp;
  const Shape to{from[0], narrow(size[0], "height"), narrow(size[1], "width"), from[3]};
  const int32_t y = op.output_same(x, to);
  op.add(Op::kResize, {x}, y).options.as<ResizeOptions>() = resample;
  op.finish_same();
}

void import_resize_bilinear(TfliteOp& op) {
  const auto& options = op.options<tflite::ResizeBilinearOptions>();
  import_resize(op, {Interpolation::kBilinear}, options.align_corners(), options.half_pixel_centers());
}

void import_resize_nearest_neighbor(TfliteOp& op) {
  const auto& options = op.options<tflite::ResizeNearestNeighborOptions>();
  import_resize(op, {Interpolation::kNearest}, options.align_corners(), options.half_pixel_centers());
}

constexpr TfliteOperator kTfliteResizeOperators[] = {
    {Builtin::RESIZE_BILINEAR, import_resize_bilinear, {Op::kResize}, "The size is a constant."},
    {Builtin::RESIZE_NEAREST_NEIGHBOR,
     import_resize_nearest_neighbor,
     {Op::kResize},
     "The size is a constant."},
};

}  // namespace

Span<const TfliteOperator> tflite_resize_operators() { return kTfliteResizeOperators; }

}  // namespace intaglio::importers

// Int8 codes that ONNX files give activations: their grids, and their bounds.
#pragma once

#include "importers/onnx/onnx_op.h"

namespace intaglio::importers {

// Exponents of scales. Weights of dead channels may have one far below that of any tensor.
inline constexpr int kLeastScale = -40, kLeastWeightScale = -120, kMostScale = 40;
// Throws unless it is within 2^least to 2^kMostScale.
void check_scale(float scale, int least = kLeastScale);

// An int8 tensor with these numbers.
int32_t add_codes(OnnxOp& op, const std::string& name, const Shape& shape, float scale, int64_t zero_point);

// Activations with a scale for each channel. The codes are of one tensor with one scale and zero point; the channels'
// own come before Quantize and behind Dequantize, as factors and addends:
//
//   code = round(x / s[c]) + z[c] = round((x * s / s[c] + (z[c] - z) * s) / s) + z
class ChannelGrids {
 public:
  // A scale of 0: a channel whose value is 0, whatever the code.
  ChannelGrids(std::vector<float> scales, const std::vector<int64_t>& zero_points, int32_t axis);
  float scale() const { return scale_; }
  int64_t zero_point() const { return zero_point_; }
  bool is_per_channel() const { return axis_ >= 0; }

  // The tensor that is quantized in place of x.
  int32_t to_common(OnnxOp& op, int32_t x) const;
  // The reals of y's codes, in the common scale.
  int32_t to_own(OnnxOp& op, int32_t y) const;

 private:
  bool has_moves() const;
  int32_t with_constant(OnnxOp& op, Op kind, int32_t x, const std::string& end,
                        const std::vector<float>& values) const;

  std::vector<float> scales_, moves_;
  int32_t axis_;
  float scale_;
  int64_t zero_point_;
};

// Bounds of codes between QuantizeLinear and DequantizeLinear, as a reduced range has them.

// Whether input i is an activation of codes: of int8 here, or of FP32 that stands for codes of 16 bits.
bool holds_codes(const OnnxOp& op, int i);
// The output becomes the codes of input i from `low` to `high`, both counted as the file counts; infinite: no bound.
void set_bounded_codes(OnnxOp& op, int i, double low, double high);

}  // namespace intaglio::importers

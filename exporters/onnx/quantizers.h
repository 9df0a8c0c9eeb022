// Quantized constants and activations as nodes of an ONNX file, in one of its forms.
#pragma once

#include "exporters/onnx/onnx_export.h"
#include "exporters/onnx/onnx_graph.h"
#include "intaglio/tensor.h"

namespace intaglio::exporters {

struct ActivationGrid {
  float scale = 1.0f;
  int32_t zero_point = 0;
  int32_t least = -128, most = 127;  // codes of the type: int8, or int16
  int32_t lo = least, hi = most;     // codes in use
};
inline bool has_codes(const TensorInfo& info) {
  return info.dtype == DType::kS8 || info.dtype == DType::kS16;
}
// Of a tensor of codes.
ActivationGrid grid_of(const TensorInfo& info);

class Quantizers {
 public:
  Quantizers(OnnxGraph& graph, OnnxForm form) : graph_(graph), form_(form) {}

  OnnxForm form() const { return form_; }

  // Values of these names, which nothing has yet. Codes in the order of `dims`, with one scale, or one for each index of `axis`.
  void add_codes(const std::string& name, const std::vector<int64_t>& dims, const std::vector<int8_t>& codes,
                 Span<const float> scales, int32_t axis, int32_t zero_point);
  void add_wide_codes(const std::string& name, const std::vector<int64_t>& dims,
                      const std::vector<int16_t>& codes, float scale);
  // A bias [c], whose scales are one or c.
  void add_bias(const std::string& name, Span<const int32_t> codes, const std::vector<float>& scales);
  void add_floats(const std::string& name, const std::vector<int64_t>& dims,
                  const std::vector<float>& values) {
    graph_.add_constant(name, OnnxTensor::FLOAT, dims, values.data(), values.size() * sizeof(float));
  }
  void add_rounding(const std::string& value, const std::string& rounded, const ActivationGrid& grid);

 private:
  void add_float(const std::string& name, float value) {
    graph_.add_constant(name, OnnxTensor::FLOAT, {}, &value, sizeof value);
  }
  void add_fake_quantize(const std::string& name, const std::string& from, const std::string& to,
                         int64_t levels, const std::vector<int64_t>& dims, const std::vector<float>& low,
                         const std::vector<float>& high);

  OnnxGraph& graph_;
  OnnxForm form_;
};

// Operators between quantizers as operators of codes.

inline constexpr char kCodeOperatorsDomain[] = "com.microsoft";  // of those that ONNX itself does not have

// Rewrites a graph of opset 13 with QuantizeLinear and DequantizeLinear: what reads dequantized values alone and is read by one
// QuantizeLinear becomes QLinearConv, QGemm, QLinearMatMul, QLinearAdd and the like, or moves codes as it moved numbers. A bound between the
// two goes where the codes saturate at it. Everything else stays as it is.
void to_qoperators(OnnxGraph& graph);

}  // namespace intaglio::exporters

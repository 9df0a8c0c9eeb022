// QuantizeLinear and DequantizeLinear in ONNX files that a test makes.
#pragma once

#include "tests/support/onnx_builder.h"

namespace intaglio::test {

using Type = onnx_file::TensorProto;

inline void codes(OnnxBuilder& file, const std::string& name, const std::vector<int64_t>& dims,
                  Type::DataType type, const std::vector<int32_t>& values) {
  Type& tensor = *file.graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  for (const int32_t value : values) tensor.add_int32_data(value);
}

inline void scale(OnnxBuilder& file, const std::string& name, float value, Type::DataType type,
                  int32_t zero_point) {
  file.floats(name, {}, {value});
  codes(file, name + "0", {}, type, {zero_point});
}

// x, quantized and dequantized, into y.
inline void quantize(OnnxBuilder& file, const std::string& x, const std::string& s, const std::string& y) {
  file.node("QuantizeLinear", {x, s, s + "0"}, y + "_codes");
  file.node("DequantizeLinear", {y + "_codes", s, s + "0"}, y);
}

}  // namespace intaglio::test

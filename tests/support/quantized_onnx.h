// QuantizeLinear and DequantizeLinear in ONNX files that a test makes.
#pragma once

#include "tests/support/onnx_builder.h"

namespace intaglio::test {

using Type = onnx_file::TensorProto;

inline void codes(OnnxBuilder& file, const std::string& name, const std::vector<int64_t>& dims,
                  Type::DataType type, const std::vector<int32_t>& values) {
  Type& tensor = file.graph().initializer.add();
  tensor.name = name;
  tensor.data_type = type;
  for (const int64_t dim : dims) tensor.dims.push_back(dim);
  for (const int32_t value : values) tensor.int32_data.push_back(value);
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

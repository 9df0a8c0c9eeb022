// The numbers that a tensor of an ONNX file stores, whatever type and field they stand in.
#pragma once

#include "importers/onnx/onnx_op.h"

namespace intaglio::importers {

// Throws where the data stands elsewhere, or where the shape is larger than a tensor may be.
Shape stored_onnx_shape(const onnx_file::TensorProto& tensor);
// Its `count` numbers, which are those of `shape`. Throw where the tensor holds another number of them, or another kind.
OnnxConstant<float> stored_onnx_floats(const onnx_file::TensorProto& tensor, const Shape& shape,
                                       uint64_t count);
OnnxConstant<int64_t> stored_onnx_integers(const onnx_file::TensorProto& tensor, const Shape& shape,
                                           uint64_t count);

// Codes of 4 bits, two a byte, the lower half first: code i without a sign, and the bytes of such codes, of either sign.
inline int64_t code_of_4_bits(uint8_t half_pair, size_t i) {
  return i % 2 == 0 ? half_pair & 15 : half_pair >> 4;
}
std::vector<uint8_t> packed_codes_of_4_bits(const std::vector<int64_t>& codes);

}  // namespace intaglio::importers

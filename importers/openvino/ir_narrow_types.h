// Element types of an OpenVINO IR that no ONNX tensor here has, as weights are stored in: of 2, 3, 4 and 6 bits, and floats of
// 4 and 8.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace intaglio::importers {

// How many values of the type stand together in how many bytes, and whether they are reals; each becomes a float then, else
// a byte, with a sign where the type has one.
struct IrNarrowType {
  const char* name;
  int32_t values, bytes;
  bool is_real, is_signed;
};

const IrNarrowType* find_ir_narrow_type(const std::string& name);  // nullptr: it is none of them
inline uint64_t ir_narrow_bytes(const IrNarrowType& type, uint64_t count) {
  const auto values = static_cast<uint64_t>(type.values);
  return (count + values - 1) / values * static_cast<uint64_t>(type.bytes);
}
// Decodes `count` values, floats or bytes, from ir_narrow_bytes() of the file.
std::vector<uint8_t> decoded_ir_values(const IrNarrowType& type, const uint8_t* data, uint64_t count);

}  // namespace intaglio::importers

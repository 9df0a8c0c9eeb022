#include "importers/openvino/ir_narrow_types.h"

#include <cstring>

#include "calibrator/host/system/half.h"

namespace intaglio::importers {
namespace {

constexpr IrNarrowType kNarrowTypes[] = {{"u2", 4, 1, false, false},   {"u3", 8, 3, false, false},
                                         {"u4", 2, 1, false, false},   {"u6", 4, 3, false, false},
                                         {"i4", 2, 1, false, true},    {"nf4", 2, 1, true, true},
                                         {"f4e2m1", 2, 1, true, true}, {"f8e4m3", 1, 1, true, true},
                                         {"f8e5m2", 1, 1, true, true}, {"f8e8m0", 1, 1, true, false}};

// The quantiles of a normal distribution that QLoRA's data type holds.
constexpr float kNormalFloats[] = {-1.0f,
                                   -0.6961928009986877f,
                                   -0.5250730514526367f,
                                   -0.39491748809814453f,
                                   -0.28444138169288635f,
                                   -0.18477343022823334f,
                                   -0.09105003625154495f,
                                   0.0f,
                                   0.07958029955625534f,
                                   0.16093020141124725f,
                                   0.24611230194568634f,
                                   0.33791524171829224f,
                                   0.44070982933044434f,
                                   0.5626170039176941f,
                                   0.7229568362236023f,
                                   1.0f};

// Element i of a row of `each` bits, the first in the highest ones of its byte.
int32_t from_the_top(const uint8_t* bytes, uint64_t i, int32_t each) {
  const auto in_byte = static_cast<uint64_t>(8 / each);
  const int32_t shift = 8 - each * static_cast<int32_t>(i % in_byte + 1);
  return bytes[i / in_byte] >> shift & ((1 << each) - 1);
}

// 8 values of 3 bits: their lower two in the first two bytes, the upper one in the third. Of 4 of 6 bits: their lower
// four in the first two, and the upper two in the third.
int32_t split_code(const IrNarrowType& type, const uint8_t* data, uint64_t i) {
  const auto values = static_cast<uint64_t>(type.values);
  const uint8_t* const group = data + i / values * 3;
  const uint64_t place = i % values;
  const int32_t low_bits = 16 / type.values, high_bits = 8 / type.values;
  const int32_t low = from_the_top(group, place, low_bits), high = from_the_top(group + 2, place, high_bits);
  return high << low_bits | low;
}

int32_t code_at(const IrNarrowType& type, const uint8_t* data, uint64_t i) {
  if (type.bytes == 3) return split_code(type, data, i);
  if (type.values == 4) return data[i / 4] >> (2 * (i % 4)) & 3;
  if (type.values == 1) return data[i];
  const int32_t code = i % 2 == 0 ? data[i / 2] & 15 : data[i / 2] >> 4;
  return type.is_signed && !type.is_real && code > 7 ? code - 16 : code;
}

float real_of(const std::string& type, int32_t code) {
  if (type == "nf4") return kNormalFloats[code];
  return real_of_small_float(code, type == "f4e2m1"   ? SmallFloat::kE2M1
                                   : type == "f8e4m3" ? SmallFloat::kE4M3
                                   : type == "f8e5m2" ? SmallFloat::kE5M2
                                                      : SmallFloat::kE8M0);
}

}  // namespace

const IrNarrowType* find_ir_narrow_type(const std::string& name) {
  for (const IrNarrowType& type : kNarrowTypes)
    if (name == type.name) return &type;
  return nullptr;
}

std::vector<uint8_t> decoded_ir_values(const IrNarrowType& type, const uint8_t* data, uint64_t count) {
  const size_t each = type.is_real ? sizeof(float) : 1;
  std::vector<uint8_t> decoded(static_cast<size_t>(count) * each);
  for (uint64_t i = 0; i < count; ++i) {
    const int32_t code = code_at(type, data, i);
    if (!type.is_real) {
      decoded[i] = static_cast<uint8_t>(code);
      continue;
    }
    const float value = real_of(type.name, code);
    std::memcpy(decoded.data() + i * each, &value, each);
  }
  return decoded;
}

}  // namespace intaglio::importers

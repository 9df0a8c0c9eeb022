#include "calibrator/host/system/half.h"

#include <cmath>
#include <cstring>

namespace intaglio {

float real_of_half(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const auto fraction = static_cast<float>(half & 1023);
  const float value = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? (fraction != 0.0f ? NAN : INFINITY)
                                       : std::ldexp(fraction + 1024.0f, exponent - 25);
  return (half & 0x8000) != 0 ? -value : value;
}

float real_of_bfloat(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value = 0.0f;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

namespace {

// A sign, then so many bits of exponent and fraction; without infinities.
float finite(int32_t code, int32_t exponent_bits, int32_t fraction_bits, int32_t bias) {
  const int32_t fraction = code & ((1 << fraction_bits) - 1);
  const int32_t exponent = code >> fraction_bits & ((1 << exponent_bits) - 1);
  const int32_t whole = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
  const float size =
      std::ldexp(static_cast<float>(whole), (exponent == 0 ? 1 : exponent) - bias - fraction_bits);
  return (code >> (exponent_bits + fraction_bits) & 1) != 0 ? -size : size;
}

}  // namespace

float real_of_small_float(int32_t code, SmallFloat type) {
  switch (type) {
    case SmallFloat::kE2M1:
      return finite(code, 2, 1, 1);
    case SmallFloat::kE4M3:
      return (code & 127) == 127 ? NAN : finite(code, 4, 3, 7);
    case SmallFloat::kE4M3Fnuz:
      return code == 128 ? NAN : finite(code, 4, 3, 8);
    case SmallFloat::kE5M2:
      return real_of_half(static_cast<uint16_t>(code << 8));
    case SmallFloat::kE5M2Fnuz:
      return code == 128 ? NAN : finite(code, 5, 2, 16);
    case SmallFloat::kE8M0:
      break;
  }
  return code == 255 ? NAN : std::ldexp(1.0f, code - 127);
}

}  // namespace intaglio

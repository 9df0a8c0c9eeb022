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

}  // namespace intaglio

// What a scale and a zero point may be.
#pragma once

#include <cstdint>

namespace intaglio {

inline constexpr float kMinScale = 0x1p-40f;
inline constexpr float kMaxScale = 0x1p40f;

inline bool is_scale(float scale) { return scale >= kMinScale && scale <= kMaxScale; }  // false for NaN
inline bool is_zero_point(int32_t zero_point) { return zero_point >= -128 && zero_point <= 127; }

}  // namespace intaglio

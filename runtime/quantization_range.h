// Limits of a scale and a zero point, and the size of a table of int16 codes.
#pragma once

#include <cstdint>

namespace intaglio {

inline constexpr float kMinScale = 0x1p-40f;
inline constexpr float kMaxScale = 0x1p40f;

inline bool is_scale(float scale) { return scale >= kMinScale && scale <= kMaxScale; }  // false for NaN
inline bool is_zero_point(int32_t zero_point) { return zero_point >= -128 && zero_point <= 127; }

// Entries of a function's table of int16 codes: of the inputs -32768, -32640, and so on to 32768.
inline constexpr int32_t kTableS16 = 513;

}  // namespace intaglio

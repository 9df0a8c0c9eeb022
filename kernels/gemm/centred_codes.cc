#include "kernels/gemm/centred_codes.h"

#include <cstring>

namespace intaglio {
namespace {

constexpr int32_t kBlock = 32;  // loops of so many become vectors

template <int32_t kCount>
inline void take_apart(const int8_t* codes, ptrdiff_t k, int32_t zero_point, int32_t taps, int8_t* weights) {
  int16_t left[kCount];
  for (int32_t j = 0; j < kCount; ++j) left[j] = static_cast<int16_t>(codes[j] - zero_point);
  for (int32_t t = 0; t < taps; ++t, weights += k)
    for (int32_t j = 0; j < kCount; ++j) {
      constexpr int16_t kLeast = -128, kMost = 127;
      const int16_t above = left[j] < kLeast ? kLeast : left[j], part = above > kMost ? kMost : above;
      weights[j] = static_cast<int8_t>(part);
      left[j] = static_cast<int16_t>(left[j] - part);
    }
}

}  // namespace

CodeRange range_of_codes(const int8_t* codes, int32_t lines, int32_t length, ptrdiff_t step) {
  int8_t least[kBlock], most[kBlock];
  memset(least, 127, sizeof least);
  memset(most, -128, sizeof most);
  for (int32_t l = 0; l < lines; ++l, codes += step) {
    int32_t i = 0;
    for (; i + kBlock <= length; i += kBlock)
      for (int32_t j = 0; j < kBlock; ++j) {
        least[j] = codes[i + j] < least[j] ? codes[i + j] : least[j];
        most[j] = codes[i + j] > most[j] ? codes[i + j] : most[j];
      }
    for (; i < length; ++i) {
      least[0] = codes[i] < least[0] ? codes[i] : least[0];
      most[0] = codes[i] > most[0] ? codes[i] : most[0];
    }
  }
  CodeRange range = {least[0], most[0]};
  for (int32_t j = 1; j < kBlock; ++j) {
    range.least = least[j] < range.least ? least[j] : range.least;
    range.most = most[j] > range.most ? most[j] : range.most;
  }
  return range;
}

void take_codes_apart(const int8_t* codes, int32_t k, int32_t zero_point, int32_t taps, int8_t* weights) {
  int32_t i = 0;
  for (; i + kBlock <= k; i += kBlock) take_apart<kBlock>(codes + i, k, zero_point, taps, weights + i);
  for (; i < k; ++i) take_apart<1>(codes + i, k, zero_point, taps, weights + i);
}

}  // namespace intaglio

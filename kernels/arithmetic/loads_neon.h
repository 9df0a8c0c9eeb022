// Loads of 32 bytes, of eight biases, and of eight codes; parts of a vector from row to row. On AArch64 in assembly: gcc 12 loads
// vectors of a constant distance one by one, keeps those that a loop does not change in registers that it has not, or puts an
// address before each pair and each row.
#pragma once

#include <arm_neon.h>

#include <cstddef>

namespace intaglio {

struct TwoNeon {
  int8x16_t first, second;
};

#if defined(__aarch64__)

// The memory behind an address, for assembly that reads some of it.
constexpr size_t kAnyBytes = size_t{1} << 30;

// The 32 bytes at w + Offset. Volatile: it would also load where a branch says not to.
template <int32_t Offset>
static inline TwoNeon load_two_neon(const int8_t* w) {
  int8x16_t first, second;
  __asm__ volatile("ldp %q0, %q1, [%2, %3]"
                   : "=w"(first), "=w"(second)
                   : "r"(w), "i"(Offset), "m"(*reinterpret_cast<const int8_t(*)[kAnyBytes]>(w)));
  return {first, second};
}

// Eight codes, then zeros.
static inline int8x16_t load_eight_neon(const int8_t* from) {
  int8x16_t v;
  __asm__("ldr %d0, %1" : "=w"(v) : "m"(*reinterpret_cast<const int8_t(*)[8]>(from)));
  return v;
}

// Eight biases. Each row loads its own, where gcc would load one and copy it.
struct BiasesNeon {
  int32x4_t first, second;
};
static inline BiasesNeon load_biases_neon(const int32_t* bias) {
  int32x4_t first, second;
  __asm__ volatile("ldp %q0, %q1, [%2]"
                   : "=w"(first), "=w"(second)
                   : "r"(bias), "m"(*reinterpret_cast<const int32_t(*)[8]>(bias)));
  return {first, second};
}

// Half of a vector, eight codes, or a quarter, four, to *row, which moves on to the next one.
template <int32_t Half>
static inline void store_half_neon(int8x16_t v, size_t stride, int8_t** row) {
  __asm__("st1 {%2.d}[%4], [%0], %3"
          : "+r"(*row), "=m"(*reinterpret_cast<int8_t(*)[8]>(*row))
          : "w"(v), "r"(stride), "i"(Half));
}
template <int32_t Quarter>
static inline void store_quarter_neon(int8x16_t v, size_t stride, int8_t** row) {
  __asm__("st1 {%2.s}[%4], [%0], %3"
          : "+r"(*row), "=m"(*reinterpret_cast<int8_t(*)[4]>(*row))
          : "w"(v), "r"(stride), "i"(Quarter));
}
// A vector of two rows' halves; *row moves on to the next one. Or one of four rows' quarters.
static inline int8x16_t load_halves_neon(size_t stride, const int8_t** row) {
  int8x16_t v;
  __asm__(
      "ld1 {%0.d}[0], [%1], %2\n"
      "ld1 {%0.d}[1], [%1], %2"
      : "=&w"(v), "+r"(*row)
      : "r"(stride), "m"(*reinterpret_cast<const int8_t(*)[kAnyBytes]>(*row)));
  return v;
}
static inline int8x16_t load_quarters_neon(const int8_t* row, size_t stride) {
  int8x16_t v;
  __asm__(
      "ld1 {%0.s}[0], [%1], %2\n"
      "ld1 {%0.s}[1], [%1], %2\n"
      "ld1 {%0.s}[2], [%1], %2\n"
      "ld1 {%0.s}[3], [%1]"
      : "=&w"(v), "+r"(row)
      : "r"(stride), "m"(*reinterpret_cast<const int8_t(*)[kAnyBytes]>(row)));
  return v;
}

#else

template <int32_t Offset>
static inline TwoNeon load_two_neon(const int8_t* w) {
  return {vld1q_s8(w + Offset), vld1q_s8(w + Offset + 16)};
}

#endif

}  // namespace intaglio

// As dwconv_3x3_s8_neon.cc, eight channels at once: dwconv_3x3_s8_in_order.h.
#include "kernels/dwconv/dwconv_3x3_s8_in_order.h"

namespace intaglio {
namespace {

class PairsInOrder {
 public:
  static constexpr int32_t kTapBytes = 64;  // of the weights of a kx, the fourth line's none
  static constexpr int32_t kWeightBytes = 3 * kTapBytes;

  struct Column {
    int8x16_t upper, lower;  // lines 0 and 1, lines 2 and 3
  };

  // Both halves of a vector hold the same weights, for lines of either half.
  PairsInOrder(const int8_t* head, int32_t place) {
    for (int32_t kx = 0; kx < 3; ++kx)
      for (int32_t ky = 0; ky < 3; ++ky) {
        const int8x8_t w = vld1_s8(head + 8 * 16 + kx * kTapBytes + 16 * ky + place);
        w_[kx][ky] = vcombine_s8(w, w);
      }
  }
  // Words of lines 1 and 3 come by general registers, as gemm_s8_neona53.cc says.
  template <int32_t Lines>
  __attribute__((always_inline)) static inline Column load(const void* const* from) {
    uint64_t first, third;
    Column c;
    __asm__ volatile("ldr %0, %1" : "=r"(first) : "m"(*static_cast<const int8_t(*)[8]>(from[1])));
    if (Lines == 2)
      __asm__ volatile("ldr %0, %1" : "=r"(third) : "m"(*static_cast<const int8_t(*)[8]>(from[Lines + 1])));
    c.upper = load_codes(from[0]);
    c.lower = load_codes(from[2]);
    __asm__ volatile("ins %0.d[1], %1" : "+w"(c.upper) : "r"(first));
    if (Lines == 2) __asm__ volatile("ins %0.d[1], %1" : "+w"(c.lower) : "r"(third));
    return c;
  }
  template <int32_t Lines, int32_t Kx>
  __attribute__((always_inline)) inline void add(int32x4_t (*acc)[2], const Column& x) const {
    const int8x16_t* const w = w_[Kx];
    int16x8_t p0, p1, q0, q1;
    __asm__ volatile("smull %0.8h, %1.8b, %2.8b" : "=w"(p0) : "w"(x.upper), "w"(w[0]));
    if (Lines == 2) __asm__ volatile("smull2 %0.8h, %1.16b, %2.16b" : "=w"(p1) : "w"(x.upper), "w"(w[0]));
    __asm__ volatile("smlal2 %0.8h, %1.16b, %2.16b" : "+w"(p0) : "w"(x.upper), "w"(w[1]));
    if (Lines == 2) __asm__ volatile("smlal %0.8h, %1.8b, %2.8b" : "+w"(p1) : "w"(x.lower), "w"(w[1]));
    __asm__ volatile("smull %0.8h, %1.8b, %2.8b" : "=w"(q0) : "w"(x.lower), "w"(w[2]));
    if (Lines == 2) __asm__ volatile("smull2 %0.8h, %1.16b, %2.16b" : "=w"(q1) : "w"(x.lower), "w"(w[2]));
    widen(p0, acc[0]);
    if (Lines == 2) widen(p1, acc[Lines - 1]);
    widen(q0, acc[0]);
    if (Lines == 2) widen(q1, acc[Lines - 1]);
  }

 private:
  __attribute__((always_inline)) static inline void widen(int16x8_t p, int32x4_t* acc) {
    __asm__ volatile("saddw %0.4s, %0.4s, %1.4h" : "+w"(acc[0]) : "w"(p));
    __asm__ volatile("saddw2 %0.4s, %0.4s, %1.8h" : "+w"(acc[1]) : "w"(p));
  }

  int8x16_t w_[3][3];
};

}  // namespace

void dwconv_3x3_s8_neona53(const Dwconv3x3S8Args& args);

void dwconv_3x3_s8_neona53(const Dwconv3x3S8Args& args) { run_blocks_in_order<PairsInOrder>(args); }

}  // namespace intaglio

// As dwconv_3x3_s8_neondot.cc, eight channels at once: dwconv_3x3_s8_in_order.h.
#include "kernels/dwconv/dwconv_3x3_s8_in_order.h"

namespace intaglio {
namespace {

class DotsInOrder {
 public:
  static constexpr int32_t kTapBytes = 64;  // of the weights of a line of output and a kx
  static constexpr int32_t kWeightBytes = 2 * 3 * kTapBytes;

  struct Column {
    int8x16_t q[2];  // of four channels each, four lines' bytes of a channel side by side
  };

  DotsInOrder(const int8_t* head, int32_t place) {
    for (int32_t j = 0; j < 2; ++j)
      for (int32_t kx = 0; kx < 3; ++kx)
        for (int32_t v = 0; v < 2; ++v)
          w_[j][kx][v] = vld1q_s8(head + 8 * 16 + (3 * j + kx) * kTapBytes + 4 * place + 16 * v);
  }
  template <int32_t Lines>
  __attribute__((always_inline)) static inline Column load(const void* const* from) {
    int8x16_t r[4];
#pragma GCC unroll 4
    for (int32_t i = 0; i < Lines + 2; ++i) r[i] = load_codes(from[i]);
    if (Lines == 1) r[3] = r[2];
    const int16x8_t a = vreinterpretq_s16_s8(vzip1q_s8(r[0], r[1]));
    const int16x8_t c = vreinterpretq_s16_s8(vzip1q_s8(r[2], r[3]));
    return {{vreinterpretq_s8_s16(vzip1q_s16(a, c)), vreinterpretq_s8_s16(vzip2q_s16(a, c))}};
  }
  template <int32_t Lines, int32_t Kx>
  __attribute__((always_inline)) inline void add(int32x4_t (*acc)[2], const Column& x) const {
#pragma GCC unroll 2
    for (int32_t j = 0; j < Lines; ++j)
#pragma GCC unroll 2
      for (int32_t v = 0; v < 2; ++v)
        __asm__ volatile("sdot %0.4s, %1.16b, %2.16b" : "+w"(acc[j][v]) : "w"(x.q[v]), "w"(w_[j][Kx][v]));
  }

 private:
  int8x16_t w_[2][3][2];
};

}  // namespace

void dwconv_3x3_s8_neona55(const Dwconv3x3S8Args& args);

void dwconv_3x3_s8_neona55(const Dwconv3x3S8Args& args) { run_blocks_in_order<DotsInOrder>(args); }

}  // namespace intaglio

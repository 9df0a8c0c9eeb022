// Lines as they are: products of two lines are summed in int16, then widened.
#include "kernels/arithmetic/widen_neon.h"
#include "kernels/dwconv/dwconv_3x3_s8_neon_lines.h"

namespace intaglio {
namespace {

struct Lines16 : Sixteen {
  static constexpr int32_t kTapBytes = 64;  // of the weights of a kx, the fourth line's none
  static constexpr int32_t kWeightBytes = 3 * kTapBytes;

  struct Column {
    Codes row[4];
  };
  __attribute__((always_inline)) static inline Column column(const void* const* lines, const Part& part) {
    Column c;
    load(c.row, lines, part);
    return c;
  }
  __attribute__((always_inline)) static inline void add(Sum* acc, int16x8_t low, int16x8_t high) {
    acc[0] = add_low_neon(acc[0], low);
    acc[1] = add_high_neon(acc[1], low);
    acc[2] = add_low_neon(acc[2], high);
    acc[3] = add_high_neon(acc[3], high);
  }
  template <int32_t Line>
  __attribute__((always_inline)) static inline void dot(Sum* acc, const Column& x, const int8_t* w,
                                                        int32_t kx) {
    w += kx * kTapBytes;
    const Codes w0 = vld1q_s8(w), w1 = vld1q_s8(w + 16), w2 = vld1q_s8(w + 32);
    const Codes x0 = x.row[Line], x1 = x.row[Line + 1], x2 = x.row[Line + 2];
    add(acc, multiply_add_low_neon(multiply_low_neon(x0, w0), x1, w1),
        multiply_add_high_neon(multiply_high_neon(x0, w0), x1, w1));
    add(acc, multiply_low_neon(x2, w2), multiply_high_neon(x2, w2));
  }
};

}  // namespace

void dwconv_3x3_s8_neon(const Dwconv3x3S8Args& args);

void dwconv_3x3_s8_neon(const Dwconv3x3S8Args& args) { run_blocks<Lines16, Lines16>(args); }

}  // namespace intaglio

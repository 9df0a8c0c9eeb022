// Lines as they are: products of two lines are summed in int16, then widened.
#include "kernels/arithmetic/requant_neon.h"
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
  __attribute__((always_inline)) static inline void add_eight(Sum* acc, int16x8_t v) {
    acc[0] = add_low_neon(acc[0], v);
    acc[1] = add_high_neon(acc[1], v);
  }
  __attribute__((always_inline)) static inline void add(Sum* acc, int16x8_t low, int16x8_t high) {
    add_eight(acc, low);
    add_eight(acc + 2, high);
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
#if defined(__aarch64__)
  __attribute__((always_inline)) static inline Column hold(const Codes* r) {
    return {{r[0], r[1], r[2], r[3]}};
  }
  // The products of a column with the weights kx, of each line of output and 4 * Vectors channels.
  template <int32_t Lines, int32_t Vectors, int32_t Kx>
  __attribute__((always_inline)) static inline void add_taps(Sum (*acc)[4], const Column& x,
                                                             const int8_t* head) {
    constexpr int32_t kAt = 8 * kWidth + Kx * kTapBytes;
    const TwoNeon w = load_two_neon<kAt>(head);
    const Codes w2 = load_two_neon<kAt + 32>(head).first;
#pragma GCC unroll 2
    for (int32_t j = 0; j < Lines; ++j) {
      const Codes x0 = x.row[j], x1 = x.row[j + 1], x2 = x.row[j + 2];
      add_eight(acc[j], multiply_add_low_neon(multiply_low_neon(x0, w.first), x1, w.second));
      add_eight(acc[j], multiply_low_neon(x2, w2));
      if (Vectors == 2) continue;
      add_eight(acc[j] + 2, multiply_add_high_neon(multiply_high_neon(x0, w.first), x1, w.second));
      add_eight(acc[j] + 2, multiply_high_neon(x2, w2));
    }
  }
#endif
};

#if defined(__aarch64__)

template <>
struct OneLine<Lines16> {
  static void run(const Dwconv3x3S8Args& args, const Dwconv3x3Block& block, const int8_t* head) {
    run_lines_neon<Lines16, 1>(args, block, head);
  }
};
template <>
struct TwoLines<Lines16> {
  static void run(const Dwconv3x3S8Args& args, const Dwconv3x3Block& block, const int8_t* head) {
    run_lines_neon<Lines16, 2>(args, block, head);
  }
};

#endif

}  // namespace

void dwconv_3x3_s8_neon(const Dwconv3x3S8Args& args);

void dwconv_3x3_s8_neon(const Dwconv3x3S8Args& args) { run_blocks<Lines16, Lines16>(args); }

}  // namespace intaglio

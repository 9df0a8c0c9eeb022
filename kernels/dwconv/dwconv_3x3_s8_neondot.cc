// Four lines' bytes of a channel side by side: a lane of sdot sums all four products.
#include "kernels/dwconv/dwconv_3x3_s8_neon_lines.h"

namespace intaglio {
namespace {

struct Dots16 : Sixteen {
  static constexpr int32_t kTapBytes = 64;  // of the weights of a line of output and a kx
  static constexpr int32_t kWeightBytes = 2 * 3 * kTapBytes;

  struct Column {
    Codes q[4];  // of four channels each
  };
  __attribute__((always_inline)) static inline Column column(const void* const* lines, const Part& part) {
    Codes r[4];
    load(r, lines, part);
    return hold(r);
  }
  __attribute__((always_inline)) static inline Column hold(const Codes* r) {
    const int16x8_t a = vreinterpretq_s16_s8(vzip1q_s8(r[0], r[1]));
    const int16x8_t b = vreinterpretq_s16_s8(vzip2q_s8(r[0], r[1]));
    const int16x8_t c = vreinterpretq_s16_s8(vzip1q_s8(r[2], r[3]));
    const int16x8_t d = vreinterpretq_s16_s8(vzip2q_s8(r[2], r[3]));
    return {{vreinterpretq_s8_s16(vzip1q_s16(a, c)), vreinterpretq_s8_s16(vzip2q_s16(a, c)),
             vreinterpretq_s8_s16(vzip1q_s16(b, d)), vreinterpretq_s8_s16(vzip2q_s16(b, d))}};
  }
  template <int32_t Line>
  __attribute__((always_inline)) static inline void dot(Sum* acc, const Column& x, const int8_t* w,
                                                        int32_t kx) {
    w += (3 * Line + kx) * kTapBytes;
#pragma GCC unroll 4
    for (int32_t v = 0; v < 4; ++v) acc[v] = vdotq_s32(acc[v], x.q[v], vld1q_s8(w + 16 * v));
  }
#if defined(__aarch64__)
  // The products of a column with the weights kx of each line of output, of 4 * Vectors channels.
  template <int32_t Lines, int32_t Vectors, int32_t Kx>
  __attribute__((always_inline)) static inline void add_taps(Sum (*acc)[4], const Column& x,
                                                             const int8_t* head) {
    constexpr int32_t kFirst = 8 * kWidth + Kx * kTapBytes, kSecond = kFirst + 3 * kTapBytes;
    add_two<0, kFirst>(acc[0], x, head);
    if (Vectors == 4) add_two<2, kFirst>(acc[0], x, head);
    if (Lines == 1) return;
    add_two<0, kSecond>(acc[Lines - 1], x, head);
    if (Vectors == 4) add_two<2, kSecond>(acc[Lines - 1], x, head);
  }
  template <int32_t First, int32_t At>
  __attribute__((always_inline)) static inline void add_two(Sum* acc, const Column& x, const int8_t* head) {
    const TwoNeon w = load_two_neon<At + 16 * First>(head);
    acc[First] = vdotq_s32(acc[First], x.q[First], w.first);
    acc[First + 1] = vdotq_s32(acc[First + 1], x.q[First + 1], w.second);
  }
#endif
};

#if defined(__aarch64__)

template <>
struct OneLine<Dots16> {
  static void run(const Dwconv3x3S8Args& args, const Dwconv3x3Block& block, const int8_t* head) {
    run_lines_neon<Dots16, 1>(args, block, head);
  }
};
template <>
struct TwoLines<Dots16> {
  static void run(const Dwconv3x3S8Args& args, const Dwconv3x3Block& block, const int8_t* head) {
    run_lines_neon<Dots16, 2>(args, block, head);
  }
};

#endif

}  // namespace

void dwconv_3x3_s8_neondot(const Dwconv3x3S8Args& args);

void dwconv_3x3_s8_neondot(const Dwconv3x3S8Args& args) { run_blocks<Dots16, Dots16>(args); }

}  // namespace intaglio

// Cortex-M with Helium: sixteen products an instruction (vmladava), summed into a core register.
//
// The depth is one run of taps * k, as the weights stand. One vector meets four others in a step: a column
// the four rows of a tile, or, where a tile has fewer rows, a row four columns. Rows that do not stand at
// even distances already are copied once, to scratch [4][taps * k].
#include "kernels/gemm_s8.h"
#include "kernels/requant_helium.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 4;

// The sums of `depth` products of one with each of four, which stand `stride` apart.
[[gnu::noinline]] int32x4_t multiply(const int8_t* one, const int8_t* four, int32_t stride, int32_t depth) {
  int32_t a0 = 0, a1 = 0, a2 = 0, a3 = 0;
  const int8_t* p1 = four + stride;
  const int8_t* p2 = p1 + stride;
  const int8_t* p3 = p2 + stride;
  __asm__ volatile(
      "dlstp.8 lr, %[n]\n"
      "1:\n"
      "vldrb.8 q0, [%[x]], #16\n"
      "vldrb.8 q1, [%[p0]], #16\n"
      "vmladava.s8 %[a0], q0, q1\n"
      "vldrb.8 q2, [%[p1]], #16\n"
      "vmladava.s8 %[a1], q0, q2\n"
      "vldrb.8 q1, [%[p2]], #16\n"
      "vmladava.s8 %[a2], q0, q1\n"
      "vldrb.8 q2, [%[p3]], #16\n"
      "vmladava.s8 %[a3], q0, q2\n"
      "letp lr, 1b\n"
      : [a0] "+Te"(a0), [a1] "+Te"(a1), [a2] "+Te"(a2), [a3] "+Te"(a3), [x] "+r"(one), [p0] "+r"(four),
        [p1] "+r"(p1), [p2] "+r"(p2), [p3] "+r"(p3)
      : [n] "r"(depth)
      : "lr", "q0", "q1", "q2", "memory");
  return int32x4_t{a0, a1, a2, a3};
}

// Where all four rows stand at the same distance, that; else they are copied, and it is the depth.
int32_t gather_rows(const GemmS8Args& args, const int8_t** x) {
  const ptrdiff_t distance = args.rows[1] - args.rows[0];
  *x = args.rows[0];
  if (args.taps == 1 && args.rows[2] - args.rows[1] == distance && args.rows[3] - args.rows[2] == distance)
    return static_cast<int32_t>(distance);
  auto* to = static_cast<int8_t*>(args.scratch);
  *x = to;
  for (int32_t r = 0; r < kMr; ++r)
    for (int32_t t = 0; t < args.taps; ++t, to += args.k)
      memcpy(to, args.rows[t * kMr + r], static_cast<size_t>(args.k));
  return args.taps * args.k;
}

void four_rows(const GemmS8Args& args, const OutputHelium& output) {
  const int8_t* x;
  const int32_t distance = gather_rows(args, &x), depth = args.taps * args.k;
  const uint32x4_t rows = vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<uint32_t>(args.output_stride));
  const uint32x4_t residual_rows =
      vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<uint32_t>(args.residual_stride));
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (int32_t c = 0; c < args.n; ++c, w += depth) {
    const int32x4_t acc = vaddq_n_s32(multiply(w, x, distance, depth), args.folded_bias[c]);
    int32x4_t q = requantize_helium(acc, vdupq_n_f32(args.multiplier[c]), output);
    if (args.residual != nullptr)
      q = add_helium(q, vldrbq_gather_offset_s32(args.residual + c, residual_rows), *args.add);
    vstrbq_scatter_offset_s32(args.output + c, rows, q);
  }
}

void one_row(const GemmS8Args& args, const OutputHelium& output, int32_t r) {
  const int32_t depth = args.taps * args.k;
  const int8_t* x = args.rows[r];
  if (args.taps > 1) {
    auto* to = static_cast<int8_t*>(args.scratch);
    x = to;
    for (int32_t t = 0; t < args.taps; ++t, to += args.k)
      memcpy(to, args.rows[t * kMr + r], static_cast<size_t>(args.k));
  }
  int8_t* const y = args.output + static_cast<size_t>(r) * args.output_stride;
  const auto* w = static_cast<const int8_t*>(args.weights);
  // Fewer than four columns are left: each alone, four times over.
  for (int32_t c = 0, columns; c < args.n; c += columns, w += columns * static_cast<ptrdiff_t>(depth)) {
    columns = args.n - c < 4 ? 1 : 4;
    const mve_pred16_t there = vctp32q(static_cast<uint32_t>(columns));
    const int32x4_t acc =
        vaddq_s32(multiply(x, w, columns == 1 ? 0 : depth, depth), vldrwq_z_s32(args.folded_bias + c, there));
    int32x4_t q = requantize_helium(acc, vldrwq_z_f32(args.multiplier + c, there), output);
    if (args.residual != nullptr) {
      const int8_t* const residual = args.residual + static_cast<size_t>(r) * args.residual_stride + c;
      q = add_helium(q, vldrbq_z_s32(residual, there), *args.add);
    }
    vstrbq_p_s32(y + c, q, there);
  }
}

}  // namespace

void gemm_s8_helium(const GemmS8Args& args);

void gemm_s8_helium(const GemmS8Args& args) {
  const OutputHelium output = make_output_helium(args.requant);
  if (args.m == kMr) return four_rows(args, output);
  for (int32_t r = 0; r < args.m; ++r) one_row(args, output, r);
}

}  // namespace intaglio

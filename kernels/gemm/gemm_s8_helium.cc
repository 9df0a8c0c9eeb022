// Cortex-M with Helium: sixteen products an instruction (vmladava), summed into a core register.
//
// The depth is one run of taps * k, in the order of the weights. Two rows meet three columns in a step, six sums in
// the core's even registers: five loads for six products. Of columns that are left each meets the four rows,
// and where a tile has fewer rows a row meets four columns: five loads for four products. Rows that do not
// are at even distances already are copied once, to scratch [4][taps * k].
#include "kernels/arithmetic/requant_helium.h"
#include "kernels/gemm/gemm_s8.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 4;

// `start` and the sums of `depth` products of one with each of four, which are `stride` apart.
inline int32x4_t multiply(const int8_t* one, const int8_t* four, int32_t stride, int32_t depth,
                          int32_t start) {
  int32_t a0 = start, a1 = start, a2 = start, a3 = start;
  const int8_t* p1 = four + stride;
  const int8_t* p2 = p1 + stride;
  const int8_t* p3 = p2 + stride;
  int32x4_t sums;
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
      "vmov %q[v][2], %q[v][0], %[a0], %[a2]\n"
      "vmov %q[v][3], %q[v][1], %[a1], %[a3]\n"
      : [v] "=&w"(sums), [a0] "+Te"(a0), [a1] "+Te"(a1), [a2] "+Te"(a2), [a3] "+Te"(a3), [x] "+r"(one),
        [p0] "+r"(four), [p1] "+r"(p1), [p2] "+r"(p2), [p3] "+r"(p3)
      : [n] "r"(depth)
      : "lr", "q0", "q1", "q2", "memory");
  return sums;
}

// Three columns of a tile. Its offsets are in the assembly below.
struct ThreeColumns {
  const int8_t* w[3];
  const int32_t* bias;
  int32_t depth, to_next;  // from the end of a column's weights to the next three columns
  const int8_t* x[4];
  int32_t sums[4][3];
};
static_assert(sizeof(ThreeColumns) == 88);

// Makes the sums and moves on to the next three columns. No r7: it may be the frame's.
inline void multiply_three(ThreeColumns* tile) {
  __asm__ volatile(
      "ldm %[t], {r5, r9, r11, lr}\n"
      "ldrd r1, r3, [%[t], #24]\n"
      "ldm lr, {r0, r2, r4}\n"
      "ldr lr, [%[t], #16]\n"
      "mov r6, r0\n"
      "mov r8, r2\n"
      "mov r10, r4\n"
      "dlstp.8 lr, lr\n"
      "1:\n"
      "vldrb.8 q0, [r1], #16\n"
      "vldrb.8 q1, [r5], #16\n"
      "vmladava.s8 r0, q0, q1\n"
      "vldrb.8 q2, [r3], #16\n"
      "vmladava.s8 r6, q2, q1\n"
      "vldrb.8 q1, [r9], #16\n"
      "vmladava.s8 r2, q0, q1\n"
      "vmladava.s8 r8, q2, q1\n"
      "vldrb.8 q1, [r11], #16\n"
      "vmladava.s8 r4, q0, q1\n"
      "vmladava.s8 r10, q2, q1\n"
      "letp lr, 1b\n"
      "add lr, %[t], #40\n"
      "stm lr, {r0, r2, r4, r6, r8, r10}\n"
      "ldm %[t], {r5, r9, r11, lr}\n"
      "ldrd r1, r3, [%[t], #32]\n"
      "ldmia lr!, {r0, r2, r4}\n"
      "str lr, [%[t], #12]\n"
      "ldr lr, [%[t], #16]\n"
      "mov r6, r0\n"
      "mov r8, r2\n"
      "mov r10, r4\n"
      "dlstp.8 lr, lr\n"
      "2:\n"
      "vldrb.8 q0, [r1], #16\n"
      "vldrb.8 q1, [r5], #16\n"
      "vmladava.s8 r0, q0, q1\n"
      "vldrb.8 q2, [r3], #16\n"
      "vmladava.s8 r6, q2, q1\n"
      "vldrb.8 q1, [r9], #16\n"
      "vmladava.s8 r2, q0, q1\n"
      "vmladava.s8 r8, q2, q1\n"
      "vldrb.8 q1, [r11], #16\n"
      "vmladava.s8 r4, q0, q1\n"
      "vmladava.s8 r10, q2, q1\n"
      "letp lr, 2b\n"
      "add lr, %[t], #64\n"
      "stm lr, {r0, r2, r4, r6, r8, r10}\n"
      "ldr r1, [%[t], #20]\n"
      "add r5, r1\n"
      "add r9, r1\n"
      "add r11, r1\n"
      "stm %[t], {r5, r9, r11}\n"
      :
      : [t] "r"(tile)
      : "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "lr", "q0", "q1", "q2", "memory");
}

// One row's taps, one behind the other. Short runs: a loop, where a call would cost more.
void copy_row(const GemmS8Args& args, int32_t r, int8_t* to) {
  const int8_t* const* row = args.rows + r;
  for (int32_t t = 0; t < args.taps; ++t, row += kMr) {
    const int8_t* from = *row;
    int8_t* at = to;
    __asm__ volatile(
        "dlstp.8 lr, %[n]\n"
        "1:\n"
        "vldrb.8 q0, [%[from]], #16\n"
        "vstrb.8 q0, [%[at]], #16\n"
        "letp lr, 1b\n"
        : [from] "+r"(from), [at] "+r"(at)
        : [n] "r"(args.k)
        : "lr", "q0", "memory");
    to += args.k;
  }
}

// The distance between the four rows, where it is the same; else they are copied, and it is the depth.
int32_t gather_rows(const GemmS8Args& args, const int8_t** x) {
  const int8_t* const* const rows = args.rows;
  const ptrdiff_t distance = rows[1] - rows[0];
  *x = rows[0];
  if (args.taps == 1 && rows[2] - rows[1] == distance && rows[3] - rows[2] == distance)
    return static_cast<int32_t>(distance);
  const int32_t depth = args.taps * args.k;
  auto* const to = static_cast<int8_t*>(args.scratch);
  for (int32_t r = 0; r < kMr; ++r) copy_row(args, r, to + r * depth);
  *x = to;
  return depth;
}

void four_rows(const GemmS8Args& args) {
  const int8_t* x;
  const int32_t distance = gather_rows(args, &x), depth = args.taps * args.k;
  const OutputHelium output = make_output_helium(args.requant);
  const AddHelium add = args.residual != nullptr ? make_add_helium(*args.add) : AddHelium{};
  const uint32x4_t order = vidupq_n_u32(0, 1), every_third = vmulq_n_u32(order, 3);
  const uint32x4_t rows = vmulq_n_u32(order, static_cast<uint32_t>(args.output_stride));
  const uint32x4_t residual_rows = vmulq_n_u32(order, static_cast<uint32_t>(args.residual_stride));
  const auto* w = static_cast<const int8_t*>(args.weights);
  ThreeColumns tile = {{w, w + depth, w + 2 * depth},
                       args.folded_bias,
                       depth,
                       3 * depth - (depth + 15) / 16 * 16,
                       {x, x + distance, x + 2 * distance, x + 3 * distance},
                       {}};
  int32_t* const sums = tile.sums[0];
  const int8_t* residual = args.residual;
  const float* multiplier = args.multiplier;
  int8_t* y = args.output;
  for (int32_t left = args.n, columns; left > 0; left -= columns) {
    columns = left < 3 ? 1 : 3;
    if (columns == 3) {
      multiply_three(&tile);
    } else {
      const int32x4_t acc = multiply(tile.w[0], x, distance, depth, *tile.bias++);
      vstrwq_scatter_shifted_offset_s32(sums, every_third, acc);
      tile.w[0] += depth;
    }
    const int32_t* sum = sums;
    for (int32_t column = columns; column > 0; --column, ++y) {
      int32x4_t q =
          requantize_helium(vldrwq_gather_shifted_offset_s32(sum++, every_third), *multiplier++, output);
      if (residual != nullptr) q = add_helium(q, vldrbq_gather_offset_s32(residual++, residual_rows), add);
      vstrbq_scatter_offset_s32(y, rows, q);
    }
  }
}

// Where fewer than four columns are left, each alone, four times over.
void one_row(const GemmS8Args& args, int32_t r) {
  const OutputHelium output = make_output_helium(args.requant);
  const AddHelium add = args.residual != nullptr ? make_add_helium(*args.add) : AddHelium{};
  const int32_t depth = args.taps * args.k;
  const int8_t* x = args.rows[r];
  if (args.taps > 1) {
    copy_row(args, r, static_cast<int8_t*>(args.scratch));
    x = static_cast<const int8_t*>(args.scratch);
  }
  const auto row = static_cast<size_t>(r);
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (int32_t c = 0, columns; c < args.n; c += columns, w += columns * static_cast<ptrdiff_t>(depth)) {
    columns = args.n - c < 4 ? 1 : 4;
    const mve_pred16_t there = vctp32q(static_cast<uint32_t>(columns));
    const int32x4_t acc = vaddq_s32(multiply(x, w, columns == 1 ? 0 : depth, depth, 0),
                                    vldrwq_z_s32(args.folded_bias + c, there));
    int32x4_t q = requantize_helium(acc, vldrwq_z_f32(args.multiplier + c, there), output);
    if (args.residual != nullptr)
      q = add_helium(q, vldrbq_z_s32(args.residual + row * args.residual_stride + c, there), add);
    vstrbq_p_s32(args.output + row * args.output_stride + c, q, there);
  }
}

}  // namespace

void gemm_s8_helium(const GemmS8Args& args);

void gemm_s8_helium(const GemmS8Args& args) {
  if (args.m == kMr) return four_rows(args);
  for (int32_t r = 0; r < args.m; ++r) one_row(args, r);
}

}  // namespace intaglio

// Cortex-M with Helium: sixteen products an instruction (vmladava), summed into a core register.
//
// The depth is one run of taps * k, in the order of the weights. Two rows meet three columns in a step, six sums in
// the core's even registers: five loads for six products. Of columns that are left each meets the four rows,
// and where a tile has fewer rows a row meets four columns: five loads for four products. Rows that are not
// at even distances already are copied once, to scratch [4][taps * k].
#include "kernels/arithmetic/requant_helium.h"
#include "kernels/gemm/gemm_s8_windows.h"

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

// Short runs: a loop, where a call would cost more.
inline int8_t* copy_run(const int8_t* from, int32_t bytes, int8_t* to) {
  int8_t* const end = to + bytes;
  __asm__ volatile(
      "dlstp.8 lr, %[n]\n"
      "1:\n"
      "vldrb.8 q0, [%[from]], #16\n"
      "vstrb.8 q0, [%[to]], #16\n"
      "letp lr, 1b\n"
      : [from] "+r"(from), [to] "+r"(to)
      : [n] "r"(bytes)
      : "lr", "q0", "memory");
  return end;
}

inline int8_t* fill_run(int8_t code, int32_t bytes, int8_t* to) {
  int8_t* const end = to + bytes;
  __asm__ volatile(
      "vdup.8 q0, %[code]\n"
      "dlstp.8 lr, %[n]\n"
      "1:\n"
      "vstrb.8 q0, [%[to]], #16\n"
      "letp lr, 1b\n"
      : [to] "+r"(to)
      : [n] "r"(bytes), [code] "r"(static_cast<int32_t>(code))
      : "lr", "q0", "memory");
  return end;
}

// Windows, one or four, in place or in scratch.
class WindowsHelium {
 public:
  explicit WindowsHelium(const GemmS8Args& args)
      : of_(*args.windows),
        input_(args.first_row),
        runs_(of_, args.k),
        walk_(of_, args.first_window),
        k_(args.k),
        depth_(args.taps * args.k),
        copies_(static_cast<int8_t*>(args.scratch)) {}

  const int8_t* one() {
    const WindowAt at = walk_.next();
    if (runs_.one && at.inside) return input_ + at.from;
    copy(at, copies_);
    return copies_;
  }

  // The first one; `distance` is that from each to the next.
  [[gnu::noinline]] const int8_t* four(int32_t* distance) {
    WindowAt at[kMr];
    if (walk_.next_four(at) && runs_.one) {
      *distance = static_cast<int32_t>(walk_.step());
      return input_ + at[0].from;
    }
    for (int32_t r = 0; r < kMr; ++r) copy(at[r], copies_ + r * depth_);
    *distance = depth_;
    return copies_;
  }

 private:
  [[gnu::noinline]] void copy(const WindowAt& at, int8_t* to) {
    if (at.inside) {
      const int8_t* line = input_ + at.from;
      const ptrdiff_t next_run = static_cast<ptrdiff_t>(of_.dilation_w) * of_.channels,
                      next_line = static_cast<ptrdiff_t>(of_.dilation_h) * of_.w * of_.channels;
      for (int32_t ky = 0; ky < of_.kernel_h; ++ky, line += next_line) {
        const int8_t* from = line;
        for (int32_t run = 0; run < runs_.runs; ++run, from += next_run) to = copy_run(from, runs_.bytes, to);
      }
      return;
    }
    for_window(
        of_, input_, runs_, k_, at,
        [&](const int8_t* from, int32_t bytes) { to = copy_run(from, bytes, to); },
        [&](int32_t bytes) { to = fill_run(static_cast<int8_t>(of_.zero_point), bytes, to); });
  }

  const GemmS8Windows& of_;
  const int8_t* const input_;
  const WindowRuns runs_;
  WindowWalk walk_;
  const int32_t k_, depth_;
  int8_t* const copies_;
};

// Rows at `x`, and each `distance` behind the one before.
void four_rows(const GemmS8Args& args, const int8_t* x, int32_t distance) {
  const int32_t depth = args.taps * args.k;
  const OutputHelium output = make_output_helium(args.requant);
  AddHelium add;  // of a residual
  if (args.residual != nullptr) add = make_add_helium(*args.add);
  const uint32x4_t order = vidupq_n_u32(0, 1);
  const uint32x4_t rows = vmulq_n_u32(order, static_cast<uint32_t>(args.output_stride));
  const uint32x4_t residual_rows = vmulq_n_u32(order, static_cast<uint32_t>(args.residual_stride));
  const auto* w = static_cast<const int8_t*>(args.weights);
  ThreeColumns tile;  // its sums are made before they are read
  for (int32_t c = 0; c < 3; ++c) tile.w[c] = w + c * static_cast<ptrdiff_t>(depth);
  tile.bias = args.folded_bias;
  tile.depth = depth;
  tile.to_next = 3 * depth - (depth + 15) / 16 * 16;
  for (int32_t r = 0; r < kMr; ++r) tile.x[r] = x + r * static_cast<ptrdiff_t>(distance);
  // The sums of the first column, a row each.
  uint32x4_t sums =
      vmlaq_n_u32(vdupq_n_u32(reinterpret_cast<uint32_t>(tile.sums[0])), order, sizeof tile.sums[0]);
  const int8_t* residual = args.residual;
  const float* multiplier = args.multiplier;
  int8_t* y = args.output;
  const auto finish = [&](int32x4_t acc) {
    int32x4_t q = requantize_helium(acc, *multiplier++, output);
    if (residual != nullptr) {
      // From memory, since the products take all registers: else each column without a residual would load them, too.
      const AddHelium* params = &add;
      __asm__("" : "+r"(params));
      q = add_helium(q, vldrbq_gather_offset_s32(residual++, residual_rows), *params);
    }
    vstrbq_scatter_offset_s32(y++, rows, q);
  };
  int32_t left = args.n;
  for (; left >= 3; left -= 3) {
    multiply_three(&tile);
    __asm__("" : "+w"(sums) : : "memory");  // compilers take loads by addresses in a vector for constants
    finish(vldrwq_gather_base_s32(sums, 0));
    finish(vldrwq_gather_base_s32(sums, 4));
    finish(vldrwq_gather_base_s32(sums, 8));
  }
  for (; left > 0; --left, tile.w[0] += depth) finish(multiply(tile.w[0], x, distance, depth, *tile.bias++));
}

// Where fewer than four columns are left, each alone, four times over.
void one_row(const GemmS8Args& args, const int8_t* x) {
  const OutputHelium output = make_output_helium(args.requant);
  const AddHelium add = args.residual != nullptr ? make_add_helium(*args.add) : AddHelium{};
  const int32_t depth = args.taps * args.k;
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (int32_t c = 0, columns; c < args.n; c += columns, w += columns * static_cast<ptrdiff_t>(depth)) {
    columns = args.n - c < 4 ? 1 : 4;
    const mve_pred16_t there = vctp32q(static_cast<uint32_t>(columns));
    const int32x4_t acc = vaddq_s32(multiply(x, w, columns == 1 ? 0 : depth, depth, 0),
                                    vldrwq_z_s32(args.folded_bias + c, there));
    int32x4_t q = requantize_helium(acc, vldrwq_z_f32(args.multiplier + c, there), output);
    if (args.residual != nullptr) q = add_helium(q, vldrbq_z_s32(args.residual + c, there), add);
    vstrbq_p_s32(args.output + c, q, there);
  }
}

}  // namespace

void gemm_s8_helium(const GemmS8Args& args);
void gemm_s8_windows_helium(GemmS8Args& args);

static void move_on(GemmS8Args& part, int32_t rows) {
  part.output += static_cast<size_t>(rows) * part.output_stride;
  if (part.residual != nullptr) part.residual += static_cast<size_t>(rows) * part.residual_stride;
}

void gemm_s8_helium(const GemmS8Args& args) {
  GemmS8Args part = args;
  const auto distance = static_cast<int32_t>(args.row_distance);
  const int8_t* x = args.first_row;
  for (int32_t left = args.m, rows; left > 0; left -= rows, x += rows * distance) {
    rows = left < kMr ? 1 : kMr;
    if (rows == kMr)
      four_rows(part, x, distance);
    else
      one_row(part, x);
    move_on(part, rows);
  }
}

void gemm_s8_windows_helium(GemmS8Args& args) {
  WindowsHelium windows(args);
  for (int32_t left = args.m, rows; left > 0; left -= rows) {
    rows = left < kMr ? 1 : kMr;
    if (rows == kMr) {
      int32_t distance;
      const int8_t* const x = windows.four(&distance);
      four_rows(args, x, distance);
    } else {
      one_row(args, windows.one());
    }
    move_on(args, rows);
  }
}

}  // namespace intaglio

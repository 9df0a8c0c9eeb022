// Chains of fused multiply-adds, side by side. AArch64: eight rows times eight columns in vectors. ARMv7: four rows. Vectors flush
// subnormals there, and say so: FPSCR's IDC is set where an operand was one, UFC where a result was. Where neither is, the
// sums are those of scalar registers. Where one is, the tile is computed once more in VFP's, two rows at a time.
#include "kernels/arithmetic/fma_f32.h"
#include "kernels/arithmetic/output_f32_neon.h"
#include "kernels/gemm/gemm_f32.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 64, kNr = 8;

#if defined(__aarch64__)

// The ends of rows: one by one, as the scalar kernel does.
__attribute__((noinline)) void store_some(const GemmF32Args& args, size_t row, int32_t first, int32_t columns,
                                          const float* sums) {
  for (int32_t c = 0; c < columns; ++c) {
    float v = sums[c] + 0.0f;
    if (args.residual != nullptr)
      v += args.residual[row * args.residual_stride + static_cast<size_t>(first + c)];
    args.output[row * args.output_stride + static_cast<size_t>(first + c)] = finish_f32(v, args.clamp);
  }
}

// The first `left` of `rows`, then the last of them again, `count` in all.
__attribute__((noinline)) void repeat_last(const float* const* rows, int32_t left, const float** copies,
                                           int32_t count) {
  for (int32_t r = 0; r < count; ++r) copies[r] = rows[r < left ? r : left - 1];
}

struct TwoF32 {
  float32x4_t first, second;
};
// The memory behind an address, for assembly that reads some of it.
constexpr size_t kAnyFloats = size_t{1} << 28;
// In assembly: gcc 12 makes no pairs, and copies what is loaded twice.
template <int32_t Offset>
inline TwoF32 load_two(const float* from) {
  float32x4_t first, second;
  __asm__ volatile("ldp %q0, %q1, [%2, %3]"
                   : "=w"(first), "=w"(second)
                   : "r"(from), "i"(Offset * sizeof(float)),
                     "m"(*reinterpret_cast<const float(*)[kAnyFloats]>(from)));
  return {first, second};
}

template <int32_t Lane>
inline float32x4_t add_lane(float32x4_t sum, float32x4_t w, float32x4_t a) {
  __asm__("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(sum) : "w"(w), "w"(a), "i"(Lane));
  return sum;
}

// acc[r] += depth `lane` of row r times the eight columns of depth `depth` at w.
#define ITG_DEPTH(depth, lane)                                   \
  {                                                              \
    const TwoF32 b = load_two<kNr*(depth)>(w);                   \
    _Pragma("GCC unroll 8") for (int32_t r = 0; r < Rows; ++r) { \
      acc[r][0] = add_lane<lane>(acc[r][0], b.first, a[r]);      \
      acc[r][1] = add_lane<lane>(acc[r][1], b.second, a[r]);     \
    }                                                            \
  }
// Four depths of the rows from `from` on, the weights of depth `depth` and on.
#define ITG_FOUR_DEPTHS(depth, from)                                                                  \
  {                                                                                                   \
    float32x4_t a[Rows];                                                                              \
    _Pragma("GCC unroll 8") for (int32_t r = 0; r < Rows; ++r) a[r] = vld1q_f32(x[r] + (from));       \
    ITG_DEPTH(depth, 0) ITG_DEPTH((depth) + 1, 1) ITG_DEPTH((depth) + 2, 2) ITG_DEPTH((depth) + 3, 3) \
  }

// Rows [row, past), so many at a time; those past the end are copies of the last one: computed, not stored.
template <int32_t Rows>
__attribute__((noinline)) void tiles(const GemmF32Args& args, int32_t row, int32_t past) {
  const FinishF32 finish(args.clamp);
  const bool clamps = Rows == 8 && FinishF32::is_clamp(args.clamp);
  const int32_t taps = args.taps;
  const size_t stride = args.output_stride;
  for (; row < past; row += Rows) {
    const bool full = row + Rows <= past, whole = full && args.residual == nullptr;
    const float* w = args.weights;
    for (int32_t first = 0; first < args.n; first += kNr) {
      const int32_t columns = args.n - first < kNr ? args.n - first : kNr;
      float some[kNr] = {};
      const float* bias = some;
      if (args.bias != nullptr) {
        if (columns == kNr)
          bias = args.bias + first;
        else
          memcpy(some, args.bias + first, static_cast<size_t>(columns) * sizeof(float));
      }
      float32x4_t acc[Rows][2];
#pragma GCC unroll 8
      for (int32_t r = 0; r < Rows; ++r) {
        const TwoF32 b = load_two<0>(bias);
        acc[r][0] = b.first;
        acc[r][1] = b.second;
      }
      const float* const* rows = args.rows + row;
      for (int32_t t = 0; t < taps; ++t, rows += kMr) {
        const float* copies[Rows];
        if (!full) repeat_last(rows, past - row, copies, Rows);
        const float* const* const of_tap = full ? rows : copies;
        const float* x[Rows];
#pragma GCC unroll 8
        for (int32_t r = 0; r < Rows; ++r) x[r] = of_tap[r];
        ptrdiff_t i = 0;
        for (const float* const end = w + args.k / 8 * 8 * kNr; w != end; i += 8, w += 8 * kNr) {
          ITG_FOUR_DEPTHS(0, i)
          ITG_FOUR_DEPTHS(4, i + 4)
        }
        if ((args.k & 4) != 0) {
          ITG_FOUR_DEPTHS(0, i)
          i += 4;
          w += 4 * kNr;
        }
        for (; i < args.k; ++i, w += kNr) {
          const TwoF32 b = load_two<0>(w);
#pragma GCC unroll 8
          for (int32_t r = 0; r < Rows; ++r) {
            acc[r][0] = vfmaq_n_f32(acc[r][0], b.first, x[r][i]);
            acc[r][1] = vfmaq_n_f32(acc[r][1], b.second, x[r][i]);
          }
        }
      }
      float* to = args.output + static_cast<size_t>(row) * stride + first;
      if (whole && columns == kNr) {
        const auto store = [&](auto last) {
#pragma GCC unroll 8
          for (int32_t r = 0; r < Rows; ++r, to += stride) {
            vst1q_f32(to, last(acc[r][0]));
            vst1q_f32(to + 4, last(acc[r][1]));
          }
        };
        clamps ? store([&](float32x4_t v) { return finish.clamp(v); }) : store(finish);
        continue;
      }
#pragma GCC unroll 8
      for (int32_t r = 0; r < Rows; ++r, to += stride) {
        if (row + r >= past) break;
        const auto at = static_cast<size_t>(row + r);
        if (columns == kNr) {
          float32x4_t v0 = vaddq_f32(acc[r][0], vdupq_n_f32(0.0f)),
                      v1 = vaddq_f32(acc[r][1], vdupq_n_f32(0.0f));
          if (args.residual != nullptr) {
            const float* const residual = args.residual + at * args.residual_stride + first;
            v0 = vaddq_f32(v0, vld1q_f32(residual));
            v1 = vaddq_f32(v1, vld1q_f32(residual + 4));
          }
          vst1q_f32(to, finish(v0));
          vst1q_f32(to + 4, finish(v1));
        } else {
          float sums[kNr];
          vst1q_f32(sums, acc[r][0]);
          vst1q_f32(sums + 4, acc[r][1]);
          store_some(args, at, first, columns, sums);
        }
      }
    }
  }
}

void all_rows(const GemmF32Args& args) {
  const DefaultNan mode;
  const int32_t whole = args.m / 8 * 8, rest = args.m - whole;
  if (whole > 0) tiles<8>(args, 0, whole);
  if (rest > 4) return tiles<8>(args, whole, args.m);
  if (rest > 1) return tiles<4>(args, whole, args.m);
  if (rest == 1) tiles<1>(args, whole, args.m);
}

#else

constexpr uint32_t kFlushed = 1u << 7 | 1u << 3;  // IDC, UFC

inline uint32_t read_status() {
  uint32_t status;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(status));
  return status;
}
inline void write_status(uint32_t status) { __asm__ volatile("vmsr fpscr, %0" : : "r"(status)); }

// The sums go through: what makes them stays before or behind.
template <int32_t Rows>
inline void pin(float32x4_t (*acc)[2]) {
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; ++r) __asm__ volatile("" : "+w"(acc[r][0]), "+w"(acc[r][1]));
}

// One number in four lanes; *from moves on. In assembly: gcc 12 adds to the pointer before each load.
inline float32x4_t load_four_times(const float** from) {
  float32x4_t v;
  __asm__("vld1.32 {%e0[], %f0[]}, [%1]!" : "=w"(v), "+r"(*from) : "m"(**from));
  return v;
}

// Rows from x on, one of each tap; first: the panel's column. Returns whether nothing was flushed; FPSCR says so afterwards, too.
template <int32_t Rows>
bool sum_in_vectors(const GemmF32Args& args, const float* w, int32_t row, const float* bias,
                    float (*sums)[kNr]) {
  float32x4_t acc[Rows][2];
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; ++r) {
    acc[r][0] = vld1q_f32(bias);
    acc[r][1] = vld1q_f32(bias + 4);
  }
  pin<Rows>(acc);
  for (int32_t t = 0; t < args.taps; ++t) {
    const float* const* const rows = args.rows + static_cast<ptrdiff_t>(t) * kMr + row;
    const float* x[Rows];
#pragma GCC unroll 4
    for (int32_t r = 0; r < Rows; ++r) x[r] = rows[r];
    for (int32_t i = 0; i < args.k; ++i, w += kNr) {
      const float32x4_t b0 = vld1q_f32(w), b1 = vld1q_f32(w + 4);
#pragma GCC unroll 4
      for (int32_t r = 0; r < Rows; ++r) {
        const float32x4_t a = load_four_times(&x[r]);
        acc[r][0] = vfmaq_f32(acc[r][0], a, b0);
        acc[r][1] = vfmaq_f32(acc[r][1], a, b1);
      }
    }
  }
  pin<Rows>(acc);
  if ((read_status() & kFlushed) != 0) return false;
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; ++r) {
    vst1q_f32(sums[r], acc[r][0]);
    vst1q_f32(sums[r] + 4, acc[r][1]);
  }
  return true;
}

// The same in scalar registers.
template <int32_t Rows>
__attribute__((noinline)) void sum_in_scalars(const GemmF32Args& args, const float* w, int32_t row,
                                              const float* bias, float (*sums)[kNr]) {
  float acc[Rows][kNr];
#pragma GCC unroll 2
  for (int32_t r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (int32_t c = 0; c < kNr; ++c) acc[r][c] = bias[c];
  for (int32_t t = 0; t < args.taps; ++t) {
    const float* const* const rows = args.rows + static_cast<ptrdiff_t>(t) * kMr + row;
    const float* x[Rows];
#pragma GCC unroll 2
    for (int32_t r = 0; r < Rows; ++r) x[r] = rows[r];
    for (int32_t i = 0; i < args.k; ++i, w += kNr)
#pragma GCC unroll 2
      for (int32_t r = 0; r < Rows; ++r) {
        const float a = x[r][i];
#pragma GCC unroll 8
        for (int32_t c = 0; c < kNr; ++c) acc[r][c] = fma_f32(a, w[c], acc[r][c]);
      }
  }
#pragma GCC unroll 2
  for (int32_t r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (int32_t c = 0; c < kNr; ++c) sums[r][c] = acc[r][c];
}

// Rows [row, row + Rows) of one panel.
template <int32_t Rows>
void panel_rows(const GemmF32Args& args, const float* w, int32_t row, int32_t first, const float* bias) {
  float sums[Rows][kNr];
  if (!sum_in_vectors<Rows>(args, w, row, bias, sums)) {
    write_status(read_status() & ~kFlushed);
    constexpr int32_t kStep = Rows < 2 ? Rows : 2;
    for (int32_t r = 0; r < Rows; r += kStep) sum_in_scalars<kStep>(args, w, row + r, bias, sums + r);
    write_status(read_status() & ~kFlushed);
  }
  const int32_t columns = args.n - first < kNr ? args.n - first : kNr;
  for (int32_t r = 0; r < Rows; ++r) {
    const auto at = static_cast<size_t>(row + r);
    float* const y = args.output + at * args.output_stride + first;
    const float* const residual =
        args.residual != nullptr ? args.residual + at * args.residual_stride + first : nullptr;
#pragma GCC unroll 8
    for (int32_t c = 0; c < kNr; ++c) {
      if (c >= columns) break;
      float v = sums[r][c] + 0.0f;
      if (residual != nullptr) v += residual[c];
      y[c] = finish_f32(v, args.clamp);
    }
  }
  // An output that is itself subnormal must not be taken for a flushed sum of the next rows.
  if ((read_status() & kFlushed) != 0) write_status(read_status() & ~kFlushed);
}

void all_rows(const GemmF32Args& args) {
  const uint32_t before = read_status();
  write_status(before & ~kFlushed);
  const ptrdiff_t panel = static_cast<ptrdiff_t>(args.taps) * args.k * kNr;
  const float* w = args.weights;
  for (int32_t first = 0; first < args.n; first += kNr, w += panel) {
    const int32_t columns = args.n - first < kNr ? args.n - first : kNr;
    float some[kNr] = {};
    const float* bias = some;
    if (args.bias != nullptr) {
      if (columns == kNr)
        bias = args.bias + first;
      else
        memcpy(some, args.bias + first, static_cast<size_t>(columns) * sizeof(float));
    }
    int32_t row = 0;
    for (; row + 4 <= args.m; row += 4) panel_rows<4>(args, w, row, first, bias);
    for (; row + 2 <= args.m; row += 2) panel_rows<2>(args, w, row, first, bias);
    if (row < args.m) panel_rows<1>(args, w, row, first, bias);
  }
  write_status(read_status() | (before & kFlushed));
}

#endif

}  // namespace

void gemm_f32_neon(const GemmF32Args& args);

void gemm_f32_neon(const GemmF32Args& args) { all_rows(args); }

}  // namespace intaglio

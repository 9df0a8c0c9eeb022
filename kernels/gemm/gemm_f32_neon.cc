// Chains of fused multiply-adds, side by side. AArch64: eight rows times eight columns in vectors. ARMv7's
// vectors flush subnormals, so there the same panels go through VFP's scalar registers, two rows at a time.
#include "kernels/arithmetic/fma_f32.h"
#include "kernels/arithmetic/output_f32_neon.h"
#include "kernels/gemm/gemm_f32.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 8, kNr = 8;

#if defined(__aarch64__)

inline void store_four(const GemmF32Args& args, size_t row, int32_t first, float32x4_t v) {
  v = vaddq_f32(v, vdupq_n_f32(0.0f));
  if (args.residual != nullptr)
    v = vaddq_f32(v, vld1q_f32(args.residual + row * args.residual_stride + first));
  vst1q_f32(args.output + row * args.output_stride + first, FinishF32(args.clamp)(v));
}

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

// acc[r] += depth `lane` of row r times the eight columns at w.
#define ITG_DEPTH(lane)                                          \
  {                                                              \
    const float32x4_t w0 = vld1q_f32(w + kNr * (lane));          \
    const float32x4_t w1 = vld1q_f32(w + kNr * (lane) + 4);      \
    _Pragma("GCC unroll 8") for (int32_t r = 0; r < Rows; ++r) { \
      acc[r][0] = vfmaq_laneq_f32(acc[r][0], w0, a[r], lane);    \
      acc[r][1] = vfmaq_laneq_f32(acc[r][1], w1, a[r], lane);    \
    }                                                            \
  }

template <int32_t Rows>
void tile(const GemmF32Args& args) {
  const float* w = args.weights;
  for (int32_t first = 0; first < args.n; first += kNr) {
    const int32_t columns = args.n - first < kNr ? args.n - first : kNr;
    float bias[kNr] = {};
    if (args.bias != nullptr) memcpy(bias, args.bias + first, static_cast<size_t>(columns) * sizeof(float));
    float32x4_t acc[Rows][2];
#pragma GCC unroll 8
    for (int32_t r = 0; r < Rows; ++r) {
      acc[r][0] = vld1q_f32(bias);
      acc[r][1] = vld1q_f32(bias + 4);
    }
    for (int32_t t = 0; t < args.taps; ++t) {
      const float* const* const rows = args.rows + static_cast<ptrdiff_t>(t) * kMr;
      const float* x[Rows];  // rows past m are copies of the first: computed, not stored
#pragma GCC unroll 8
      for (int32_t r = 0; r < Rows; ++r) x[r] = rows[r < args.m ? r : 0];
      ptrdiff_t i = 0;
      for (; i + 4 <= args.k; i += 4, w += 4 * kNr) {
        float32x4_t a[Rows];
#pragma GCC unroll 8
        for (int32_t r = 0; r < Rows; ++r) a[r] = vld1q_f32(x[r] + i);
        ITG_DEPTH(0)
        ITG_DEPTH(1)
        ITG_DEPTH(2)
        ITG_DEPTH(3)
      }
      for (; i < args.k; ++i, w += kNr) {
        const float32x4_t w0 = vld1q_f32(w), w1 = vld1q_f32(w + 4);
#pragma GCC unroll 8
        for (int32_t r = 0; r < Rows; ++r) {
          acc[r][0] = vfmaq_n_f32(acc[r][0], w0, x[r][i]);
          acc[r][1] = vfmaq_n_f32(acc[r][1], w1, x[r][i]);
        }
      }
    }
#pragma GCC unroll 8
    for (int32_t r = 0; r < Rows; ++r) {
      if (r >= args.m) break;
      const auto row = static_cast<size_t>(r);
      if (columns == kNr) {
        store_four(args, row, first, acc[r][0]);
        store_four(args, row, first + 4, acc[r][1]);
      } else {
        float sums[kNr];
        vst1q_f32(sums, acc[r][0]);
        vst1q_f32(sums + 4, acc[r][1]);
        store_some(args, row, first, columns, sums);
      }
    }
  }
}

void all_rows(const GemmF32Args& args) {
  if (args.m == 1) return tile<1>(args);
  if (args.m <= 4) return tile<4>(args);
  tile<8>(args);
}

#else

// Rows [row, row + Rows) of one panel.
template <int32_t Rows>
void panel_rows(const GemmF32Args& args, const float* w, int32_t row, int32_t first) {
  const int32_t columns = args.n - first < kNr ? args.n - first : kNr;
  float acc[Rows][kNr];
#pragma GCC unroll 2
  for (int32_t r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (int32_t c = 0; c < kNr; ++c)
      acc[r][c] = args.bias != nullptr && c < columns ? args.bias[first + c] : 0.0f;
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
  for (int32_t r = 0; r < Rows; ++r) {
    const auto at = static_cast<size_t>(row + r);
    float* const y = args.output + at * args.output_stride + first;
    const float* const residual =
        args.residual != nullptr ? args.residual + at * args.residual_stride + first : nullptr;
#pragma GCC unroll 8
    for (int32_t c = 0; c < kNr; ++c) {
      if (c >= columns) break;
      float v = acc[r][c] + 0.0f;
      if (residual != nullptr) v += residual[c];
      y[c] = finish_f32(v, args.clamp);
    }
  }
}

void all_rows(const GemmF32Args& args) {
  const ptrdiff_t panel = static_cast<ptrdiff_t>(args.taps) * args.k * kNr;
  const float* w = args.weights;
  for (int32_t first = 0; first < args.n; first += kNr, w += panel) {
    int32_t row = 0;
    for (; row + 2 <= args.m; row += 2) panel_rows<2>(args, w, row, first);
    if (row < args.m) panel_rows<1>(args, w, row, first);
  }
}

#endif

}  // namespace

void gemm_f32_neon(const GemmF32Args& args);

void gemm_f32_neon(const GemmF32Args& args) { all_rows(args); }

}  // namespace intaglio

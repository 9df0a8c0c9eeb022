#include "kernels/gemm/gemm_s8_columns.h"

namespace intaglio {

void gemm_s8_scalar(const GemmS8Args& args);
void gemm_s8_windows_scalar(GemmS8Args& args);

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__ARM_FEATURE_DSP)

void gemm_s8_scalar(const GemmS8Args& args) { gemm_s8_by_columns(args); }
void gemm_s8_windows_scalar(GemmS8Args& args) { gemm_s8_windows_by_columns(args); }

#else

namespace {

// Unsigned: sums in between may wrap.
uint32_t dot(const int8_t* x, const int8_t* w, int32_t k, uint32_t acc) {
  for (int32_t i = 0; i < k; ++i) acc += static_cast<uint32_t>(int32_t{x[i]} * w[i]);
  return acc;
}

// The same with one code in place of all.
uint32_t dot_same(int32_t x, const int8_t* w, int32_t k, uint32_t acc) {
  for (int32_t i = 0; i < k; ++i) acc += static_cast<uint32_t>(x * w[i]);
  return acc;
}

uint32_t dot_window(const GemmS8Windows& of, const int8_t* input, const WindowAt& at, const int8_t* w,
                    int32_t k, uint32_t acc) {
  for (int32_t ky = 0; ky < of.kernel_h; ++ky)
    for (int32_t kx = 0; kx < of.kernel_w; ++kx, w += k) {
      const int32_t dy = ky * of.dilation_h, dx = kx * of.dilation_w;
      const bool inside =
          at.inside || (at.y + dy >= 0 && at.y + dy < of.h && at.x + dx >= 0 && at.x + dx < of.w);
      const ptrdiff_t from = at.from + (static_cast<ptrdiff_t>(dy) * of.w + dx) * of.channels;
      acc = inside ? dot(input + from, w, k, acc) : dot_same(of.zero_point, w, k, acc);
    }
  return acc;
}

[[gnu::noinline]] void store_code(const GemmS8Args& args, int32_t r, int32_t c, uint32_t acc) {
  const auto row = static_cast<size_t>(r), column = static_cast<size_t>(c);
  int8_t q = requantize_s8(static_cast<int32_t>(acc), args.multiplier[c], args.requant);
  if (args.residual != nullptr) q = add_s8(q, args.residual[row * args.residual_stride + column], *args.add);
  args.output[row * args.output_stride + column] = q;
}

// All columns of row r; dot_of(w, acc) adds the products of one.
template <typename Dot>
inline void columns_of_row(const GemmS8Args& args, int32_t r, Dot dot_of) {
  const ptrdiff_t depth = static_cast<ptrdiff_t>(args.taps) * args.k;
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (int32_t c = 0; c < args.n; ++c, w += depth)
    store_code(args, r, c, dot_of(w, static_cast<uint32_t>(args.folded_bias[c])));
}

}  // namespace

void gemm_s8_scalar(const GemmS8Args& args) {
  const int32_t depth = args.taps * args.k;
  const int8_t* x = args.first_row;
  for (int32_t r = 0; r < args.m; ++r, x += args.row_distance)
    columns_of_row(args, r, [&](const int8_t* w, uint32_t acc) { return dot(x, w, depth, acc); });
}

void gemm_s8_windows_scalar(GemmS8Args& args) {
  WindowWalk walk(*args.windows, args.first_window);
  for (int32_t r = 0; r < args.m; ++r) {
    const WindowAt at = walk.next();
    columns_of_row(args, r, [&](const int8_t* w, uint32_t acc) {
      return dot_window(*args.windows, args.first_row, at, w, args.k, acc);
    });
  }
}

#endif

}  // namespace intaglio

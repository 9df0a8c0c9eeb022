#include "kernels/gemm/gemm_s8.h"

#include "kernels/arithmetic/constant_checks.h"
#include "kernels/compiled_isa.h"
#include "kernels/gemm/gemm_s8_pairs.h"
#include "kernels/gemm/gemm_s8_windows.h"

namespace intaglio {

#define ITG_GEMM_S8(isa, ...) void gemm_s8_##isa(const GemmS8Args& args);
#include "kernels/gemm/gemm_s8_kernels.inc"
#undef ITG_GEMM_S8

namespace {

#define ITG_GEMM_S8(isa, ...) \
  ITG_KERNEL(GemmS8Kernel, gemm_s8, isa, ITG_COMPILED(isa, k.function = gemm_s8_##isa;) __VA_ARGS__)
constexpr GemmS8Kernel kKernels[] = {
#include "kernels/gemm/gemm_s8_kernels.inc"
};
#undef ITG_GEMM_S8

constexpr bool any_packs() {
  for (const GemmS8Kernel& kernel : kKernels)
    if (kernel.packs) return true;
  return false;
}
constexpr bool kPacks = any_packs();

constexpr bool any_widens() {
  for (const GemmS8Kernel& kernel : kKernels)
    if (kernel.lhs_bytes == 2) return true;
  return false;
}

// Whether kernels run here whose panels have pieces of 8 and 16 bytes. What is packed for another machine takes longer.
constexpr bool kLongPieces = ITG_HAVE(neon) != 0;

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

int32_t round_up(int32_t v, int32_t multiple) { return (v + multiple - 1) / multiple * multiple; }

// Whether the kernel's sums of two products fit int16 all over this column, [taps][k].
bool pairs_fit(const GemmS8Kernel& kernel, const int8_t* column, int32_t taps, int32_t k) {
  int32_t least = 0;
  for (int32_t i = 0; i < taps * k; ++i) least = column[i] < least ? column[i] : least;
  if (least > -128) return true;
  for (int32_t t = 0; t < taps; ++t, column += k)
    for (int32_t i = 0; i + kernel.pair_gap < k; ++i)
      if (i % kernel.kr < kernel.pair_gap && column[i] == -128 && column[i + kernel.pair_gap] == -128)
        return false;
  return true;
}

// Columns of the panel whose first is n - left.
int32_t panel_columns(const GemmS8Kernel& kernel, int32_t left) {
  const int32_t quarter = kernel.nr / 4;
  if (!kernel.narrow_panels || left > 3 * quarter) return kernel.nr;
  return left > quarter ? 2 * quarter : quarter;
}

// As many pieces of kBytes as `k` holds, `step` apart. Returns how many bytes those are.
template <int32_t kBytes>
int32_t copy_pieces(const int8_t* from, int32_t k, int8_t* to, ptrdiff_t step) {
  int32_t i = 0;
  for (; i + kBytes <= k; i += kBytes, to += step) memcpy(to, from + i, kBytes);
  return i;
}

// One column's depths of one tap, kr at a time, `step` apart. nullptr: zeros.
void pack_column(const int8_t* from, int32_t k, int32_t kr, int8_t* to, ptrdiff_t step) {
  int32_t i = 0;
  if (from != nullptr)
    i = kr == 4                   ? copy_pieces<4>(from, k, to, step)
        : kLongPieces && kr == 8  ? copy_pieces<8>(from, k, to, step)
        : kLongPieces && kr == 16 ? copy_pieces<16>(from, k, to, step)
                                  : 0;
  for (to += i / kr * step; i < k; i += kr, to += step)
    for (int32_t j = 0; j < kr; ++j) to[j] = from != nullptr && i + j < k ? from[i + j] : int8_t{0};
}

}  // namespace

ITG_KERNEL_LIST(GemmS8Kernel, gemm_s8, kKernels)

int32_t gemm_s8_select(IsaMask isa, int32_t rows) {
  int32_t i = first_allowed(kKernels, isa);
  if (kPacks)
    while (i < kCount - 1 && ((kKernels[i].isa & ~isa) != 0 || rows < kKernels[i].min_rows)) ++i;
  return i;
}

int32_t gemm_s8_panel_column(const GemmS8Kernel& kernel, int32_t width, int32_t p) {
  if (kernel.lanes == 0 || width < kernel.nr) return p;
  const int32_t vector = p / kernel.lanes, lane = p % kernel.lanes;
  return lane / 4 * 4 * (width / kernel.lanes) + 4 * vector + lane % 4;
}

int64_t gemm_s8_scratch_bytes(const GemmS8Kernel& kernel, int32_t rows, int32_t taps, int32_t k,
                              bool padded) {
  // Kernels that pack complete a tile's rows.
  if (rows > kernel.mr || kernel.packs) rows = kernel.mr;
  int64_t bytes = int64_t{rows} * taps * round_up(k, kernel.kr) * kernel.lhs_bytes;
  if (kPacks && kernel.lhs_rows != 0)
    bytes = int64_t{kernel.lhs_rows} * taps * round_up(k, 16) * kernel.lhs_bytes;
  if (any_widens() && kernel.lhs_bytes == 2) {
    // gemm_s8_dsp.cc: windows whose words cross taps are copied before they are widened, others may meet padding. Many are taken
    // together.
    const int32_t row = (taps * k + 3) & ~3;
    if (k % 4 != 0) {
      bytes = int64_t{rows < kernel.mr ? 3 * rows : 4 + kGemmS8DspRows} * row;
    } else {
      if (rows == kernel.mr && taps == 9 && bytes < gemm_s8_dsp_lines_bytes(row))
        bytes = gemm_s8_dsp_lines_bytes(row);
      if (padded) bytes += k;
    }
  }
  if (kPacks && kernel.pair_safe_panels) {
    const PairsLayout layout = pairs_layout(taps, k);
    bytes = (pairs_group(layout, kernel.mr) + (pairs_in_place(k) ? 0 : kernel.mr)) * layout.row;
  }
  return (bytes + 63) & ~int64_t{63};
}

int64_t gemm_s8_packed_bytes(const GemmS8Kernel& kernel, int32_t n, int32_t taps, int32_t k) {
  if (!kPacks || !kernel.packs) return 0;
  if (kernel.pair_safe_panels) return (int64_t{n} + kernel.nr - 1) / kernel.nr * pairs_layout(taps, k).bytes;
  int64_t columns = n / kernel.nr * kernel.nr;
  for (int32_t left = n % kernel.nr; left > 0; left -= panel_columns(kernel, left))
    columns += panel_columns(kernel, left);
  const int32_t head = (kernel.lhs_offset != 0 ? 8 : 0) + (kernel.pair_gap != 0 ? 4 : 0);
  return columns * (head + int64_t{taps} * round_up(k, kernel.kr));
}

void gemm_s8_pack(const GemmS8Kernel& kernel, const GemmS8Weights& plain, void* packed) {
  if (!kPacks || !kernel.packs) return;
  const auto [weights, folded_bias, multiplier, n, taps, k, used_once] = plain;
  static_cast<void>(used_once);
  constexpr int32_t kDepths = 64;  // a multiple of any kr
  const int32_t kr = kernel.kr;
  auto* out = static_cast<int8_t*>(packed);
  const ptrdiff_t column_stride = static_cast<ptrdiff_t>(taps) * k;
  for (int32_t first = 0, width; first < n; first += width) {
    width = panel_columns(kernel, n - first);
    const int32_t end = first + width;
    if (kernel.lhs_offset != 0) {
      for (int32_t p = 0; p < width; ++p) {
        const int32_t c = first + gemm_s8_panel_column(kernel, width, p);
        const int64_t sum = c < n ? sum_weights(weights + c * column_stride, column_stride).sum : 0;
        const uint32_t bias = (c < n ? static_cast<uint32_t>(folded_bias[c]) : 0u) -
                              static_cast<uint32_t>(kernel.lhs_offset) * static_cast<uint32_t>(sum);
        memcpy(out, &bias, sizeof bias);
        out += sizeof bias;
      }
      for (int32_t p = 0; p < width; ++p) {
        const int32_t c = first + gemm_s8_panel_column(kernel, width, p);
        const float factor = c < n ? multiplier[c] : 0.0f;
        memcpy(out, &factor, sizeof factor);
        out += sizeof factor;
      }
    }
    if (kernel.pair_gap != 0) {
      for (int32_t c = first; c < end; ++c) {
        const int32_t fits = c >= n || pairs_fit(kernel, weights + c * column_stride, taps, k) ? 1 : 0;
        memcpy(out, &fits, sizeof fits);
        out += sizeof fits;
      }
    }
    if (kernel.pair_safe_panels) {
      auto* const panel = static_cast<uint8_t*>(packed) + first / kernel.nr * pairs_layout(taps, k).bytes;
      pack_pairs(kernel, plain, first, panel);
      out = reinterpret_cast<int8_t*>(panel + pairs_layout(taps, k).bytes);
      continue;
    }
    for (int32_t t = 0; t < taps; ++t) {
      const int8_t* const tap = weights + first * column_stride + static_cast<ptrdiff_t>(t) * k;
      for (int32_t i = 0; i < k; i += kDepths) {  // so few that what is written stays in the cache
        const int32_t depths = k - i < kDepths ? k - i : kDepths;
        for (int32_t p = 0; p < width; ++p) {
          const int32_t c = gemm_s8_panel_column(kernel, width, p);
          pack_column(first + c < n ? tap + c * column_stride + i : nullptr, depths, kr,
                      out + static_cast<ptrdiff_t>(i) * width + static_cast<ptrdiff_t>(p) * kr,
                      static_cast<ptrdiff_t>(width) * kr);
        }
      }
      out += static_cast<ptrdiff_t>(width) * round_up(k, kr);
    }
  }
}

#define ITG_GEMM_S8_WINDOWS(isa) void gemm_s8_windows_##isa(GemmS8Args& args);
#include "kernels/gemm/gemm_s8_windows_kernels.inc"
#undef ITG_GEMM_S8_WINDOWS

GemmS8WindowsFunction* gemm_s8_windows(IsaMask isa) {
#define ITG_GEMM_S8_WINDOWS(name) \
  ITG_COMPILED(name, if (isa == isa_by_name::name) return gemm_s8_windows_##name;)
#include "kernels/gemm/gemm_s8_windows_kernels.inc"
#undef ITG_GEMM_S8_WINDOWS
  return nullptr;
}

}  // namespace intaglio

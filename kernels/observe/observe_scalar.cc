// The lists of what the calibrator observes with, and the scalar kernels.
#include "kernels/compiled_isa.h"
#include "kernels/observe/observe_f32.h"
#include "kernels/observe/observe_loops.h"
#include "kernels/observe/patch_sums.h"

namespace intaglio {

#define ITG_OBSERVE_F32(isa)                                            \
  void extremes_f32_##isa(const float* x, size_t n, ExtremesF32* seen); \
  void count_f32_##isa(const float* x, size_t n, size_t stride, const BinsF32& bins);
#include "kernels/observe/observe_f32_kernels.inc"
#undef ITG_OBSERVE_F32

namespace {

#define ITG_OBSERVE_F32(isa)                     \
  ITG_KERNEL(ObserveF32Kernel, observe_f32, isa, \
             ITG_COMPILED(isa, k.extremes = extremes_f32_##isa; k.count = count_f32_##isa;))
constexpr ObserveF32Kernel kObserveF32Kernels[] = {
#include "kernels/observe/observe_f32_kernels.inc"
};
#undef ITG_OBSERVE_F32

}  // namespace

ITG_KERNEL_LIST(ObserveF32Kernel, observe_f32, kObserveF32Kernels)

const ObserveF32Kernel& observe_f32_best(IsaMask isa) {
  return kObserveF32Kernels[first_allowed(kObserveF32Kernels, isa & kCompiledIsa)];
}

void extremes_f32_scalar(const float* x, size_t n, ExtremesF32* seen);
void count_f32_scalar(const float* x, size_t n, size_t stride, const BinsF32& bins);

void extremes_f32_scalar(const float* x, size_t n, ExtremesF32* seen) {
  constexpr size_t kLanes = 32;  // enough that compilers make vectors of them
  float min[kLanes] = {}, max[kLanes] = {}, zero[kLanes] = {};
  const auto look = [&](const float* at, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      min[i] = at[i] < min[i] ? at[i] : min[i];
      max[i] = at[i] > max[i] ? at[i] : max[i];
      zero[i] += at[i] * 0.0f;  // NaN for NaN and infinities, and from then on
    }
  };
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) look(x + i, kLanes);
  look(x + i, n - i);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    seen->min = min[lane] < seen->min ? min[lane] : seen->min;
    seen->max = max[lane] > seen->max ? max[lane] : seen->max;
    seen->finite = seen->finite && zero[lane] == 0.0f;
  }
}

void count_f32_scalar(const float* x, size_t n, size_t stride, const BinsF32& bins) {
  count_one_by_one(x, n, stride, bins);
}

#define ITG_PATCH_SUMS(isa)                             \
  void patch_row_s8_##isa(const PatchRow<int8_t>& row); \
  void patch_row_f32_##isa(const PatchRow<float>& row);
#include "kernels/observe/patch_sums_kernels.inc"
#undef ITG_PATCH_SUMS

namespace {

#define ITG_PATCH_SUMS(isa)                    \
  ITG_KERNEL(PatchSumsKernel, patch_sums, isa, \
             ITG_COMPILED(isa, k.row_s8 = patch_row_s8_##isa; k.row_f32 = patch_row_f32_##isa;))
constexpr PatchSumsKernel kPatchSumsKernels[] = {
#include "kernels/observe/patch_sums_kernels.inc"
};
#undef ITG_PATCH_SUMS

}  // namespace

ITG_KERNEL_LIST(PatchSumsKernel, patch_sums, kPatchSumsKernels)

const PatchSumsKernel& patch_sums_best(IsaMask isa) {
  return kPatchSumsKernels[first_allowed(kPatchSumsKernels, isa & kCompiledIsa)];
}

namespace {

// Up to kMost channels one by one.
template <typename T, typename Sum>
class PatchLanes {
 public:
  using Element = T;
  static constexpr int32_t kMost = 32;

  explicit PatchLanes(int32_t lanes) : lanes_(lanes) {}
  void add(const T* x) {
    for (int32_t l = 0; l < lanes_; ++l) sums_[l] += static_cast<Sum>(x[l]);
  }
  void subtract(const T* x) {
    for (int32_t l = 0; l < lanes_; ++l) sums_[l] -= static_cast<Sum>(x[l]);
  }
  void add_to(double* to, double zeros) const {
    for (int32_t l = 0; l < lanes_; ++l) to[l] += static_cast<double>(sums_[l]) - zeros;
  }

 private:
  int32_t lanes_;
  Sum sums_[kMost] = {};
};

template <typename T, typename Sum>
void patch_row_rest(const PatchRow<T>& row, int32_t c) {
  using Block = PatchLanes<T, Sum>;
  c = patch_row_blocks<Block>(row, c, Block::kMost);
  if (c < row.channels) patch_row_block<Block>(row, c, row.channels - c);
}

}  // namespace

void patch_row_s8_scalar(const PatchRow<int8_t>& row);
void patch_row_f32_scalar(const PatchRow<float>& row);

void patch_rest_s8_scalar(const PatchRow<int8_t>& row, int32_t c) { patch_row_rest<int8_t, int32_t>(row, c); }
void patch_rest_f32_scalar(const PatchRow<float>& row, int32_t c) { patch_row_rest<float, double>(row, c); }

void patch_row_s8_scalar(const PatchRow<int8_t>& row) { patch_rest_s8_scalar(row, 0); }
void patch_row_f32_scalar(const PatchRow<float>& row) { patch_rest_f32_scalar(row, 0); }

}  // namespace intaglio

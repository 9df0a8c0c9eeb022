#include "kernels/arithmetic/output_f32_neon.h"
#include "kernels/dwconv/dwconv_s8_blocks_neon.h"
#include "kernels/dwconv/dwconv_s8_f32.h"

namespace intaglio {
namespace {

class Reals {
 public:
  explicit Reals(const DwconvS8F32Args& args)
      : finish_(args.clamp), y_(args.y), y_stride_(args.y_stride), channels_(args.channels) {}

  void store(int32_t p, int32_t first, const Sums& sums, const float* m) const {
    store_at(at(p) + first, sums, m);
  }

  void store_few(int32_t p, const Sums& sums, const float* m) const {
    float some[kBlock];
    store_at(some, sums, m);
    const int32_t eights = channels_ >= 8 ? 8 : channels_;
    memcpy(at(p), some, static_cast<size_t>(eights) * sizeof *some);
    if (channels_ >= 8) memcpy(at(p) + channels_ - 8, some + 8, 8 * sizeof *some);
  }

 private:
  float* at(int32_t p) const { return y_ + static_cast<size_t>(p) * y_stride_; }
  void store_at(float* to, const Sums& sums, const float* m) const {
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; ++i) vst1q_f32(to + 4 * i, finish_(sums.v[i], vld1q_f32(m + 4 * i)));
  }

  const FinishSums finish_;
  float* const y_;
  const size_t y_stride_;
  const int32_t channels_;
};

}  // namespace

void dwconv_s8_f32_neon(const DwconvS8F32Args& args);

void dwconv_s8_f32_neon(const DwconvS8F32Args& args) { for_blocks(args, Reals(args)); }

}  // namespace intaglio

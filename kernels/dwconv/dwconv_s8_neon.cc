#include "kernels/dwconv/dwconv_s8_blocks_neon.h"

namespace intaglio {
namespace {

class Codes {
 public:
  explicit Codes(const DwconvS8Args& args)
      : output_(make_output_neon(args.requant)),
        y_(args.output),
        y_stride_(args.output_stride),
        channels_(args.channels) {}

  void store(int32_t p, int32_t first, const Sums& sums, const float* m) const {
    vst1q_s8(at(p) + first, codes(sums, m));
  }

  void store_few(int32_t p, const Sums& sums, const float* m) const {
    const int8x16_t q = codes(sums, m);
    int8_t* const to = at(p);
    if (channels_ >= 8) {
      vst1_s8(to, vget_low_s8(q));
      vst1_s8(to + channels_ - 8, vget_high_s8(q));
      return;
    }
    int8_t some[kBlock];
    vst1q_s8(some, q);
    memcpy(to, some, static_cast<size_t>(channels_));
  }

 private:
  int8_t* at(int32_t p) const { return y_ + static_cast<size_t>(p) * y_stride_; }
  int8x16_t codes(const Sums& sums, const float* m) const {
    return requantize_neon(sums.v[0], sums.v[1], sums.v[2], sums.v[3], vld1q_f32(m), vld1q_f32(m + 4),
                           vld1q_f32(m + 8), vld1q_f32(m + 12), output_);
  }

  const OutputNeon output_;
  int8_t* const y_;
  const size_t y_stride_;
  const int32_t channels_;
};

}  // namespace

void dwconv_s8_neon(const DwconvS8Args& args);

void dwconv_s8_neon(const DwconvS8Args& args) { for_blocks(args, Codes(args)); }

}  // namespace intaglio

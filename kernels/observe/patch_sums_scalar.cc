#include "kernels/observe/patch_sums_rows.h"

namespace intaglio {
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

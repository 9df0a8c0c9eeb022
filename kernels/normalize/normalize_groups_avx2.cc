#include "kernels/normalize/normalize_groups_s16_loops.h"

namespace intaglio {

void normalize_groups_s8_avx2(const NormalizeArgs& args);
void normalize_groups_s16_avx2(const NormalizeArgs& args);
void normalize_groups_s16_scalar(const NormalizeArgs& args);
void normalize_groups_f32_avx2(const NormalizeArgs& args);

void normalize_groups_s8_avx2(const NormalizeArgs& args) { normalize_all_s8(args); }
// Rows whose differences fit 32 bits. Others are rare.
void normalize_groups_s16_avx2(const NormalizeArgs& args) {
  if (args.groups.places != 1 || args.groups.depth > kSmallGroup) return normalize_groups_s16_scalar(args);
  for_normalized_rows<int16_t>(args, normalize_row_s16<true>);
}
void normalize_groups_f32_avx2(const NormalizeArgs& args) { normalize_all_f32(args); }

}  // namespace intaglio

#include "kernels/normalize/normalize_groups_loops.h"

namespace intaglio {

void normalize_groups_s8_avx2(const NormalizeArgs& args);
void normalize_groups_s16_avx2(const NormalizeArgs& args);
void normalize_groups_f32_avx2(const NormalizeArgs& args);

void normalize_groups_s8_avx2(const NormalizeArgs& args) { normalize_all_s8(args); }
void normalize_groups_s16_avx2(const NormalizeArgs& args) {
  normalize_small_rows_s16(args, normalize_row_s16<true>);
}
void normalize_groups_f32_avx2(const NormalizeArgs& args) { normalize_all_f32(args); }

}  // namespace intaglio

#include "kernels/normalize/normalize_groups_loops.h"

namespace intaglio {

void normalize_groups_s8_avx2(const NormalizeS8Args& args);
void normalize_groups_f32_avx2(const NormalizeF32Args& args);

void normalize_groups_s8_avx2(const NormalizeS8Args& args) { normalize_all_s8(args); }
void normalize_groups_f32_avx2(const NormalizeF32Args& args) { normalize_all_f32(args); }

}  // namespace intaglio

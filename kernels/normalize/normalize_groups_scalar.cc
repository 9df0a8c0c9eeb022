#include "kernels/normalize/normalize_groups_s16_loops.h"

namespace intaglio {

void normalize_groups_s8_scalar(const NormalizeArgs& args);
void normalize_groups_f32_scalar(const NormalizeArgs& args);

void normalize_groups_s8_scalar(const NormalizeArgs& args) { normalize_all_s8(args); }
void normalize_groups_s16_scalar(const NormalizeArgs& args) {
  if (args.groups.places != 1) return normalize_places_s16(args);
  for_normalized_rows<int16_t>(args, normalize_row_s16<false>);
}
void normalize_groups_f32_scalar(const NormalizeArgs& args) { normalize_all_f32(args); }

}  // namespace intaglio

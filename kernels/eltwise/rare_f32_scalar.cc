#include "kernels/eltwise/rare_f32_rows.h"

namespace intaglio {

void rare_f32_scalar(const RareF32Args& args);

void rare_f32_scalar(const RareF32Args& args) { rare_rows_f32(args); }

}  // namespace intaglio

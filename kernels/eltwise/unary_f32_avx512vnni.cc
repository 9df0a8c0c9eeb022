#include "kernels/eltwise/unary_f32_rows.h"

namespace intaglio {

void unary_f32_avx512vnni(const UnaryF32Args& args);

void unary_f32_avx512vnni(const UnaryF32Args& args) { unary_rows_f32(args); }

}  // namespace intaglio

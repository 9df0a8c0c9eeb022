#include "kernels/eltwise/codes_s16_functions.h"
#include "kernels/eltwise/codes_s16_loops.h"

namespace intaglio {

ITG_CODES_S16_FUNCTIONS(neon, lookup_codes_s16)

}  // namespace intaglio

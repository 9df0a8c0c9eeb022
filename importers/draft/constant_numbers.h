// Arithmetic on single constants, for constant_values.h. What a type or a size does not allow is thrown.
#pragma once

#include "importers/draft/constant_values.h"

namespace intaglio::importers {

// Comparisons, And and Or: 0 or 1.
int64_t compared(Arithmetic operation, int64_t a, int64_t b);
int64_t compared(Arithmetic operation, float a, float b);
int64_t of_integers(Arithmetic operation, int64_t a, int64_t b);
float of_reals(Arithmetic operation, float a, float b);  // no comparison
int64_t mapped_integer(Mapping mapping, int64_t v);
float mapped_real(Mapping mapping, float v);

}  // namespace intaglio::importers

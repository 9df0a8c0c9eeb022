// Whether no value is infinite or NaN: of a model's weights, each time that it is opened.
#pragma once

#include <cstdint>

namespace intaglio {

bool all_finite(const float* x, int64_t n);

}  // namespace intaglio

// Codes less their zero point as weights: of up to nine bits, while a kernel takes eight (batch_mat_mul.cc).
#pragma once

#include <cstddef>
#include <cstdint>

namespace intaglio {

struct CodeRange {
  int8_t least, most;
};

// Centres `lines` runs of `length` codes, `step` apart; at least one code.
CodeRange range_of_codes(const int8_t* codes, int32_t lines, int32_t length, ptrdiff_t step);

// codes[i] - zero_point as a sum of weights, one in each of `taps` runs of k: [taps][k]. As many taps as the numbers need:
// [-128 * taps, 127 * taps] holds them. The codes may be the last run.
void take_codes_apart(const int8_t* codes, int32_t k, int32_t zero_point, int32_t taps, int8_t* weights);

}  // namespace intaglio

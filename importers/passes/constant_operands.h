// Constant operands of an int8 Add, Sub, Mul or Div, without a rounding that the file does not have.
#pragma once

#include <optional>

#include "importers/draft/draft.h"

namespace intaglio::importers {

// The FP32 constant as codes of its own grid, with a zero point where they need one; none where a value is no
// multiple of its one scale, or where they span more than 8 bits.
std::optional<DraftTensor> exact_codes(const DraftTensor& constant);
// Likewise of 16 bits, with the zero point 0. One number is a code of a scale that is made for it.
std::optional<DraftTensor> exact_codes_s16(const DraftTensor& constant);

// What `node` makes of each code of its other operand, [256] or [channels, 256], where the constant is one number
// or has one for each index of the last axis, of few. `constant` is its input's place, `in` and `out` the codes'
// tensors. Empty: not so.
std::vector<int8_t> operand_tables(const Draft& draft, const DraftNode& node, size_t constant,
                                   const DraftTensor& in, const DraftTensor& out);

}  // namespace intaglio::importers

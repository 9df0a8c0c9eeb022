// The function that a table of codes was made of: a model keeps the table alone.
#pragma once

#include "intaglio/model.h"

namespace intaglio::exporters {

// An operator of one value, in FP32. Quantize: the value itself, in another scale; Clamp: bounds that `options` have.
struct TableFunction {
  Op op = Op::kNone;  // kNone: none of those that are tried makes this table
  NodeOptions options;
};

// Of a Lookup with one table from `in` to `out`, which hold codes of 8 or 16 bits. The function makes each of its codes.
TableFunction function_of_table(Span<const uint8_t> table, const TensorInfo& in, const TensorInfo& out);

}  // namespace intaglio::exporters

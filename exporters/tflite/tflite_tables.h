// A model's tables of 256 codes in a TFLite file, which has none.
#pragma once

#include "exporters/tflite/tflite_operands.h"

namespace intaglio::exporters {

// `node` is a Lookup. A table that another scale, a bound of zero and six, or a function known to TFLite makes becomes that
// operator. Another one is a Gather: exact, and slower than the function.
void write_lookup(const Model& model, TfliteFile& file, TfliteOperands& operands, const NodeInfo& node);

}  // namespace intaglio::exporters

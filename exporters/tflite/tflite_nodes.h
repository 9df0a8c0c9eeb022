// A model's nodes as operators of a TFLite file.
#pragma once

#include "exporters/tflite/tflite_operands.h"

namespace intaglio::exporters {

// Adds all nodes of the model, in order. `result` gets counts and notes. Throws ImportError, which names the node that TFLite
// has no form for.
void write_nodes(const Model& model, TfliteFile& file, TfliteOperands& operands, TfliteExport& result);

}  // namespace intaglio::exporters

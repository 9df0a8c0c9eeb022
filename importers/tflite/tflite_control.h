// Operators that call other graphs of the file: CALL, IF, WHILE and STABLEHLO_COMPOSITE. The graph's operators stand in their
// place.
#pragma once

#include <functional>
#include <vector>

#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {

// Reads the operators of the file's current graph on which these of its tensors depend.
using ReadTfliteGraph = std::function<void(const std::vector<int32_t>& outputs)>;

// A graph of the file that is not the first one and is complete; throws where it is another.
const tflite::SubGraph& tflite_graph_at(const TfliteFile& file, int32_t index);

// Reads the operator, if it is one of these, and what it calls; a WHILE as often as the file decides. False: it is another.
bool read_tflite_control(TfliteOp& op, Builtin builtin, const ReadTfliteGraph& read);

}  // namespace intaglio::importers

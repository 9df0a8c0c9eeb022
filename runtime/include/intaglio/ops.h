// Lists of operators. A session is given one, so that a program links only the operators it names.
#pragma once

#include "intaglio/span.h"

namespace intaglio {

struct OpDef;  // runtime/op.h

using OpList = Span<const OpDef* const>;

OpList int8_ops();   // int8 models, whose borders and last layers may be in FP32
OpList float_ops();  // FP32 models
OpList all_ops();    // both: mixed models too

}  // namespace intaglio

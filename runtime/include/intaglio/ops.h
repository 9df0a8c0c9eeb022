// Lists of operators. A session is given one: a program links only the operators of the lists that it names.
// `intaglio export-c` writes a list for one model.
#pragma once

#include "intaglio/span.h"

namespace intaglio {

struct OpDef;  // runtime/op.h

// Operators that a session may use. The lists below are constants of the program.
using OpList = Span<const OpDef* const>;

// For int8 models. Their borders and last layers may be in FP32.
OpList int8_ops();
// For FP32 models.
OpList float_ops();
// For every model, also one of both int8 and FP32 layers.
OpList all_ops();
// As all_ops(), without kernels whose packed weights take several times the bytes of the model's (Winograd's of AVX2 and of
// NEON without dot products: eight times). Such layers take less memory and more time, and give the same bytes.
OpList compact_ops();

}  // namespace intaglio

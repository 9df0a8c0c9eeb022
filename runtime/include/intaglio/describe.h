// Words for errors and enumerators. A program that never calls these functions does not link the texts.
//
// The names are constants that live as long as the program. A number that is not known gives "unknown"; a status
// gives "".
#pragma once

#include "intaglio/model.h"
#include "intaglio/status.h"

namespace intaglio {

// "kBadScale" and so on.
const char* status_name(Status status);
// "Conv2D" and so on.
const char* op_name(Op op);
// "s8" and so on.
const char* dtype_name(DType dtype);

// Names of the calibrator's enumerators in intaglio/quant_config.h, by their numbers: "activated", "half-even".
const char* quant_state_name(int64_t state);
const char* rounding_name(int64_t rounding);

// Writes one line about an error: what is wrong, the node and the tensor, the value and the limit. With a `model`,
// which may be nullptr, nodes and tensors also have their names.
//
// The line goes to text[0] to text[size - 1] and always ends in NUL. If it is longer, its end is cut off. Returns the
// length of the whole line without NUL, as snprintf does.
size_t describe(const Error& error, const Model* model, char* text, size_t size);

}  // namespace intaglio

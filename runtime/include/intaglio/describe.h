// Words for errors and enumerators. A program that never calls these does not link their texts.
#pragma once

#include "intaglio/model.h"
#include "intaglio/status.h"

namespace intaglio {

const char* status_name(Status status);  // "kBadScale"
const char* op_name(Op op);              // "Conv2D"
const char* dtype_name(DType dtype);

// Of the calibrator's enumerators in intaglio/quant_config.h, by their numbers.
const char* quant_state_name(int64_t state);
const char* rounding_name(int64_t rounding);  // "s8"

// Writes one line about `error` into text[0 .. size), always ending in NUL: what is wrong, the node and
// tensor by index and, where `model` is given, by name, and the values. Returns the number of characters
// of the whole line, as snprintf does.
size_t describe(const Error& error, const Model* model, char* text, size_t size);

}  // namespace intaglio

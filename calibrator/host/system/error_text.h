// Errors of the runtime and the calibrator as text.
#pragma once

#include <string>

#include "intaglio/model.h"

namespace intaglio {

// One line: what is wrong, where, the value and the limit. With `model`, nodes and tensors have their names.
std::string error_text(const Error& error, const Model* model = nullptr);

}  // namespace intaglio

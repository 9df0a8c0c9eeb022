// Errors of the runtime and the calibrator as text.
#pragma once

#include <string>

#include "calibrator/host/system/outcome.h"
#include "intaglio/model.h"

namespace intaglio {

// One line: what is wrong, where, the value and the limit. With `model`, nodes and tensors have their names.
std::string error_text(const Error& error, const Model* model = nullptr);

// The same behind the name of the file that it is about, with its numbers.
Failure failure_in(const std::string& file, const Error& error, const Model* model = nullptr);

}  // namespace intaglio

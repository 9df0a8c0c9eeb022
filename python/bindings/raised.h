// The library's failures as exceptions of Python.
#pragma once

#include <pybind11/pybind11.h>

#include "calibrator/host/system/outcome.h"

namespace intaglio::python {

// Raises intaglio.Error with the message, and with status, node, tensor, value and limit where the library said them.
[[noreturn]] void raise(const Failure& failure);

// Raises intaglio.errors.WrongUse: the words of a command were not understood.
[[noreturn]] void raise_wrong_use(const std::string& message);

template <typename T>
T value_or_raise(Outcome<T> outcome) {
  if (!outcome) raise(outcome.failure());
  return std::move(*outcome);
}

}  // namespace intaglio::python

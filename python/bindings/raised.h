// The library's failures as exceptions of Python.
#pragma once

#include <pybind11/pybind11.h>

#include "calibrator/host/system/outcome.h"

namespace intaglio::python {

// Text for Python as messages show it: bytes that are no UTF-8, and characters that a terminal would obey, as \\x1b and the like.
pybind11::str shown(const std::string& text);

// Any bytes as a str; `errors` says what becomes of those that are no UTF-8, as in bytes.decode().
pybind11::str decoded(const std::string& bytes, const char* errors);

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

// Learning a last layer for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace intaglio::python {

void add_learning(pybind11::module_& module);

}  // namespace intaglio::python

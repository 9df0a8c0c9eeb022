// Import, calibration, comparison and evaluation for Python: the tools, with its values in and out.
#pragma once

#include <pybind11/pybind11.h>

namespace intaglio::python {

// Each gives a dict or a tuple of what Python shows; `told` is (progress, line): functions or None.
void add_making(pybind11::module_& module);

}  // namespace intaglio::python

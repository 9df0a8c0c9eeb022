// The library's version. CMake, the C interface and every writer of models read it here.
#pragma once

// Major, minor and patch number. Before 1.0 a minor version may change the interface.
#define ITG_VERSION "0.1.0"

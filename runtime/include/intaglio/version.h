// The library's version. CMake and every writer of models read it here; C takes it too.
#pragma once

#define ITG_VERSION "0.1.0"

// The library's version. CMake, the C interface and every writer of models read it here.
#pragma once

// Major, minor and patch number. COMPATIBILITY.md says what each of them promises.
#define ITG_VERSION "1.0.0"

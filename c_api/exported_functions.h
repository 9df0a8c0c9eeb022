// Included before each source of the shared library: what the C headers declare is seen by programs, and nothing else.
#pragma once

#pragma GCC visibility push(default)
#include "intaglio/c_api.h"
#pragma GCC visibility pop

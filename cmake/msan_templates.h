// Included first in builds with the memory sanitizer: std::string and its like are compiled with the program, not taken
// from libstdc++, whose writes this sanitizer does not see.
#pragma once

#include <cstddef>

#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE 0

#include <ostream>  // doctest declares it alone

// A function of its own for each group of columns.
//
//   y[r, i] = tables[groups[i], x[r, i] + 128]
//
// x and y [rows, n]; tables [count, 256]; groups [n], each in [0, count). y may be x itself; no other overlap is allowed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "intaglio/isa.h"

namespace intaglio {

inline constexpr int32_t kMostGroupsS8 = 16;

struct GroupedLookupS8 {
  const int8_t* x;
  const int8_t* tables;
  const int8_t* groups;
  int8_t* y;
  int32_t rows, n, count;
};

// A function is nullptr where this build has not compiled it.
struct GroupedLookupS8Kernel {
  const char* name;
  IsaMask isa;
  void (*lookup)(const GroupedLookupS8& work);
};

// Best first. The scalar kernel is the last one.
int32_t grouped_lookup_s8_count();
const GroupedLookupS8Kernel& grouped_lookup_s8_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t grouped_lookup_s8_select(IsaMask isa);

}  // namespace intaglio

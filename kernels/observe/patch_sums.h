// Sums of what each tap of a window reads of one row of an NHWC picture, for the mean inputs of layers with
// weights:
//
//   sums[tap + kx * channels + c] += sum over x of columns[kx] of row[x, c]  -  n * zero_point
//
// for every tap of `taps`, n the number of columns. Codes are summed exactly (a row's sum fits 32 bits);
// reals in double, in one order everywhere: x ascending; with a stride up to kPatchPhases, columns x, x +
// stride, ... over the whole width first, then less those before columns[kx] and those behind it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "intaglio/isa.h"

namespace intaglio {

// Strides whose columns are summed once for all taps.
inline constexpr int32_t kPatchPhases = 4;

// x = first, first + stride, ... up to `last`; none where last < first.
struct PatchColumns {
  int32_t first, last;
};

template <typename T>
struct PatchRow {
  const T* x;  // [width, channels]
  int32_t width, channels, stride;
  const PatchColumns* columns;  // of each kx
  int32_t column_count;
  const ptrdiff_t* taps;  // of each row of the window that reads this row: where its sums start
  int32_t tap_count;
  double zero_point;
  double* sums;  // no part of x
};

// A function is nullptr where this build has not compiled it.
struct PatchSumsKernel {
  const char* name;
  IsaMask isa;
  void (*row_s8)(const PatchRow<int8_t>& row);
  void (*row_f32)(const PatchRow<float>& row);
};

// Best first. The scalar kernel is the last one.
int32_t patch_sums_count();
const PatchSumsKernel& patch_sums_kernel(int32_t index);
// The best one that `isa` allows and this build has compiled: pass cpu_isa(). No plan for another machine
// names one.
const PatchSumsKernel& patch_sums_best(IsaMask isa);

}  // namespace intaglio

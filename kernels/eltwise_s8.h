// Element by element, int8.
//
//   add     y[r, i] = add_s8(a[r, i], b[i])    in integers, see requant.h
//   lookup  y[i] = table[x[i] + 128]         every unary function
//
// y may stand exactly where a (lookup: x) stands; no other overlap is allowed.
#pragma once

#include "kernels/requant.h"

namespace intaglio {

// a and y are [rows, n]; one row of b serves every row.
void add_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, const AddS8& params);
// The same code b for every element.
void add_code_s8(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params);

void lookup_s8(const int8_t* x, const int8_t* table, int8_t* y, int32_t n);

}  // namespace intaglio

// Rows that tuples of indices name, in a list of all rows: what GatherND and ScatterND take and replace.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

// A tensor as a list of rows of its last axes; each row has a number, by the axes in front.
struct IndexRows {
  int32_t count = 1;  // of the list
  Shape of_indices;   // without the tuples
  Shape rest;         // of a row

  int32_t width() const;
  Shape list(int32_t length) const { return {length, width()}; }
  Shape whole() const;  // what stands for all indices
};

// Tuples lie along the last axis of the indices. Throws where they do not fit a tensor of the shape `from`.
IndexRows index_rows(const Shape& indices, const Shape& from);
// The numbers of constant tuples. An index below 0 counts from the end.
std::vector<int32_t> row_numbers(const IndexRows& rows, const std::vector<int64_t>& indices,
                                 const Shape& from);
int32_t normal_index(int64_t index, size_t axis, const Shape& from);
// The same of tuples that a run computes, FP32 numbers that are not below 0: FP32 numbers [count of tuples].
int32_t add_row_numbers(const Origin& at, int32_t indices, const IndexRows& rows, const Shape& from);

// Rows of x that others replace, or are joined with. Both are FP32, or codes of one scale.
struct ReplacedRows {
  int32_t x, updates;
  std::vector<int32_t> numbers;  // of the rows, one an update
  int32_t count, width;          // of x as a list of rows
};
// x with the last update that names each row in its place.
int32_t add_replaced_rows(const Origin& at, const ReplacedRows& r);
// The neutral element of kAdd, kMul, kMaximum or kMinimum: 0, 1, or an infinity.
float neutral_of(Op join);
// x, FP32, joined so with each update that names a row; at most 64 name one row.
int32_t add_joined_rows(const Origin& at, const ReplacedRows& r, Op join);

}  // namespace intaglio::importers

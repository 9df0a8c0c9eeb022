// Operations without an operator of their own, built of others.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

// Operands that broadcast together: all get as many axes, and the shape that they have together is returned. Throws where
// they do not fit.
Shape align_operands(const Origin& at, std::vector<int32_t>& operands);

// Tensors of one type that go one behind the other along an axis: joined in groups, until they are no more than one Concat
// takes.
std::vector<int32_t> joined_in_groups(const Origin& at, std::vector<int32_t> parts, int32_t axis);

// Elements of one axis by their indices: a Gather with a constant.
int32_t add_gather(const Origin& at, int32_t x, int32_t axis, const std::vector<int32_t>& indices);
// The same by indices that a run computes, of s32; their shape stands in the axis's place.
int32_t add_gather_by(const Origin& at, int32_t x, int32_t axis, int32_t indices);
// Indices of the k greatest elements of an axis, or of the least, in their order: s32.
int32_t add_top_k(const Origin& at, int32_t x, const TopKOptions& options, int32_t k);
// The greatest element's index, or the least one's; without the axis unless it is kept.
int32_t add_index_of_greatest(const Origin& at, int32_t x, const TopKOptions& options, bool keep);
// Padding with values of x itself, by indices: reflect (the border stays alone), symmetric (it is repeated),
// edge (nothing else is repeated) or wrap (the other end goes on).
enum class Mirror { kReflect, kSymmetric, kEdge, kWrap };
int32_t add_mirror_pad(const Origin& at, int32_t x, const std::vector<int32_t>& before,
                       const std::vector<int32_t>& after, Mirror mirror);
// The maximum over `axes`, ascending: a MaxPool, behind a Transpose where they do not lie side by side. `shape` is the
// result's.
int32_t add_maximum_over(const Origin& at, int32_t x, const std::vector<int32_t>& axes, const Shape& shape);
// Each index of the last axis multiplied by its scale, and its shift added, behind a normalization: constants [channels].
int32_t add_normalize(const Origin& at, int32_t x, const NormalizeOptions& options,
                      const std::vector<float>& scale, const std::vector<float>& shift);
// A constant [channels] of one number.
int32_t add_channel_constant(Draft& draft, const std::string& name, int32_t channels, float value);
// FP32, along the last axis: x - max - log(sum(exp(x - max))), which is exact where log(softmax(x)) would be log(0).
void add_log_softmax(const Origin& at, int32_t x, int32_t y);
// NHWC pictures: blocks of channels to blocks of pixels, and back. Channels of one pixel count (row,
// column, channel), or (channel, row, column) with `channel_first`.
int32_t add_depth_to_space(const Origin& at, int32_t x, int32_t block, bool channel_first);
int32_t add_space_to_depth(const Origin& at, int32_t x, int32_t block);

// Products of matrices: with constant weights a FullyConnected, else a BatchMatMul.

// y [..., m, n] = a [..., m, k] times b [..., k, n], or [..., n, k] with transpose_b, both FP32 and of rank 2 or more; axes
// before these repeat where one operand has 1, or none. Both may be constants of the draft. Throws where the shapes do not
// fit each other.
int32_t add_matrix_product(const Origin& at, int32_t a, int32_t b, bool transpose_b);
// x, whose last two axes change places: a constant, or an activation.
int32_t add_swapped(const Origin& at, int32_t x);

// A constant as an activation, which a run copies: for operators that take none.
int32_t add_copied_constant(const Origin& at, int32_t constant);

// A product as Einsum says it: "bhqd,bhkd->bhqk". Each letter is an axis; one that both operands and the result have repeats
// the product, one that the result lacks is summed over. Throws where the equation is none of two operands without a
// diagonal, or does not fit them.
int32_t add_einsum(const Origin& at, const std::string& equation, int32_t a, int32_t b);

// y[..., i, ...] = the sum of x[..., j, ...] over j <= i along one axis; without x[i] itself (exclusive), over j >= i (reverse).
// A product with a triangle of ones.
int32_t add_cumulative_sum(const Origin& at, int32_t x, int32_t axis, bool exclusive, bool reverse);

// Rows that tuples of indices name, in a list of all rows: what GatherND and ScatterND take and replace.

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

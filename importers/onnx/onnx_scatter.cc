// ONNX operators that take or replace elements at places that indices name: rows of a list of all rows.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "importers/draft/matrix_product.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

// Rows of `tuple` leading axes, by tuples of indices: the number of each row in a list of all rows.
struct Rows {
  std::vector<int32_t> numbers;  // of constant indices
  int32_t count = 1;             // of the list
  Shape of_indices;              // without the tuples
  Shape rest;                    // of a row

  int32_t width() const { return static_cast<int32_t>(std::max<int64_t>(elements(rest), 1)); }
  Shape list(int32_t length) const { return {length, width()}; }
  // What stands for all rows.
  Shape whole() const {
    Shape shape = of_indices;
    shape.insert(shape.end(), rest.begin(), rest.end());
    if (shape.empty()) shape.push_back(1);
    return shape;
  }
};

Rows rows_of(const Shape& indices, const Shape& from) {
  if (indices.empty()) fail("its indices are one number; tuples of numbers are expected");
  const auto tuple = static_cast<size_t>(indices.back());
  if (tuple < 1 || tuple > from.size())
    fail("its tuples of ", tuple, " indices do not fit ", shape_text(from));
  Rows rows;
  rows.of_indices.assign(indices.begin(), indices.end() - 1);
  rows.rest.assign(from.begin() + static_cast<std::ptrdiff_t>(tuple), from.end());
  for (size_t d = 0; d < tuple; ++d) rows.count *= from[d];
  return rows;
}

int32_t normal_index(int64_t index, size_t axis, const Shape& from) {
  const int32_t dim = from[axis];
  if (index < -dim || index >= dim)
    fail("its index ", index, " does not exist in axis ", axis, " of ", shape_text(from));
  return static_cast<int32_t>(index < 0 ? index + dim : index);
}

Rows read_rows(OnnxOp& op, int input, const Shape& from) {
  const OnnxConstant<int64_t> given = op.integers(input);
  Rows rows = rows_of(given.shape, from);
  const size_t tuple = from.size() - rows.rest.size();
  for (size_t i = 0; i + tuple <= given.values.size(); i += tuple) {
    int32_t number = 0;
    for (size_t d = 0; d < tuple; ++d) number = number * from[d] + normal_index(given.values[i + d], d, from);
    rows.numbers.push_back(number);
  }
  if (rows.numbers.empty()) fail("it takes nothing of its input");
  return rows;
}

// The rows' numbers where a run computes the indices: each tuple times the rows that one step of its indices goes on.
int32_t computed_numbers(OnnxOp& op, int input, const Rows& rows, const Shape& from) {
  constexpr int32_t kMostExact = 1 << 24;
  if (rows.count > kMostExact)
    fail("its indices are computed in FP32, which is exact up to ", kMostExact, "; its input has ",
         rows.count, " rows");
  const int32_t tuple = narrow(static_cast<int64_t>(from.size() - rows.rest.size()), "tuple");
  std::vector<float> steps(static_cast<size_t>(tuple), 1.0f);
  for (size_t d = steps.size(); d-- > 1;) steps[d - 1] = steps[d] * static_cast<float>(from[d]);
  const auto count = static_cast<int32_t>(elements(rows.of_indices));
  const int32_t indices = op.as_real(op.index_activation(input));
  const int32_t tuples = add_reshape(op.draft(), op.name() + "/tuples", op.source(), indices, {count, tuple});
  const int32_t weights = add_constant(op.draft(), op.name() + "/steps", DType::kF32, {tuple, 1}, steps);
  const int32_t numbers =
      add_matrix_product(op.draft(), op.name() + "/numbers", op.source(), tuples, weights, false);
  return add_reshape(op.draft(), op.name() + "/numbers", op.source(), op.as_index(numbers), {count});
}

void import_gather_nd(OnnxOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.is_constant(0) ? op.activation_or_numbers(0) : op.activation_or_codes(0);
  const Shape from = op.draft().tensor(x).shape;
  if (const int64_t batch = op.integer("batch_dims", 0); batch != 0)
    fail("batch_dims ", batch, " is not supported; 0 is");
  const bool is_constant = op.is_constant(1);
  const Rows rows =
      is_constant ? read_rows(op, 1, from) : rows_of(op.draft().tensor(op.any_activation(1)).shape, from);
  int32_t list = x;
  if (op.draft().tensor(x).constant)
    op.draft().tensor(x).shape = rows.list(rows.count);
  else
    list = add_reshape(op.draft(), op.name() + "/rows", op.source(), x, rows.list(rows.count));
  const int32_t taken = is_constant
                            ? add_gather(op.draft(), op.output_name(), op.source(), list, 0, rows.numbers)
                            : add_gather_by(op.draft(), op.output_name(), op.source(), list, 0,
                                            computed_numbers(op, 1, rows, from));
  op.set_output(add_reshape(op.draft(), op.output_name(), op.source(), taken, rows.whole()));
}

// Rows of x that others replace, or are joined with.
struct Replaced {
  int32_t x, updates;
  std::vector<int32_t> numbers;  // of the rows, one an update
  int32_t count, width;          // of x as a list of rows
};

Op joining(const std::string& reduction) {
  if (reduction == "none") return Op::kNone;
  if (reduction == "add") return Op::kAdd;
  if (reduction == "mul") return Op::kMul;
  if (reduction == "max") return Op::kMaximum;
  if (reduction == "min") return Op::kMinimum;
  fail("reduction ", quoted(reduction), " is not known");
}

// For each row of x one of `first`, which are so many, or of the updates behind them: the whole list taken anew.
int32_t taken_rows(OnnxOp& op, const Replaced& r, int32_t first, int32_t count,
                   const std::vector<int32_t>& from) {
  const auto updates = static_cast<int32_t>(r.numbers.size());
  const Shape of_both{narrow(int64_t{count} + updates, "number of rows"), r.width};
  const int32_t both = add_activation_like(op.draft(), op.name() + "/both", r.x, of_both);
  const int32_t behind =
      add_reshape(op.draft(), op.name() + "/updates", op.source(), r.updates, {updates, r.width});
  op.add(Op::kConcat, {first, behind}, both).options.as<ConcatOptions>().axis = 0;
  const int32_t taken = add_gather(op.draft(), op.output_name(), op.source(), both, 0, from);
  return add_reshape(op.draft(), op.output_name(), op.source(), taken, op.draft().tensor(r.x).shape);
}

// Each row of x, or the last update that names it.
int32_t replaced_rows(OnnxOp& op, const Replaced& r) {
  std::vector<int32_t> from(static_cast<size_t>(r.count));
  std::iota(from.begin(), from.end(), 0);
  for (size_t i = 0; i < r.numbers.size(); ++i)
    from[static_cast<size_t>(r.numbers[i])] = r.count + static_cast<int32_t>(i);
  const int32_t rows = add_reshape(op.draft(), op.name() + "/rows", op.source(), r.x, {r.count, r.width});
  return taken_rows(op, r, rows, r.count, from);
}

// Each row of x joined with the updates that name it, one of each row at a time; with a row that changes nothing where
// there is none.
int32_t joined_rows(OnnxOp& op, const Replaced& r, Op join) {
  constexpr size_t kMostTimes = 64;
  if (op.draft().tensor(r.x).dtype != DType::kF32)
    fail("it joins int8 codes; a DequantizeLinear must stand between");
  const float rest = join == Op::kAdd       ? 0.0f
                     : join == Op::kMul     ? 1.0f
                     : join == Op::kMaximum ? -INFINITY
                                            : INFINITY;
  std::vector<std::vector<int32_t>> times;
  std::vector<size_t> named(static_cast<size_t>(r.count), 0);
  for (size_t i = 0; i < r.numbers.size(); ++i) {
    const auto row = static_cast<size_t>(r.numbers[i]);
    if (named[row] == kMostTimes) fail("its indices name a place more than ", kMostTimes, " times");
    if (named[row] == times.size()) times.emplace_back(static_cast<size_t>(r.count), 0);
    times[named[row]++][row] = 1 + static_cast<int32_t>(i);
  }
  const int32_t neutral = add_constant(op.draft(), op.name() + "/rest", DType::kF32, {1, r.width},
                                       std::vector<float>(static_cast<size_t>(r.width), rest));
  int32_t y = r.x;
  for (const std::vector<int32_t>& from : times)
    y = add_binary(op, join, y, taken_rows(op, r, neutral, 1, from));
  return y;
}

void finish_replaced(OnnxOp& op, const Replaced& r) {
  const Op join = joining(op.string("reduction", "none"));
  if (op.draft().tensor(r.x).dtype != op.draft().tensor(r.updates).dtype ||
      !op.draft().tensor(r.x).same_quantization(op.draft().tensor(r.updates)))
    fail("its input and its updates have other types or scales");
  op.set_output(join == Op::kNone ? replaced_rows(op, r) : joined_rows(op, r, join));
}

// A constant, or an activation, of reals or codes.
int32_t read_either(OnnxOp& op, int input) {
  return op.is_constant(input) ? op.activation_or_numbers(input) : op.activation_or_codes(input);
}

void import_scatter_nd(OnnxOp& op) {
  op.check_inputs(3, 3);
  const int32_t x = read_either(op, 0), updates = read_either(op, 2);
  const Rows rows = read_rows(op, 1, op.draft().tensor(x).shape);
  if (op.draft().tensor(updates).shape != rows.whole())
    fail("its updates are ", shape_text(op.draft().tensor(updates).shape), " where ",
         shape_text(rows.whole()), " is expected");
  finish_replaced(op, {x, updates, rows.numbers, rows.count, rows.width()});
}

// Each index names an element, whose place is the index's own but for one axis.
void import_scatter_elements(OnnxOp& op) {
  op.check_inputs(3, 3);
  const int32_t x = read_either(op, 0), updates = read_either(op, 2);
  const Shape shape = op.draft().tensor(x).shape;
  const auto axis = static_cast<size_t>(normal_axis(op.integer("axis", 0), shape.size()));
  const OnnxConstant<int64_t> indices = op.integers(1);
  if (indices.values.empty()) fail("it takes nothing of its updates");
  bool fits = indices.shape.size() == shape.size() && op.draft().tensor(updates).shape == indices.shape;
  for (size_t d = 0; fits && d < shape.size(); ++d) fits = d == axis || indices.shape[d] <= shape[d];
  if (!fits)
    fail("its indices are ", shape_text(indices.shape), ", its updates ",
         shape_text(op.draft().tensor(updates).shape), ", which do not fit ", shape_text(shape));
  Replaced r{x, updates, {}, static_cast<int32_t>(elements(shape)), 1};
  Shape at(shape.size(), 0);
  for (const int64_t index : indices.values) {
    int32_t number = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      number = number * shape[d] + (d == axis ? normal_index(index, d, shape) : at[d]);
    r.numbers.push_back(number);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < indices.shape[d]) break;
      at[d] = 0;
    }
  }
  finish_replaced(op, r);
}

constexpr char kReplaces[] = "Indices are constants; with a reduction a place is named at most 64 times.";

constexpr OnnxOperator kOperators[] = {
    {"GatherND",
     import_gather_nd,
     {Op::kReshape, Op::kGather, Op::kFullyConnected},
     "Without batch dimensions; indices that a run computes are not below 0."},
    {"Scatter", import_scatter_elements, {Op::kConcat, Op::kGather}, kReplaces},
    {"ScatterElements", import_scatter_elements, {Op::kConcat, Op::kGather}, kReplaces},
    {"ScatterND", import_scatter_nd, {Op::kConcat, Op::kGather}, kReplaces},
};

}  // namespace

Span<const OnnxOperator> onnx_scatter_operators() { return kOperators; }

}  // namespace intaglio::importers

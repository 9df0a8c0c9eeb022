// ONNX operators that take or replace elements at places that indices name: rows of a list of all rows.
#include <numeric>

#include "importers/draft/draft.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

// A constant, or an activation, of reals or codes.
int32_t read_either(OnnxOp& op, int input) {
  return op.is_constant(input) ? op.activation_or_numbers(input) : op.activation_or_codes(input);
}

void import_gather_nd(OnnxOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = read_either(op, 0);
  const Shape from = op.shape(x);
  if (const int64_t batch = op.integer("batch_dims", 0); batch != 0)
    fail("batch_dims ", batch, " is not supported; 0 is");
  const bool is_constant = op.is_constant(1);
  const Shape of_indices = is_constant ? op.integers(1).shape : op.shape(op.any_activation(1));
  const IndexRows rows = index_rows(of_indices, from);
  int32_t list = x;
  if (op.draft().tensor(x).constant)
    op.shape(x) = rows.list(rows.count);
  else
    list = add_reshape(op.part("/rows"), x, rows.list(rows.count));
  int32_t taken = -1;
  if (is_constant) {
    taken = add_gather(op.result(), list, 0, row_numbers(rows, op.integers(1).values, from));
  } else {
    const int32_t indices = op.as_real(op.index_activation(1));
    const int32_t numbers = add_row_numbers(op.origin(), indices, rows, from);
    taken = add_gather_by(op.result(), list, 0, op.as_index(numbers));
  }
  op.set_output(add_reshape(op.result(), taken, rows.whole()));
}

Op joining(const std::string& reduction) {
  if (reduction == "none") return Op::kNone;
  if (reduction == "add") return Op::kAdd;
  if (reduction == "mul") return Op::kMul;
  if (reduction == "max") return Op::kMaximum;
  if (reduction == "min") return Op::kMinimum;
  fail("reduction ", quoted(reduction), " is not known");
}

void finish_replaced(OnnxOp& op, const ReplacedRows& r) {
  const Op join = joining(op.string("reduction", "none"));
  const DraftTensor x = op.draft().tensor(r.x), updates = op.draft().tensor(r.updates);
  if (x.dtype != updates.dtype || !x.same_quantization(updates))
    fail("its input and its updates have other types or scales");
  if (join != Op::kNone && x.dtype != DType::kF32)
    fail("it joins int8 codes; a DequantizeLinear must stand between");
  op.set_output(join == Op::kNone ? add_replaced_rows(op.result(), r)
                                  : add_joined_rows(op.result(), r, join));
}

// Updates along one axis at places that a run computes, which have a number for each: one after the other, so that the last
// one of a place stays. Where the input is, what it was stays.
int32_t add_put(OnnxOp& op, int32_t x, int32_t places, int32_t updates, size_t axis) {
  constexpr int32_t kMostPlaces = 64;
  const Op join = joining(op.string("reduction", "none"));
  const Shape shape = op.shape(x), of_places = op.shape(places), of_updates = op.shape(updates);
  const int32_t count = of_places[axis];
  if (count > kMostPlaces)
    fail("a run computes ", count, " of its indices; at most ", kMostPlaces, " are supported, and constants");
  Shape line(shape.size(), 1);
  line[axis] = shape[axis];
  std::vector<float> numbers(static_cast<size_t>(shape[axis]));
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  const int32_t all = add_constant(op.draft(), op.name() + "/places", DType::kF32, line, numbers);
  const auto one = [&](int32_t from, Shape of, int32_t i) {
    std::vector<int32_t> begin(of.size(), 0);
    const std::vector<int32_t> strides(of.size(), 1);
    begin[axis] = i;
    of[axis] = 1;
    return add_slice(op.part("/update"), from, begin, strides, of);
  };
  for (int32_t i = 0; i < count; ++i) {
    const int32_t is_here = add_binary(op, Op::kEqual, one(places, of_places, i), all);
    int32_t value = one(updates, of_updates, i);
    if (join != Op::kNone) value = add_binary(op, join, x, value);
    std::vector<int32_t> inputs{is_here, value, x};
    x = add_choice(op, inputs);
  }
  return x;
}

// The same of rows that tuples of indices name.
void put_rows(OnnxOp& op) {
  const int32_t x = op.activation_or_numbers(0), updates = op.activation_or_numbers(2),
                indices = op.as_real(op.index_activation(1));
  const Shape from = op.shape(x);
  const IndexRows rows = index_rows(op.shape(indices), from);
  if (op.shape(updates) != rows.whole())
    fail("its updates are ", shape_text(op.shape(updates)), " where ", shape_text(rows.whole()),
         " is expected");
  const auto count = static_cast<int32_t>(elements(rows.of_indices));
  const auto as = [&](int32_t tensor, const Shape& shape) {
    return add_reshape(op.part("/rows"), tensor, shape);
  };
  const int32_t numbers = add_row_numbers(op.origin(), indices, rows, from);
  const int32_t put =
      add_put(op, as(x, rows.list(rows.count)), as(numbers, {count, 1}), as(updates, rows.list(count)), 0);
  op.set_output(add_reshape(op.result(), put, from));
}

void put_elements(OnnxOp& op) {
  const int32_t x = op.activation_or_numbers(0), updates = op.activation_or_numbers(2),
                places = op.as_real(op.index_activation(1));
  const Shape shape = op.shape(x);
  Shape of_places = op.shape(places);
  const auto axis = static_cast<size_t>(normal_axis(op.integer("axis", 0), shape.size()));
  const bool are_alike = op.shape(updates) == of_places && of_places.size() == shape.size();
  if (are_alike) of_places[axis] = shape[axis];
  if (!are_alike || of_places != shape)
    fail("a run computes its indices, which are ", shape_text(op.shape(places)), ", its updates ",
         shape_text(op.shape(updates)), "; both must be ", shape_text(shape), " but for the axis");
  op.set_output(add_put(op, x, places, updates, axis));
}

void import_scatter_nd(OnnxOp& op) {
  op.check_inputs(3, 3);
  if (!op.is_constant(1)) return put_rows(op);
  const int32_t x = read_either(op, 0), updates = read_either(op, 2);
  const Shape from = op.shape(x);
  const OnnxConstant<int64_t> indices = op.integers(1);
  const IndexRows rows = index_rows(indices.shape, from);
  if (op.shape(updates) != rows.whole())
    fail("its updates are ", shape_text(op.shape(updates)), " where ", shape_text(rows.whole()),
         " is expected");
  finish_replaced(op, {x, updates, row_numbers(rows, indices.values, from), rows.count, rows.width()});
}

// Each index names an element, whose place is the index's own but for one axis.
void import_scatter_elements(OnnxOp& op) {
  op.check_inputs(3, 3);
  if (!op.is_constant(1)) return put_elements(op);
  const int32_t x = read_either(op, 0), updates = read_either(op, 2);
  const Shape shape = op.shape(x);
  const auto axis = static_cast<size_t>(normal_axis(op.integer("axis", 0), shape.size()));
  const OnnxConstant<int64_t> indices = op.integers(1);
  if (indices.values.empty()) fail("it takes nothing of its updates");
  bool fits = indices.shape.size() == shape.size() && op.shape(updates) == indices.shape;
  for (size_t d = 0; fits && d < shape.size(); ++d) fits = d == axis || indices.shape[d] <= shape[d];
  if (!fits)
    fail("its indices are ", shape_text(indices.shape), ", its updates ", shape_text(op.shape(updates)),
         ", which do not fit ", shape_text(shape));
  ReplacedRows r{x, updates, {}, static_cast<int32_t>(elements(shape)), 1};
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

constexpr char kReplaces[] =
    "With a reduction a place is named at most 64 times. Indices that a run computes are not below 0, at most 64, and become "
    "choices (Where) in FP32.";

constexpr OnnxOperator kOnnxScatterOperators[] = {
    {"GatherND",
     import_gather_nd,
     {Op::kReshape, Op::kGather, Op::kFullyConnected},
     "Without batch dimensions; indices that a run computes are not below 0."},
    {"Scatter", import_scatter_elements, {Op::kConcat, Op::kGather}, kReplaces},
    {"ScatterElements", import_scatter_elements, {Op::kConcat, Op::kGather}, kReplaces},
    {"ScatterND", import_scatter_nd, {Op::kConcat, Op::kGather}, kReplaces},
};

}  // namespace

Span<const OnnxOperator> onnx_scatter_operators() { return kOnnxScatterOperators; }

}  // namespace intaglio::importers

// ONNX operators that take or replace elements at places that indices name: rows of a list of all rows.
#include "importers/draft/index_rows.h"
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
  const Shape from = op.draft().tensor(x).shape;
  if (const int64_t batch = op.integer("batch_dims", 0); batch != 0)
    fail("batch_dims ", batch, " is not supported; 0 is");
  const bool is_constant = op.is_constant(1);
  const Shape of_indices = is_constant ? op.integers(1).shape : op.draft().tensor(op.any_activation(1)).shape;
  const IndexRows rows = index_rows(of_indices, from);
  int32_t list = x;
  if (op.draft().tensor(x).constant)
    op.draft().tensor(x).shape = rows.list(rows.count);
  else
    list = add_reshape(op.draft(), op.name() + "/rows", op.source(), x, rows.list(rows.count));
  int32_t taken = -1;
  if (is_constant) {
    taken = add_gather(op.draft(), op.output_name(), op.source(), list, 0,
                       row_numbers(rows, op.integers(1).values, from));
  } else {
    const int32_t indices = op.as_real(op.index_activation(1));
    const int32_t numbers = add_row_numbers(op.draft(), op.name(), op.source(), indices, rows, from);
    taken = add_gather_by(op.draft(), op.output_name(), op.source(), list, 0, op.as_index(numbers));
  }
  op.set_output(add_reshape(op.draft(), op.output_name(), op.source(), taken, rows.whole()));
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
  op.set_output(join == Op::kNone ? add_replaced_rows(op.draft(), op.output_name(), op.source(), r)
                                  : add_joined_rows(op.draft(), op.output_name(), op.source(), r, join));
}

void import_scatter_nd(OnnxOp& op) {
  op.check_inputs(3, 3);
  const int32_t x = read_either(op, 0), updates = read_either(op, 2);
  const Shape from = op.draft().tensor(x).shape;
  const OnnxConstant<int64_t> indices = op.integers(1);
  const IndexRows rows = index_rows(indices.shape, from);
  if (op.draft().tensor(updates).shape != rows.whole())
    fail("its updates are ", shape_text(op.draft().tensor(updates).shape), " where ",
         shape_text(rows.whole()), " is expected");
  finish_replaced(op, {x, updates, row_numbers(rows, indices.values, from), rows.count, rows.width()});
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

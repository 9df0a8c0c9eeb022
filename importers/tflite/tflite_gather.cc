// GATHER: elements of a tensor at places that constants or a run name.
#include <algorithm>

#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

// By indices that a run computes, of a constant or an activation.
void gather_computed(TfliteOp& op, int32_t given_axis) {
  const int32_t indices = op.index_activation(1), x = op.activation_or_constant(0);
  if (const DraftTensor& codes = op.draft().tensor(x); codes.dtype == DType::kS8 && codes.scales.size() != 1)
    fail("tensor ", quoted(codes.name), " is int8 and needs one scale, it has ", codes.scales.size());
  const int32_t axis = normal_axis(given_axis, op.draft().tensor(x).shape.size());
  const int32_t rows = add_gather_by(op.draft(), op.name() + "/gathered", op.source(), x, axis, indices);
  const int32_t y = op.output_same(x, op.draft().tensor(rows).shape);
  op.add(Op::kReshape, {rows}, y);
  op.finish_same();
}

// Input 1, a constant.
std::vector<int32_t> existing_indices(TfliteOp& op, int32_t axis, const Shape& from) {
  std::vector<int32_t> indices;
  for (const int64_t index : op.integers(1)) {
    if (index < 0 || index >= from[static_cast<size_t>(axis)])
      fail("its index ", index, " does not exist in axis ", axis, " of ", shape_text(from));
    indices.push_back(static_cast<int32_t>(index));
  }
  if (indices.empty()) fail("it takes nothing of its input");
  return indices;
}

// Each index of the batch has indices of its own: rows of all of them, whose numbers go on from one to the next. Those that a
// run computes are moved so far that they exist.
void gather_in_batches(TfliteOp& op, const tflite::GatherOptions& options) {
  const int32_t x = op.activation_or_constant(0);
  Draft& draft = op.draft();
  const Shape from = draft.tensor(x).shape;
  const bool is_constant = op.is_constant(1);
  const int32_t given = is_constant ? -1 : op.as_real(op.index_activation(1));
  const Shape of_indices = is_constant ? op.shape_in_file(1) : draft.tensor(given).shape;
  const int32_t axis = normal_axis(options.axis(), from.size());
  const int32_t batches = options.batch_dims() < 0
                              ? options.batch_dims() + static_cast<int32_t>(of_indices.size())
                              : options.batch_dims();
  if (batches != axis || batches < 0 || static_cast<size_t>(batches) > of_indices.size() ||
      !std::equal(from.begin(), from.begin() + batches, of_indices.begin()))
    fail("its ", batches, " batch dimensions do not end at its axis ", axis, ", or ", shape_text(of_indices),
         " does not fit ", shape_text(from));
  const int32_t dim = from[static_cast<size_t>(axis)];
  const int64_t batch = elements(Shape(from.begin(), from.begin() + batches));
  const auto count = static_cast<int32_t>(elements(of_indices) / batch);
  const int32_t rows = narrow(batch * dim, "number of rows"), width = narrow(elements(from) / rows, "row");
  if (rows > 1 << 24) fail("it has ", rows, " rows, whose numbers FP32 does not hold exactly");
  const int32_t list = add_reshape(draft, op.name() + "/rows", op.source(), x, {rows, width});
  int32_t taken = -1;
  if (is_constant) {
    std::vector<int32_t> numbers = existing_indices(op, axis, from);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] += static_cast<int32_t>(i) / count * dim;
    taken = add_gather(draft, op.name() + "/gathered", op.source(), list, 0, numbers);
  } else {
    const int32_t within = add_activation(draft, op.name() + "/index", DType::kF32, of_indices);
    auto& bounds = op.add(Op::kClamp, {given}, within).options.as<Clamp>();
    bounds.min = 0.0f;
    bounds.max = static_cast<float>(dim - 1);
    draft.budget->check_numbers(batch);
    std::vector<float> starts;
    for (int64_t b = 0; b < batch; ++b) starts.push_back(static_cast<float>(b * dim));
    const auto of_batch = static_cast<int32_t>(batch);
    const int32_t first = add_constant(draft, op.name() + "/starts", DType::kF32, {of_batch, 1}, starts);
    const int32_t numbers = add_real_binary(
        op, Op::kAdd, add_reshape(draft, op.name() + "/index", op.source(), within, {of_batch, count}),
        first);
    taken = add_gather_by(draft, op.name() + "/gathered", op.source(), list, 0, op.as_index(numbers));
  }
  Shape shape = of_indices;
  shape.insert(shape.end(), from.begin() + axis + 1, from.end());
  const int32_t y = op.output_same(x, shape);
  op.add(Op::kReshape, {taken}, y);
  op.finish_same();
}

const DraftNode* writer_of(const Draft& draft, int32_t tensor) {
  for (auto node = draft.nodes.rbegin(); node != draft.nodes.rend(); ++node)
    if (node->output() == tensor) return &*node;
  return nullptr;
}

// The int8 tensor whose codes + starts[c] these indices are, by CAST and ADD; -1: none.
int32_t indexed_codes(const Draft& draft, int32_t indices, std::vector<float>& starts) {
  for (const DraftNode* node = writer_of(draft, indices); node != nullptr;
       node = writer_of(draft, node->inputs[0])) {
    if (node->op == Op::kAdd && starts.empty() && draft.tensor(node->inputs[1]).constant &&
        draft.tensor(node->inputs[1]).dtype == DType::kF32) {
      starts = values_of<float>(draft.tensor(node->inputs[1]));
      if (draft.tensor(node->output()).shape != draft.tensor(node->inputs[0]).shape) return -1;
      continue;
    }
    if (node->op == Op::kCast || node->op == Op::kReshape) continue;
    if (node->op != Op::kDequantize) return -1;
    const DraftNode* const same = writer_of(draft, node->inputs[0]);
    const DraftTensor& numbers = draft.tensor(node->inputs[0]);
    const bool is_plain = numbers.scales == std::vector<float>{1.0f} && numbers.zero_point == 0;
    if (!is_plain || same == nullptr || same->op != Op::kLookup) return -1;
    const auto table = values_of<int8_t>(draft.tensor(same->inputs[1]));
    for (size_t i = 0; i < table.size(); ++i)
      if (table.size() != 256 || table[i] != static_cast<int32_t>(i) - 128) return -1;
    return same->inputs[0];
  }
  return -1;
}

// A table of int8 codes that is indexed by codes: 256 values, or 256 for each channel. False: it is none.
bool import_table(TfliteOp& op) {
  if (!op.is_constant(0) || op.output_holds_integers()) return false;
  const DraftTensor values = op.constant(0);
  if (values.dtype != DType::kS8 || values.shape.size() != 1 || values.shape[0] % 256 != 0) return false;
  std::vector<float> starts;
  const int32_t codes = indexed_codes(op.draft(), op.any_activation(1), starts);
  const size_t count = starts.size();
  if (codes < 0 || count * 256 != values.data.size()) return false;
  for (size_t c = 0; c < count; ++c)
    if (starts[c] != static_cast<float>(c * 256 + 128)) return false;
  const Shape shape = op.draft().tensor(codes).shape;
  const auto channels = static_cast<int32_t>(count);
  if (channels > 1 && shape.back() != channels) return false;
  const int32_t y = op.output(shape);
  if (!(op.draft().tensor(y).scales == values.scales) || op.draft().tensor(y).zero_point != values.zero_point)
    fail("its output has another scale than its table");
  const int32_t table =
      add_constant(op.draft(), values.name, DType::kS8, channels == 1 ? Shape{256} : Shape{channels, 256},
                   values_of<int8_t>(values));
  op.add(Op::kLookup, {codes, table}, y);
  return true;
}

void import_gather(TfliteOp& op) {
  op.check_inputs(2, 2);
  const auto& options = op.options<tflite::GatherOptions>();
  if (options.batch_dims() != 0) return gather_in_batches(op, options);
  if (!op.is_constant(1) && options.axis() == 0 && import_table(op)) return;
  if (!op.is_constant(1)) return gather_computed(op, options.axis());
  const int32_t x = op.activation(0);
  const Shape from = op.draft().tensor(x).shape;
  const int32_t axis = normal_axis(options.axis(), from.size());
  const std::vector<int32_t> indices = existing_indices(op, axis, from);
  Shape shape(from.begin(), from.begin() + axis);
  for (const int32_t d : op.shape_in_file(1)) shape.push_back(d);
  shape.insert(shape.end(), from.begin() + axis + 1, from.end());
  if (shape.empty()) shape.push_back(1);
  const int32_t y = op.output_same(x, shape);
  op.add(Op::kReshape, {add_gather(op.draft(), op.name() + "/gathered", op.source(), x, axis, indices)}, y);
  op.finish_same();
}

constexpr TfliteOperator kTfliteGatherOperators[] = {
    {Builtin::GATHER,
     import_gather,
     {Op::kGather},
     "Batch dimensions end at the axis. Constant indices exist; what a run computes beyond the axis is the nearest index."},
};

}  // namespace

Span<const TfliteOperator> tflite_gather_operators() { return kTfliteGatherOperators; }

}  // namespace intaglio::importers

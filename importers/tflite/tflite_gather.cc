// GATHER: elements of a tensor at places that constants or a run name.
#include <algorithm>
#include <cmath>
#include <limits>

#include "importers/draft/draft.h"
#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {

namespace {

// By indices that a run computes, of a constant or an activation.
void gather_computed(TfliteOp& op, int32_t given_axis) {
  const int32_t indices = op.index_activation(1), x = op.activation_or_constant(0);
  if (const DraftTensor& codes = op.draft().tensor(x); codes.dtype == DType::kS8 && codes.scales.size() != 1)
    fail("tensor ", quoted(codes.name), " is int8 and needs one scale, it has ", codes.scales.size());
  const int32_t axis = normal_axis(given_axis, op.shape(x).size());
  const int32_t rows = add_gather_by(op.part("/gathered"), x, axis, indices);
  op.set_moved(x, rows, op.shape(rows));
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
  const int32_t list = add_reshape(op.part("/rows"), x, {rows, width});
  int32_t taken = -1;
  if (is_constant) {
    std::vector<int32_t> numbers = existing_indices(op, axis, from);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] += static_cast<int32_t>(i) / count * dim;
    taken = add_gather(op.part("/gathered"), list, 0, numbers);
  } else {
    const int32_t within = add_bounded(op, given, 0.0f, static_cast<float>(dim - 1), "/index");
    draft.budget->check_numbers(batch);
    std::vector<float> starts;
    for (int64_t b = 0; b < batch; ++b) starts.push_back(static_cast<float>(b * dim));
    const auto of_batch = static_cast<int32_t>(batch);
    const int32_t first = add_constant(draft, op.name() + "/starts", DType::kF32, {of_batch, 1}, starts);
    const int32_t numbers =
        add_binary(op, Op::kAdd, add_reshape(op.part("/index"), within, {of_batch, count}), first);
    taken = add_gather_by(op.part("/gathered"), list, 0, op.as_index(numbers));
  }
  Shape shape = of_indices;
  shape.insert(shape.end(), from.begin() + axis + 1, from.end());
  op.set_moved(x, taken, shape);
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
  const Shape shape = op.shape(codes);
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
  const Shape from = op.shape(x);
  const int32_t axis = normal_axis(options.axis(), from.size());
  const std::vector<int32_t> indices = existing_indices(op, axis, from);
  const Shape shape = at_least_1d(gathered_shape(from, axis, op.shape_in_file(1)));
  op.set_moved(x, add_gather(op.part("/gathered"), x, axis, indices), shape);
}

// Places of a tensor that others replace, or that others are joined in: DYNAMIC_UPDATE_SLICE, SEGMENT_SUM and the like.

// Where a slice of the shape `part` starts in `whole`; as LiteRT has it, moved so far that it fits.
std::vector<int32_t> fitting_start(TfliteOp& op, const Shape& whole, const Shape& part) {
  const std::vector<int64_t> given = op.integers(2);
  if (given.size() != whole.size()) fail("it has ", given.size(), " start indices for ", shape_text(whole));
  std::vector<int32_t> start;
  for (size_t d = 0; d < whole.size(); ++d)
    start.push_back(static_cast<int32_t>(std::clamp<int64_t>(given[d], 0, whole[d] - part[d])));
  return start;
}

// Numbers of the rows of `whole`, whose first `axes` axes count them, that the slice takes.
std::vector<int32_t> slice_rows(const Shape& whole, const Shape& part, const std::vector<int32_t>& start,
                                size_t axes) {
  std::vector<int32_t> numbers{0};
  for (size_t d = 0; d < axes; ++d) {
    std::vector<int32_t> longer;
    longer.reserve(numbers.size() * static_cast<size_t>(part[d]));
    for (const int32_t number : numbers)
      for (int32_t i = 0; i < part[d]; ++i) longer.push_back(number * whole[d] + start[d] + i);
    numbers = std::move(longer);
  }
  return numbers;
}

// The slice along one axis whose start a run computes: each row of it is chosen from both.
int32_t replaced_by_run(TfliteOp& op, int32_t x, int32_t updates, size_t axis) {
  Draft& draft = op.draft();
  const Shape whole = draft.tensor(x).shape;
  const int32_t starts = op.as_real(op.index_activation(2));
  if (const Shape& given = draft.tensor(starts).shape; given != Shape{static_cast<int32_t>(whole.size())})
    fail("its start indices are ", shape_text(given), " for ", shape_text(whole));
  const int32_t one = add_slice(op.part("/start"), starts, {static_cast<int32_t>(axis)}, {1}, {1});
  const int32_t first = add_bounded(op, one, 0.0f, static_cast<float>(whole[axis] - 1), "/start");
  const int32_t place = add_activation(draft, op.name() + "/here", DType::kF32, {1, whole[axis]});
  op.add(Op::kOneHot, {op.as_index(first)}, place).options.as<OneHotOptions>() = {1, 1.0f, 0.0f, false};
  Shape along(whole.size(), 1);
  along[axis] = whole[axis];
  std::vector<int32_t> inputs{add_reshape(op.part("/here"), place, along), updates, x};
  const Shape shape = align_operands(op.origin(), inputs);
  const int32_t y = add_activation(draft, op.name(), DType::kF32, shape);
  add_where(op.origin(), inputs, y);
  return y;
}

void import_update_slice(TfliteOp& op) {
  op.check_inputs(3, 3);
  const int32_t x = op.activation_or_constant(0), updates = op.activation_or_constant(1);
  const DraftTensor whole = op.draft().tensor(x), part = op.draft().tensor(updates);
  if (part.shape.size() != whole.shape.size() || whole.shape.empty())
    fail("its update ", shape_text(part.shape), " does not fit ", shape_text(whole.shape));
  size_t axes = 0, shorter = 0;  // the axes up to the last one that the slice does not have whole
  for (size_t d = 0; d < whole.shape.size(); ++d) {
    if (part.shape[d] < 1 || part.shape[d] > whole.shape[d])
      fail("its update ", shape_text(part.shape), " does not fit ", shape_text(whole.shape));
    if (part.shape[d] == whole.shape[d]) continue;
    axes = d + 1;
    ++shorter;
  }
  if (whole.dtype != part.dtype || !whole.same_quantization(part))
    fail("its update has another type or scale than what it is put into");
  if (!op.is_constant(2) && axes > 0) {
    if (shorter != 1 || part.shape[axes - 1] != 1)
      fail("its start is computed by a run, and its update ", shape_text(part.shape), " is not one index of ",
           shape_text(whole.shape), ", the only form that is supported then");
    return finish_real(op, replaced_by_run(op, real_of(op, x), real_of(op, updates), axes - 1));
  }
  const int32_t y = op.output_same(x, whole.shape);
  if (axes == 0) {
    op.add(Op::kReshape, {updates}, y);
    return op.finish_same();
  }
  op.draft().budget->check_numbers(elements(whole.shape));
  int32_t count = 1;
  for (size_t d = 0; d < axes; ++d) count *= whole.shape[d];
  const auto width = static_cast<int32_t>(elements(whole.shape) / count);
  const ReplacedRows r{x, updates,
                       slice_rows(whole.shape, part.shape, fitting_start(op, whole.shape, part.shape), axes),
                       count, width};
  const int32_t placed = add_replaced_rows(op.part("/placed"), r);
  op.add(Op::kReshape, {placed}, y);
  op.finish_same();
}

constexpr float kMostReal = std::numeric_limits<float>::max();

// Rows that have one number are joined. Where no row has it stands what changes nothing.
template <Op kJoin>
void import_segments(TfliteOp& op) {
  const bool is_sorted = op.source() == "SEGMENT_SUM";
  op.check_inputs(is_sorted ? 2 : 3, is_sorted ? 2 : 3);
  const int32_t x = read_real(op, 0);
  const Shape from = op.shape(x), of_ids = op.shape_in_file(1);
  if (of_ids.size() != 1 || of_ids[0] != from[0])
    fail("its segments ", shape_text(of_ids), " are not one number for each row of ", shape_text(from));
  const std::vector<int64_t> ids = op.integers(1);
  if (ids.empty()) fail("it has no rows");
  const int64_t last = *std::max_element(ids.begin(), ids.end());
  if (last >= kMaxTensorBytes) fail("its segment ", last, " is too large");
  Shape shape = from;
  shape[0] = is_sorted ? narrow(last + 1, "number of segments") : op.integer(2);
  check_shape(shape, DType::kF32);
  if (last >= shape[0] || *std::min_element(ids.begin(), ids.end()) < 0)
    fail("its segments are not all within 0 to ", shape[0] - 1);
  op.check_output(shape);  // before memory is taken: how much, one number of the file says
  op.draft().budget->check_numbers(elements(shape));
  std::vector<bool> is_named(static_cast<size_t>(shape[0]), kJoin == Op::kAdd || kJoin == Op::kMul);
  for (const int64_t id : ids) is_named[static_cast<size_t>(id)] = true;
  const auto unnamed = std::find(is_named.begin(), is_named.end(), false);
  if (unnamed != is_named.end()) fail("segment ", unnamed - is_named.begin(), " has no row");
  // For the greatest and the least below what a row has, or above.
  const float start = std::clamp(neutral_of(kJoin), -kMostReal, kMostReal);
  const int32_t rest = add_constant(op.draft(), op.name() + "/rest", DType::kF32, shape,
                                    std::vector<float>(static_cast<size_t>(elements(shape)), start));
  const auto width = static_cast<int32_t>(elements(shape) / shape[0]);
  const ReplacedRows r{rest, x, std::vector<int32_t>(ids.begin(), ids.end()), shape[0], width};
  finish_real(op, add_joined_rows(op.part("/joined"), r, kJoin));
}

constexpr char kOfSegments[] = "Segments are constants, and at most 64 rows are in one.";
constexpr char kOfFilled[] = "Segments are constants, and 1 to 64 rows are in one.";

constexpr TfliteOperator kTfliteGatherOperators[] = {
    {Builtin::DYNAMIC_UPDATE_SLICE,
     import_update_slice,
     {Op::kConcat, Op::kGather, Op::kWhere},
     "Where a run computes the start, the update is one index of one axis."},
    {Builtin::GATHER,
     import_gather,
     {Op::kGather},
     "Batch dimensions end at the axis. Constant indices exist; what a run computes beyond the axis is the nearest index."},
    {Builtin::SEGMENT_SUM, import_segments<Op::kAdd>, {Op::kConcat, Op::kGather, Op::kAdd}, kOfSegments},
    {Builtin::UNSORTED_SEGMENT_MAX,
     import_segments<Op::kMaximum>,
     {Op::kConcat, Op::kGather, Op::kMaximum},
     kOfFilled},
    {Builtin::UNSORTED_SEGMENT_MIN,
     import_segments<Op::kMinimum>,
     {Op::kConcat, Op::kGather, Op::kMinimum},
     kOfFilled},
    {Builtin::UNSORTED_SEGMENT_PROD,
     import_segments<Op::kMul>,
     {Op::kConcat, Op::kGather, Op::kMul},
     kOfSegments},
    {Builtin::UNSORTED_SEGMENT_SUM,
     import_segments<Op::kAdd>,
     {Op::kConcat, Op::kGather, Op::kAdd},
     kOfSegments},
};

}  // namespace

Span<const TfliteOperator> tflite_gather_operators() { return kTfliteGatherOperators; }

}  // namespace intaglio::importers

// Places of a tensor that others replace, or that others are joined in: DYNAMIC_UPDATE_SLICE, SEGMENT_SUM and the like.
#include <algorithm>
#include <cmath>
#include <limits>

#include "importers/draft/choice.h"
#include "importers/draft/index_rows.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

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
  const int32_t one =
      add_slice(draft, op.name() + "/start", op.source(), starts, {static_cast<int32_t>(axis)}, {1}, {1});
  const int32_t first = add_activation(draft, op.name() + "/start", DType::kF32, {1});
  auto& bounds = op.add(Op::kClamp, {one}, first).options.as<Clamp>();
  bounds.min = 0.0f;
  bounds.max = static_cast<float>(whole[axis] - 1);
  const int32_t place = add_activation(draft, op.name() + "/here", DType::kF32, {1, whole[axis]});
  op.add(Op::kOneHot, {op.as_index(first)}, place).options.as<OneHotOptions>() = {1, 1.0f, 0.0f, false};
  Shape along(whole.size(), 1);
  along[axis] = whole[axis];
  std::vector<int32_t> inputs{add_reshape(draft, op.name() + "/here", op.source(), place, along), updates, x};
  const Shape shape = align_operands(draft, op.name(), op.source(), inputs);
  const int32_t y = add_activation(draft, op.name(), DType::kF32, shape);
  add_where(draft, op.name(), op.source(), inputs, y);
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
  const int32_t placed = add_replaced_rows(op.draft(), op.name() + "/placed", op.source(), r);
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
  const Shape from = op.draft().tensor(x).shape, of_ids = op.shape_in_file(1);
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
  finish_real(op, add_joined_rows(op.draft(), op.name() + "/joined", op.source(), r, kJoin));
}

constexpr char kOfSegments[] = "Segments are constants, and at most 64 rows are in one.";
constexpr char kOfFilled[] = "Segments are constants, and 1 to 64 rows are in one.";

constexpr TfliteOperator kTflitePlaceOperators[] = {
    {Builtin::DYNAMIC_UPDATE_SLICE,
     import_update_slice,
     {Op::kConcat, Op::kGather, Op::kWhere},
     "Where a run computes the start, the update is one index of one axis."},
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

Span<const TfliteOperator> tflite_place_operators() { return kTflitePlaceOperators; }

}  // namespace intaglio::importers

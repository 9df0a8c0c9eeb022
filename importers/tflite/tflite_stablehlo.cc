// Operators that a file keeps from StableHLO, with a graph that says how two numbers are joined: STABLEHLO_REDUCE_WINDOW and
// STABLEHLO_SCATTER.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

using Numbers = flatbuffers::Vector<int64_t>;

// The operator that the graph applies to its two inputs; kReshape: the result is the second one.
Op join_of(TfliteOp& op, int32_t index) {
  const tflite::Model& model = *op.file().model;
  const tflite::SubGraph& graph = tflite_graph_at(op.file(), index);
  const auto is_pair = [](const flatbuffers::Vector<int32_t>* inputs) {
    return inputs != nullptr && inputs->size() == 2;
  };
  if (!is_pair(graph.inputs()) || graph.outputs()->size() != 1)
    fail("graph ", index, ", which joins its numbers, has ", graph.inputs()->size(), " inputs and ",
         graph.outputs()->size(), " outputs where 2 and 1 are expected");
  const int32_t first = graph.inputs()->Get(0), second = graph.inputs()->Get(1),
                result = graph.outputs()->Get(0);
  if (graph.operators()->size() == 0 && result == second && first != second) return Op::kReshape;
  if (graph.operators()->size() != 1)
    fail("graph ", index, ", which joins its numbers, has ", graph.operators()->size(),
         " operators; one is supported");
  const tflite::Operator& join = *graph.operators()->Get(0);
  const Builtin builtin = tflite_builtin(model, join);
  const auto* const inputs = join.inputs();
  const bool is_of_both =
      is_pair(inputs) && std::minmax(inputs->Get(0), inputs->Get(1)) == std::minmax(first, second);
  if (!is_of_both || join.outputs() == nullptr || join.outputs()->size() != 1 ||
      join.outputs()->Get(0) != result)
    fail("graph ", index, ", which joins its numbers, is not one ", tflite_operator_name(builtin),
         " of its two inputs");
  switch (builtin) {
    case Builtin::ADD:
    case Builtin::STABLEHLO_ADD:
      return Op::kAdd;
    case Builtin::MUL:
    case Builtin::STABLEHLO_MULTIPLY:
      return Op::kMul;
    case Builtin::MAXIMUM:
    case Builtin::STABLEHLO_MAXIMUM:
      return Op::kMaximum;
    case Builtin::MINIMUM:
    case Builtin::STABLEHLO_MINIMUM:
      return Op::kMinimum;
    default:
      fail("it joins numbers by ", tflite_operator_name(builtin),
           "; ADD, MUL, MAXIMUM and MINIMUM are known");
  }
}

// One number for each axis, or all of them `otherwise`.
std::vector<int32_t> of_axes(const Numbers* numbers, size_t count, int32_t otherwise, const char* what) {
  std::vector<int32_t> list(count, otherwise);
  if (numbers == nullptr || numbers->size() == 0) return list;
  if (numbers->size() != count)
    fail("it has ", numbers->size(), " ", what, " where ", count, " are expected");
  for (uint32_t i = 0; i < numbers->size(); ++i) list[i] = narrow(numbers->Get(i), what);
  return list;
}

// The greatest or the sum of each window of a picture.
int32_t add_pool(TfliteOp& op, int32_t x, const WindowAxis& h, const WindowAxis& w, bool is_sum) {
  Draft& draft = op.draft();
  const Shape from = draft.tensor(x).shape, shape = window_shape(from, h, w, from[3]);
  if (is_sum && (h.dilation != 1 || w.dilation != 1))
    fail("it has window dilations, which are supported for MAXIMUM alone");
  const int32_t y = add_activation(draft, op.name() + "/windows", DType::kF32, shape);
  op.add(is_sum ? Op::kAvgPool2d : Op::kMaxPool2d, {x}, y).options.as<Window2d>() = window_of(h, w, is_sum);
  const auto count = static_cast<float>(int64_t{h.kernel} * w.kernel);
  return is_sum && count != 1.0f ? add_binary(op, Op::kMul, y, add_number(op, y, count)) : y;
}

void import_reduce_window(TfliteOp& op) {
  op.check_inputs(2, 2);
  const auto& options = op.newer_options<tflite::StablehloReduceWindowOptions>();
  const Op join = join_of(op, options.body_subgraph());
  if (join != Op::kAdd && join != Op::kMaximum)
    fail("its graph joins numbers otherwise than by ADD and MAXIMUM, which are supported");
  Draft& draft = op.draft();
  const int32_t x = read_real(op, 0);
  const Shape from = draft.tensor(x).shape;
  const size_t rank = from.size();
  const auto kernels = of_axes(options.window_dimensions(), rank, 1, "window dimensions"),
             strides = of_axes(options.window_strides(), rank, 1, "window strides"),
             dilations = of_axes(options.window_dilations(), rank, 1, "window dilations"),
             pads = of_axes(options.padding(), 2 * rank, 0, "paddings");
  for (const int32_t dilation : of_axes(options.base_dilations(), rank, 1, "base dilations"))
    if (dilation != 1) fail("it has a base dilation of ", dilation, "; 1 is supported");
  if (!op.is_constant(1)) fail("its initial value is computed by a run; a constant is supported");
  const Values initial = op.values(1);
  if (initial.reals.size() + initial.integers.size() != 1) fail("its initial value is not one number");
  const float start = initial.is_real ? initial.reals[0] : static_cast<float>(initial.integers[0]);
  if (std::isnan(start) || (join == Op::kAdd && start != 0.0f))
    fail("its initial value is ", start, join == Op::kAdd ? "; 0 is supported of sums" : "");

  // The axes with windows in front of the others, as height and width of one picture.
  std::vector<WindowAxis> windows;
  Permutation order;
  for (size_t d = 0; d < rank; ++d) {
    const WindowAxis axis{kernels[d], strides[d], dilations[d], pads[2 * d], pads[2 * d + 1]};
    if (axis.kernel == 1 && axis.stride == 1 && axis.before == 0 && axis.after == 0) continue;
    windows.push_back(axis);
    order.push_back(static_cast<int32_t>(d));
  }
  if (windows.size() > 2) fail("it has windows over ", windows.size(), " axes; at most 2 are supported");
  const size_t sides = windows.size();
  const bool is_picture = rank == 4 && std::all_of(order.begin(), order.end(),
                                                   [](int32_t axis) { return axis == 1 || axis == 2; });
  for (size_t d = 0; d < rank; ++d)
    if (std::find(order.begin(), order.end(), d) == order.end()) order.push_back(static_cast<int32_t>(d));
  int32_t y = x;
  if (is_picture) {
    const auto window_of = [&](size_t d) {
      return WindowAxis{kernels[d], strides[d], dilations[d], pads[2 * d], pads[2 * d + 1]};
    };
    y = add_pool(op, x, window_of(1), window_of(2), join == Op::kAdd);
  } else {
    windows.resize(2);
    const int32_t turned = add_transpose(op.part("/turned"), x, order);
    Shape shape = draft.tensor(turned).shape, picture{1, 1, 1, 1};
    for (size_t d = 0; d < rank; ++d) picture[d < sides ? 1 + d : 3] *= shape[d];
    y = add_pool(op, add_reshape(op.part("/picture"), turned, picture), windows[0], windows[1],
                 join == Op::kAdd);
    for (size_t d = 0; d < sides; ++d) shape[d] = draft.tensor(y).shape[1 + d];
    Permutation back(rank);
    for (size_t d = 0; d < rank; ++d) back[static_cast<size_t>(order[d])] = static_cast<int32_t>(d);
    y = add_transpose(op.part("/turned"), add_reshape(op.part("/lines"), y, shape), back);
  }
  if (join == Op::kMaximum && start > -std::numeric_limits<float>::max())
    y = add_binary(op, Op::kMaximum, y, add_number(op, y, start));
  finish_real(op, y);
}

// Where the elements of the updates go, as numbers of the elements of x.
std::vector<int32_t> places_of_updates(const TfliteOp& op, const tflite::StablehloScatterOptions& options,
                                       const Shape& whole, const Shape& updates) {
  const Values given = op.values(1);
  if (given.is_real) fail("its indices are no integers");
  const Shape& of_indices = given.shape;
  const std::vector<int64_t>& indices = given.integers;
  const auto list = [](const Numbers* numbers) {
    return numbers == nullptr ? std::vector<int64_t>()
                              : std::vector<int64_t>(numbers->begin(), numbers->end());
  };
  // Axes in ascending order, each once.
  const auto axes = [&](const Numbers* numbers, size_t rank, const char* what) {
    const std::vector<int64_t> named = list(numbers);
    for (size_t i = 0; i < named.size(); ++i)
      if (named[i] < (i == 0 ? 0 : named[i - 1] + 1) || named[i] >= static_cast<int64_t>(rank))
        fail("its ", what, " hold ", named[i], ", which is no further axis of rank ", rank);
    return named;
  };
  const auto in_windows = axes(options.update_window_dims(), updates.size(), "update_window_dims"),
             inserted = axes(options.inserted_window_dims(), whole.size(), "inserted_window_dims"),
             to = list(options.scatter_dims_to_operand_dims());
  const auto at = static_cast<size_t>(std::max<int64_t>(options.index_vector_dim(), -1));
  Shape scattered = of_indices;
  int32_t length = 1;  // of a tuple of indices
  if (at < of_indices.size()) {
    length = of_indices[at];
    scattered.erase(scattered.begin() + static_cast<std::ptrdiff_t>(at));
  }
  Shape steps(updates.size(), 0);  // of the axes that count tuples, in the list of indices
  Shape of_scattered;
  std::vector<int32_t> window_axis(updates.size(), -1);  // of x, of an axis of updates
  size_t window = 0;
  for (size_t d = 0, next = 0; d < whole.size(); ++d) {
    if (next < inserted.size() && inserted[next] == static_cast<int64_t>(d)) {
      ++next;
      continue;
    }
    if (window < in_windows.size())
      window_axis[static_cast<size_t>(in_windows[window])] = static_cast<int32_t>(d);
    ++window;
  }
  for (size_t d = 0; d < updates.size(); ++d)
    if (window_axis[d] < 0) of_scattered.push_back(updates[d]);
  if (at > of_indices.size() || window != in_windows.size() || of_scattered != scattered ||
      to.size() != static_cast<size_t>(length))
    fail("its updates ", shape_text(updates), " do not fit its indices ", shape_text(of_indices), " and ",
         shape_text(whole));
  const int32_t tuple_step = at < of_indices.size()
                                 ? std::accumulate(of_indices.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                                   of_indices.end(), 1, std::multiplies<>())
                                 : 1;
  for (size_t d = updates.size(), axis = of_indices.size(), step = 1; d-- > 0;) {
    if (window_axis[d] >= 0) continue;
    if (axis > 0 && axis - 1 == at) step *= static_cast<size_t>(of_indices[--axis]);
    steps[d] = static_cast<int32_t>(step);
    if (axis > 0) step *= static_cast<size_t>(of_indices[--axis]);
  }
  for (const int64_t axis : to)
    if (axis < 0 || axis >= static_cast<int64_t>(whole.size()))
      fail("its scatter_dims_to_operand_dims hold ", axis, " for ", shape_text(whole));

  std::vector<int32_t> places;
  std::vector<int64_t> place(whole.size());
  Shape index(updates.size(), 0);
  for (int64_t left = elements(updates); left > 0; --left) {
    std::fill(place.begin(), place.end(), 0);
    size_t first = 0;
    for (size_t d = 0; d < updates.size(); ++d) {
      if (window_axis[d] >= 0) place[static_cast<size_t>(window_axis[d])] += index[d];
      first += static_cast<size_t>(steps[d]) * static_cast<size_t>(index[d]);
    }
    for (size_t i = 0; i < to.size(); ++i) {
      const auto axis = static_cast<size_t>(to[i]);
      const int64_t start = indices.at(first + i * static_cast<size_t>(tuple_step));
      if (start < 0 || start >= whole[axis])
        fail("it places an update at ", start, " of axis ", axis, " of ", shape_text(whole));
      place[axis] += start;
    }
    int64_t number = 0;
    for (size_t d = 0; d < whole.size(); ++d) {
      if (place[d] >= whole[d])
        fail("it places an update at ", place[d], " of axis ", d, " of ", shape_text(whole));
      number = number * whole[d] + place[d];
    }
    places.push_back(static_cast<int32_t>(number));
    for (size_t d = updates.size(); d-- > 0;) {
      if (++index[d] < updates[d]) break;
      index[d] = 0;
    }
  }
  return places;
}

// The longest rows, of whole last axes of x, that updates fill one after the other.
int32_t row_width(const Shape& whole, const std::vector<int32_t>& places) {
  const auto fills_rows = [&](int64_t width) {
    if (static_cast<int64_t>(places.size()) % width != 0) return false;
    for (size_t i = 0; i < places.size(); ++i)
      if (places[i] % width != static_cast<int64_t>(i) % width ||
          places[i] / width != places[i - i % static_cast<size_t>(width)] / width)
        return false;
    return true;
  };
  int64_t width = elements(whole);
  for (size_t d = 0; d < whole.size() && !fills_rows(width); ++d) width /= whole[d];
  return static_cast<int32_t>(width);
}

void import_scatter(TfliteOp& op) {
  op.check_inputs(3, 3);
  const auto& options = op.newer_options<tflite::StablehloScatterOptions>();
  const Op join = join_of(op, options.update_computation_subgraph());
  if (!op.is_constant(1)) fail("its indices are computed by a run; constant ones are supported");
  const bool replaces = join == Op::kReshape;
  const auto read = [&](size_t i) { return replaces ? op.activation_or_constant(i) : read_real(op, i); };
  Draft& draft = op.draft();
  const int32_t x = read(0), updates = read(2);
  const DraftTensor whole = draft.tensor(x), part = draft.tensor(updates);
  if (whole.dtype != part.dtype || !whole.same_quantization(part))
    fail("its updates have another type or scale than what they are put into");
  draft.budget->check_numbers(elements(whole.shape) + elements(part.shape));
  std::vector<int32_t> places = places_of_updates(op, options, whole.shape, part.shape);
  if (places.empty()) fail("it has no updates");
  const int32_t width = row_width(whole.shape, places);
  std::vector<int32_t> rows;
  for (size_t i = 0; i < places.size(); i += static_cast<size_t>(width)) rows.push_back(places[i] / width);
  const ReplacedRows r{x, updates, rows, static_cast<int32_t>(elements(whole.shape) / width), width};
  if (!replaces) return finish_real(op, add_joined_rows(op.part("/joined"), r, join));
  op.set_moved(x, add_replaced_rows(op.part("/placed"), r), whole.shape);
}

constexpr TfliteOperator kTfliteStablehloOperators[] = {
    {Builtin::STABLEHLO_REDUCE_WINDOW,
     import_reduce_window,
     {Op::kMaxPool2d, Op::kAvgPool2d, Op::kMul, Op::kMaximum},
     "Sums, which begin with 0, and maxima; over at most 2 axes, without base dilations; sums without dilations."},
    {Builtin::STABLEHLO_SCATTER,
     import_scatter,
     {Op::kConcat, Op::kGather, Op::kAdd},
     "Indices are constants, within the tensor. Updates replace, or are joined by ADD, MUL, MAXIMUM or MINIMUM, 64 a "
     "place."},
};

}  // namespace

Span<const TfliteOperator> tflite_stablehlo_operators() { return kTfliteStablehloOperators; }

}  // namespace intaglio::importers

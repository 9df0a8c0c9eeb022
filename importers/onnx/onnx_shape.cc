// ONNX operators that move data or change its shape, and constants.
#include <algorithm>
#include <cmath>

#include "importers/draft/draft.h"
#include "importers/onnx/onnx_operators.h"
#include "importers/onnx/onnx_reader.h"

namespace intaglio::importers {

namespace {

// A single number without axes is [1] here.
void reshape_to(OnnxOp& op, int32_t x, const Shape& shape) {
  const Shape wanted = at_least_1d(shape);
  check_shape(wanted, DType::kF32);
  op.set_output(add_reshape(op.result(), x, wanted));
}

// Opset 2 to 10 has attributes, later ones inputs; both give all begins, then all ends.
std::vector<int64_t> read_pads(OnnxOp& op, size_t rank, float* pad_value) {
  float& value = *pad_value;
  std::vector<int64_t> pads;
  if (op.opset() < 11) {
    pads = op.integers("pads");
    value = op.real("value", 0.0f);
  } else {
    pads = op.integers(1).values;
    if (op.has_input(2)) {
      const OnnxConstant<float> constant = op.floats(2);
      if (constant.values.size() != 1) fail("its padding value must be one number");
      value = constant.values[0];
    }
  }
  if (std::isnan(value)) fail("it pads with ", value, ", which is not a number");
  if (std::isinf(value)) {
    op.draft().notes.push_back(text("node ", quoted(op.name()), " (", op.source(), "): its padding value ",
                                    value, " is ", value < 0.0f ? "-" : "", "1.3e30 here"));
    value = std::copysign(kMasked, value);
  }
  if (!op.has_input(3)) {
    if (pads.size() != 2 * rank) fail("it has ", pads.size(), " pads for rank ", rank);
    return pads;
  }
  const std::vector<int64_t> axes = op.integers(3).values;
  if (pads.size() != 2 * axes.size()) fail("it has ", pads.size(), " pads for ", axes.size(), " axes");
  std::vector<int64_t> all(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(normal_axis(axes[i], rank));
    all[axis] = pads[i];
    all[rank + axis] = pads[axes.size() + i];
  }
  return all;
}

void import_reshape(OnnxOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.any_activation(0);
  const Shape from = op.shape(x);
  const bool zero_copies = op.integer("allowzero", 0) == 0;
  Shape shape;
  int64_t known = 1;
  int open = -1;
  for (const int64_t dim : op.integers(1).values) {
    const size_t i = shape.size();
    if (i >= static_cast<size_t>(kMaxRank)) fail("its target shape has more than ", kMaxRank, " dimensions");
    if (dim == 0 && zero_copies && i >= from.size())
      fail("its target shape copies dimension ", i, ", which its input does not have");
    const int64_t size = dim == 0 && zero_copies ? from[i] : dim;
    if (size == -1 && open < 0) {
      open = static_cast<int>(i);
      shape.push_back(1);
      continue;
    }
    if (size < 1 || size > kMaxTensorBytes / known) fail("its target shape has the dimension ", dim);
    known *= size;
    shape.push_back(static_cast<int32_t>(size));
  }
  const int64_t count = elements(from);
  if (open >= 0) {
    if (count % known != 0) fail("its input ", shape_text(from), " does not divide into the target shape");
    shape[static_cast<size_t>(open)] = static_cast<int32_t>(count / known);
  } else if (op.shapes_changed() && !shape.empty() && known != count && count % (known / shape[0]) == 0) {
    shape[0] = static_cast<int32_t>(count / (known / shape[0]));  // another batch than in the file
  }
  reshape_to(op, x, shape);
}

// Squeeze, Unsqueeze and Flatten.
template <Shape (*kShape)(OnnxOp& op, const Shape& from)>
void import_shape(OnnxOp& op) {
  const int32_t x = op.any_activation(0);
  reshape_to(op, x, kShape(op, Shape(op.shape(x))));
}

void import_transpose(OnnxOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.any_activation(0);
  const size_t rank = op.shape(x).size();
  const Permutation permutation = read_onnx_permutation(op, rank);
  check_permutation(permutation, rank);
  op.set_output(add_transpose(op.result(), x, permutation));
}

// Padding below 0 takes elements away; it is 0 afterwards.
int32_t add_cropped(OnnxOp& op, int32_t x, std::vector<int64_t>& pads) {
  const Shape whole = op.shape(x);
  const size_t rank = whole.size();
  Shape shape = whole;
  std::vector<int32_t> begin(rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t first = std::min<int64_t>(pads[i], 0), last = std::min<int64_t>(pads[rank + i], 0);
    if (first < -whole[i] || last < -whole[i] || whole[i] + first + last < 1)
      fail("its padding ", pads[i], " and ", pads[rank + i], " leaves nothing of an axis of ", whole[i]);
    begin[i] = static_cast<int32_t>(-first);
    shape[i] = static_cast<int32_t>(whole[i] + first + last);
    pads[i] -= first;
    pads[rank + i] -= last;
  }
  if (shape == whole) return x;
  return add_slice(op.part("/cropped"), x, begin, std::vector<int32_t>(rank, 1), shape);
}

void import_pad(OnnxOp& op) {
  op.check_inputs(op.opset() < 11 ? 1 : 2, op.opset() < 11 ? 1 : 4);
  const std::string mode = op.string("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    fail("mode ", quoted(mode), " is not known");
  int32_t x = op.activation(0);
  const size_t rank = op.shape(x).size();
  float value = 0.0f;
  std::vector<int64_t> pads = read_pads(op, rank, &value);
  x = add_cropped(op, x, pads);
  std::vector<int32_t> before, after;
  for (size_t i = 0; i < rank; ++i) {
    constexpr int64_t kMost = 1 << 20;
    for (const int64_t pad_of_axis : {pads[i], pads[rank + i]})
      if (pad_of_axis < 0 || pad_of_axis > kMost)
        fail("padding ", pad_of_axis, " is not allowed (0 to ", kMost, ")");
    before.push_back(static_cast<int32_t>(pads[i]));
    after.push_back(static_cast<int32_t>(pads[rank + i]));
  }
  const Shape shape = padded_shape(op.shape(x), before, after);
  if (shape == op.shape(x)) return op.set_output(x);
  if (mode != "constant")
    return op.set_output(add_mirror_pad(op.result(), x, before, after,
                                        mode == "reflect" ? Mirror::kReflect
                                        : mode == "edge"  ? Mirror::kEdge
                                                          : Mirror::kWrap));
  const int32_t y = op.new_tensor(shape);
  add_pad(op.origin(), x, before, after, y, value);
  op.set_output(y);
}

void import_constant(OnnxOp& op) {
  op.check_inputs(0, 0);
  if (const auto* tensor = op.tensor("value")) return op.set_constant(tensor);
  const auto shape_of = [](size_t count) { return Shape{narrow(static_cast<int64_t>(count), "size")}; };
  if (op.has("value_ints")) {
    const std::vector<int64_t> values = op.integers("value_ints");
    op.set_integers({shape_of(values.size()), values});
  } else if (op.has("value_int")) {
    op.set_integers({{}, {op.integer("value_int", 0)}});
  } else if (op.has("value_floats")) {
    const std::vector<float> values = op.reals("value_floats");
    op.set_floats({shape_of(values.size()), values});
  } else if (op.has("value_float")) {
    op.set_floats({{}, {op.real("value_float", 0.0f)}});
  } else {
    fail("its value is neither a tensor nor numbers, which is not supported");
  }
}

// From the attribute, or from input 1 since opset 13.
std::vector<int64_t> read_new_axes(OnnxOp& op) {
  op.check_inputs(1, 2);
  if (op.opset() < 13) return op.integers("axes");
  return op.has_input(1) ? op.integers(1).values : std::vector<int64_t>();
}

}  // namespace

Permutation read_onnx_permutation(OnnxOp& op, size_t rank) {
  Permutation permutation;
  for (const int64_t axis : op.integers("perm")) permutation.push_back(narrow(axis, "axis"));
  if (permutation.empty())
    for (size_t i = rank; i-- > 0;) permutation.push_back(static_cast<int32_t>(i));
  return permutation;
}

Shape squeezed_shape(OnnxOp& op, const Shape& from) {
  const std::vector<int64_t> given = read_new_axes(op);
  const std::vector<int32_t> axes = normal_axes(given, from.size());
  Shape shape;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool named = std::binary_search(axes.begin(), axes.end(), static_cast<int32_t>(i));
    if (named && from[i] != 1) fail("it squeezes axis ", i, " of ", shape_text(from), ", which is not 1");
    if (!named && !(given.empty() && from[i] == 1)) shape.push_back(from[i]);
  }
  return shape;
}

Shape unsqueezed_shape(OnnxOp& op, const Shape& from) {
  constexpr size_t kMostAxes = 16;  // of constants
  const std::vector<int64_t> given = read_new_axes(op);
  if (from.size() + given.size() > kMostAxes) fail("it has ", given.size(), " axes");
  const std::vector<int32_t> axes = normal_axes(given, from.size() + given.size());
  if (axes.size() != given.size()) fail("it names an axis twice");
  Shape shape = from;
  for (const int32_t axis : axes) shape.insert(shape.begin() + axis, 1);
  return shape;
}

Shape flattened_shape(OnnxOp& op, const Shape& from) {
  op.check_inputs(1, 1);
  const int64_t axis = op.integer("axis", 1);
  const bool all = axis == static_cast<int64_t>(from.size());
  const auto cut = all ? from.end() : from.begin() + normal_axis(axis, from.size());
  return {static_cast<int32_t>(elements({from.begin(), cut})),
          static_cast<int32_t>(elements({cut, from.end()}))};
}

int32_t add_zeros_around(OnnxOp& op, int32_t x, const std::vector<int32_t>& before,
                         const std::vector<int32_t>& after) {
  const int32_t y = op.new_tensor_like(x, padded_shape(op.shape(x), before, after));
  add_pad(op.origin(), x, before, after, y);
  return y;
}

// ONNX operators that give what they say of a shape as a constant.

namespace {

Shape shape_of(OnnxOp& op) {
  op.check_inputs(1, 1);
  return op.is_constant(0) ? folded_input(op, 0).shape : op.shape(op.any_activation(0));
}

void import_shape_values(OnnxOp& op) {
  const Shape shape = shape_of(op);
  const auto rank = static_cast<int64_t>(shape.size());
  const auto place = [&](const char* name, int64_t otherwise) {
    const int64_t at = op.integer(name, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  OnnxConstant<int64_t> dims;
  for (int64_t i = place("start", 0); i < place("end", rank); ++i)
    dims.values.push_back(shape[static_cast<size_t>(i)]);
  dims.shape = {static_cast<int32_t>(dims.values.size())};
  op.set_integers(dims);
}

void import_size(OnnxOp& op) { op.set_integers({{}, {elements(shape_of(op))}}); }

void import_eye_like(OnnxOp& op) {
  const Shape shape = shape_of(op);
  check_rank(shape, 2);
  check_folded_size(shape);
  const int64_t k = op.integer("k", 0);
  const bool takes_reals = op.is_constant(0) ? op.is_constant_of_reals(0) : !op.is_integer(0);
  const int64_t type = op.integer("dtype", 0);
  Values y{shape, type == 0 ? takes_reals : is_onnx_real(type), {}, {}};
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j) y.integers.push_back(j - i == k ? 1 : 0);
  if (y.is_real) {
    y.reals.assign(y.integers.begin(), y.integers.end());
    y.integers.clear();
  }
  set_folded(op, y);
}

constexpr OnnxOperator kOnnxShapeOperators[] = {
    {"Constant", import_constant, {}, "A tensor or numbers."},
    {"EyeLike", import_eye_like, {}, "It becomes a constant."},
    {"Flatten", import_shape<flattened_shape>, {Op::kReshape}, ""},
    {"Pad", import_pad, {Op::kPad, Op::kGather, Op::kStridedSlice}, "Pads are constants."},
    {"Reshape", import_reshape, {Op::kReshape}, "The shape is a constant."},
    {"Shape", import_shape_values, {}, "It becomes a constant."},
    {"Size", import_size, {}, "It becomes a constant."},
    {"Squeeze", import_shape<squeezed_shape>, {Op::kReshape}, "Axes are constants."},
    {"Transpose", import_transpose, {Op::kTranspose}, ""},
    {"Unsqueeze", import_shape<unsqueezed_shape>, {Op::kReshape}, "Axes are constants."},
};

}  // namespace

Span<const OnnxOperator> onnx_shape_operators() { return kOnnxShapeOperators; }

}  // namespace intaglio::importers

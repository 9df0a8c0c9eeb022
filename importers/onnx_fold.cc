// Operators of constants alone: what exporters write around shapes, and weights that a file reshapes. They
// are computed here and leave no node.
#include <algorithm>
#include <cmath>

#include "importers/onnx_handlers.h"

namespace intaglio::importers {
namespace {

constexpr int64_t kMaxFolded = int64_t{1} << 24;  // elements of a result

// Of integers or of reals, as the file has it.
struct Values {
  Shape shape;  // empty: one value
  bool is_real = false;
  std::vector<int64_t> integers;
  std::vector<float> reals;
};

Values read(OnnxOp& op, int input) {
  Values values;
  values.is_real = op.is_constant_of(input, onnx_file::TensorProto::FLOAT) ||
                   op.is_constant_of(input, onnx_file::TensorProto::DOUBLE);
  if (values.is_real) {
    auto constant = op.floats(input);
    values.shape = std::move(constant.shape);
    values.reals = std::move(constant.values);
  } else {
    auto constant = op.integers(input);
    values.shape = std::move(constant.shape);
    values.integers = std::move(constant.values);
  }
  return values;
}

void set(OnnxOp& op, const Values& values) {
  if (values.is_real) return op.set_floats({values.shape, values.reals});
  op.set_integers({values.shape, values.integers});
}

void check_size(const Shape& shape) {
  int64_t count = 1;
  for (const int32_t dim : shape) {
    if (dim < 0 || (dim > 0 && count > kMaxFolded / dim)) fail("its constant result is too large");
    count *= dim;
  }
}

// The elements `from` of x, as another shape.
Values taken(const Values& x, const Shape& shape, const std::vector<size_t>& from) {
  Values y;
  y.shape = shape;
  y.is_real = x.is_real;
  for (const size_t i : from) x.is_real ? y.reals.push_back(x.reals[i]) : y.integers.push_back(x.integers[i]);
  return y;
}

std::vector<size_t> row_major_steps(const Shape& shape) {
  std::vector<size_t> steps(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) steps[i - 1] = steps[i] * static_cast<size_t>(shape[i]);
  return steps;
}

// Calls body(coordinates) for each element of the shape, in order.
template <typename Body>
void for_each(const Shape& shape, Body body) {
  const int64_t count = elements(shape);
  Shape at(shape.size(), 0);
  for (int64_t n = 0; n < count; ++n) {
    body(at);
    for (size_t i = shape.size(); i-- > 0;) {
      if (++at[i] < shape[i]) break;
      at[i] = 0;
    }
  }
}

void fold_gather(OnnxOp& op) {
  op.check_inputs(2, 2);
  const Values x = read(op, 0);
  const OnnxConstant<int64_t> indices = op.integers(1);
  const auto axis = static_cast<size_t>(normal_axis(op.integer("axis", 0), x.shape.size()));
  const auto cut = static_cast<std::ptrdiff_t>(axis);
  Shape shape(x.shape.begin(), x.shape.begin() + cut);
  const auto outer = static_cast<size_t>(elements(shape));
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  const Shape rest(x.shape.begin() + cut + 1, x.shape.end());
  shape.insert(shape.end(), rest.begin(), rest.end());
  check_size(shape);
  const auto piece = static_cast<size_t>(elements(rest));
  const int32_t dim = x.shape[axis];
  std::vector<size_t> from;
  for (size_t o = 0; o < outer; ++o) {
    for (const int64_t index : indices.values) {
      if (index < -dim || index >= dim) fail("its index ", index, " does not exist");
      const auto row = o * static_cast<size_t>(dim) + static_cast<size_t>(index < 0 ? index + dim : index);
      for (size_t i = 0; i < piece; ++i) from.push_back(row * piece + i);
    }
  }
  set(op, taken(x, shape, from));
}

void fold_slice(OnnxOp& op) {
  const Values x = read(op, 0);
  const OnnxSlice slice = read_onnx_slice(op, x.shape);
  const auto steps = row_major_steps(x.shape);
  std::vector<size_t> from;
  for_each(slice.shape, [&](const Shape& at) {
    size_t i = 0;
    for (size_t d = 0; d < at.size(); ++d)
      i += static_cast<size_t>(slice.begin[d] + at[d] * slice.strides[d]) * steps[d];
    from.push_back(i);
  });
  set(op, taken(x, slice.shape, from));
}

void fold_concat(OnnxOp& op) {
  const Values first = read(op, 0);
  const auto axis = static_cast<size_t>(normal_axis(op.integer("axis", 1), first.shape.size()));
  const Shape front(first.shape.begin(), first.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const auto outer = static_cast<size_t>(elements(front));
  Values y{first.shape, first.is_real, {}, {}};
  y.shape[axis] = 0;
  std::vector<Values> parts;
  for (int i = 0; i < op.input_count(); ++i) {
    parts.push_back(read(op, i));
    Shape other = parts.back().shape;
    if (other.size() != y.shape.size() || parts.back().is_real != y.is_real) fail("its inputs do not fit");
    y.shape[axis] = narrow(int64_t{y.shape[axis]} + other[axis], "dimension");
    other[axis] = y.shape[axis];
    if (other != y.shape) fail("its inputs do not fit along axis ", axis);
  }
  check_size(y.shape);
  const auto append = [&](auto& to, const auto& part, size_t o) {
    const auto piece = static_cast<std::ptrdiff_t>(part.size() / outer);
    const auto begin = part.begin() + static_cast<std::ptrdiff_t>(o) * piece;
    to.insert(to.end(), begin, begin + piece);
  };
  for (size_t o = 0; o < outer; ++o)
    for (const Values& part : parts)
      y.is_real ? append(y.reals, part.reals, o) : append(y.integers, part.integers, o);
  set(op, y);
}

void fold_transpose(OnnxOp& op) {
  op.check_inputs(1, 1);
  const Values x = read(op, 0);
  const size_t rank = x.shape.size();
  Permutation permutation;
  for (const int64_t axis : op.integers("perm")) permutation.push_back(narrow(axis, "axis"));
  if (permutation.empty())
    for (size_t i = rank; i-- > 0;) permutation.push_back(static_cast<int32_t>(i));
  check_permutation(permutation, rank);
  const Shape shape = permuted(x.shape, permutation);
  const auto steps = row_major_steps(x.shape);
  std::vector<size_t> from;
  for_each(shape, [&](const Shape& at) {
    size_t i = 0;
    for (size_t d = 0; d < rank; ++d)
      i += static_cast<size_t>(at[d]) * steps[static_cast<size_t>(permutation[d])];
    from.push_back(i);
  });
  set(op, taken(x, shape, from));
}

template <typename T>
T combine(const std::string& source, T a, T b) {
  if (source == "Add") return a + b;
  if (source == "Sub") return a - b;
  if (source == "Mul") return a * b;
  if (b == T{0}) fail("it divides by 0");
  return a / b;
}

// 64-bit integers may overflow: computed in a wider type, and refused.
int64_t combine_integers(const std::string& source, int64_t a, int64_t b) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  if (std::max({a, b}) > kLimit || std::min({a, b}) < -kLimit)
    fail("its numbers ", a, " and ", b, " are too large");
  return combine(source, a, b);
}

void fold_binary(OnnxOp& op) {
  op.check_inputs(2, 2);
  const Values a = read(op, 0), b = read(op, 1);
  if (a.is_real != b.is_real) fail("its inputs have different element types");
  const size_t rank = std::max(a.shape.size(), b.shape.size());
  const auto aligned = [&](const Values& x) {
    Shape shape = x.shape;
    shape.insert(shape.begin(), rank - shape.size(), 1);
    return shape;
  };
  const Shape p = aligned(a), q = aligned(b);
  Values y{p, a.is_real, {}, {}};
  for (size_t i = 0; i < rank; ++i) {
    if (p[i] != q[i] && p[i] != 1 && q[i] != 1) fail("its inputs do not fit each other");
    if (p[i] == 1) y.shape[i] = q[i];
  }
  check_size(y.shape);
  const auto p_steps = row_major_steps(p), q_steps = row_major_steps(q);
  for_each(y.shape, [&](const Shape& at) {
    size_t i = 0, j = 0;
    for (size_t d = 0; d < rank; ++d) {
      if (p[d] != 1) i += static_cast<size_t>(at[d]) * p_steps[d];
      if (q[d] != 1) j += static_cast<size_t>(at[d]) * q_steps[d];
    }
    if (y.is_real)
      y.reals.push_back(combine(op.source(), a.reals[i], b.reals[j]));
    else
      y.integers.push_back(combine_integers(op.source(), a.integers[i], b.integers[j]));
  });
  set(op, y);
}

void fold_cast(OnnxOp& op) {
  op.check_inputs(1, 1);
  Values x = read(op, 0);
  const int64_t to = op.integer("to", 0);
  op.ignore("saturate");
  using Type = onnx_file::TensorProto;
  const bool to_real = to == Type::FLOAT || to == Type::DOUBLE;
  if (!to_real && to != Type::INT64 && to != Type::INT32) fail("it casts a constant to element type ", to);
  if (to_real && !x.is_real) x.reals.assign(x.integers.begin(), x.integers.end());
  if (!to_real && x.is_real) {
    for (const float v : x.reals) {
      if (!(std::fabs(v) <= 9.0e18f)) fail("it casts ", v, " to an integer");
      x.integers.push_back(static_cast<int64_t>(v));
    }
  }
  x.is_real = to_real;
  set(op, x);
}

void fold_round(OnnxOp& op) {
  op.check_inputs(1, 1);
  Values x = read(op, 0);
  for (float& v : x.reals) v = op.source() == "Floor" ? std::floor(v) : std::ceil(v);
  set(op, x);
}

// Another shape of the same elements: Reshape, Squeeze, Unsqueeze, Flatten and Identity.
void fold_reshape(OnnxOp& op) {
  op.check_inputs(1, 2);
  Values x = read(op, 0);
  const Shape from = x.shape;
  const std::string& source = op.source();
  std::vector<int64_t> list = op.has_input(1) ? op.integers(1).values : op.integers("axes");
  if (source == "Reshape") {
    const bool zero_copies = op.integer("allowzero", 0) == 0;
    x.shape.clear();
    const int64_t count = elements(from);
    int64_t known = 1;
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i] == 0 && zero_copies && i >= from.size()) fail("it copies a dimension that is not there");
      if (list[i] == 0 && zero_copies) list[i] = from[i];
      if (list[i] > 0) known *= list[i];
      if (list[i] < -1 || known > kMaxFolded) fail("its target shape has the dimension ", list[i]);
    }
    for (const int64_t dim : list)
      x.shape.push_back(static_cast<int32_t>(dim >= 0 ? dim : count / std::max<int64_t>(known, 1)));
    if (elements(x.shape) != count) fail("its target shape does not fit ", shape_text(from));
  } else if (source == "Unsqueeze") {
    const size_t rank = from.size() + list.size();
    if (rank > 16) fail("it has ", list.size(), " axes");
    const auto axes = normal_axes(list, rank);
    if (axes.size() != list.size()) fail("it names an axis twice");
    for (const int32_t axis : axes) x.shape.insert(x.shape.begin() + axis, 1);
  } else if (source == "Squeeze") {
    const auto axes = normal_axes(list, from.size());
    x.shape.clear();
    for (size_t i = 0; i < from.size(); ++i) {
      const bool named = std::binary_search(axes.begin(), axes.end(), static_cast<int32_t>(i));
      if (named && from[i] != 1) fail("it squeezes an axis of ", from[i]);
      if (!named && !(list.empty() && from[i] == 1)) x.shape.push_back(from[i]);
    }
  }
  set(op, x);
}

struct Entry {
  const char* source;
  void (*fold)(OnnxOp& op);
};

constexpr Entry kFolds[] = {
    {"Add", fold_binary},      {"Cast", fold_cast},           {"Ceil", fold_round},
    {"Concat", fold_concat},   {"Div", fold_binary},          {"Floor", fold_round},
    {"Gather", fold_gather},   {"Identity", fold_reshape},    {"Mul", fold_binary},
    {"Reshape", fold_reshape}, {"Slice", fold_slice},         {"Squeeze", fold_reshape},
    {"Sub", fold_binary},      {"Transpose", fold_transpose}, {"Unsqueeze", fold_reshape},
};

}  // namespace

bool fold_onnx_constants(OnnxOp& op) {
  for (const Entry& entry : kFolds) {
    if (op.source() != entry.source || op.input_count() == 0 || !op.has_input(0) || !op.all_constant())
      continue;
    entry.fold(op);
    op.check_all_read();
    return true;
  }
  return false;
}

void import_onnx_shape(OnnxOp& op) {
  op.check_inputs(1, 1);
  const Shape shape = op.is_constant(0) ? read(op, 0).shape : op.draft().tensor(op.activation(0)).shape;
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

}  // namespace intaglio::importers

#include "importers/draft/matrix_product.h"

#include <algorithm>

namespace intaglio::importers {
namespace {

Permutation swap_of_last(size_t rank) {
  Permutation order;
  for (size_t i = 0; i < rank; ++i) order.push_back(static_cast<int32_t>(i));
  std::swap(order[rank - 2], order[rank - 1]);
  return order;
}

// One matrix, whatever axes of 1 stand before it.
bool is_one_matrix(const Shape& shape) {
  return elements(shape) == int64_t{shape[shape.size() - 2]} * shape.back();
}

int32_t reshaped(const Origin& at, int32_t x, const Shape& shape) {
  if (!at.draft.tensor(x).constant) return add_reshape(at, x, shape);
  return add_constant_bytes(at.draft, at.draft.tensor(x).name, DType::kF32, shape, at.draft.tensor(x).data);
}

// Weights [n, k] that serve every row of x.
int32_t add_layer(const Origin& at, int32_t x, int32_t weights) {
  const Shape w = at.draft.tensor(weights).shape;
  const int32_t n = w[w.size() - 2], k = w.back();
  Shape shape = at.draft.tensor(x).shape;
  const int32_t flat_weights = reshaped(at, weights, {n, k});
  const auto rows = static_cast<int32_t>(elements(shape) / k);
  const int32_t bias = add_constant(at.draft, at.draft.tensor(weights).name + "/bias", DType::kF32, {n},
                                    std::vector<float>(static_cast<size_t>(n), 0.0f));
  const int32_t flat = add_reshape(at.part("/flat"), x, {rows, k});
  const int32_t y = add_activation(at.draft, at.name, DType::kF32, {rows, n});
  add_node(at, Op::kFullyConnected, {flat, flat_weights, bias}, y);
  shape.back() = n;
  return add_reshape(at, y, shape);
}

// The result's shape.
Shape product_shape(const Shape& a, const Shape& b, bool transpose_b) {
  const auto misfit = [&] {
    fail("its inputs have the shapes ", shape_text(a), " and ", shape_text(b),
         transpose_b ? ", the second transposed" : "", ", which do not fit each other");
  };
  const size_t rank = std::max(a.size(), b.size());
  const int32_t depth = b[b.size() - (transpose_b ? 1 : 2)];
  if (depth != a.back()) misfit();
  Shape y(rank, 1);
  for (size_t i = 2; i < rank; ++i) {
    const int32_t p = i < a.size() ? a[a.size() - 1 - i] : 1, q = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (p != q && p != 1 && q != 1) misfit();
    y[rank - 1 - i] = p == 1 ? q : p;
  }
  y[rank - 2] = a[a.size() - 2];
  y[rank - 1] = b[b.size() - (transpose_b ? 2 : 1)];
  return y;
}

}  // namespace

int32_t add_swapped(const Origin& at, int32_t x) {
  const Permutation order = swap_of_last(at.draft.tensor(x).shape.size());
  return at.draft.tensor(x).constant ? add_permuted_constant(at.draft, x, order)
                                     : add_transpose(at, x, order);
}

int32_t add_copied_constant(const Origin& at, int32_t constant) {
  const int32_t copy = add_activation(at.draft, at.name, DType::kF32, at.draft.tensor(constant).shape);
  add_node(at, Op::kReshape, {constant}, copy);
  return copy;
}

int32_t add_matrix_product(const Origin& at, int32_t a, int32_t b, bool transpose_b) {
  const Shape a_shape = at.draft.tensor(a).shape, b_shape = at.draft.tensor(b).shape;
  for (const Shape& shape : {a_shape, b_shape})
    if (shape.size() < 2) fail("its input has the shape ", shape_text(shape), "; rank 2 or more is expected");
  const Shape y_shape = product_shape(a_shape, b_shape, transpose_b);
  check_shape(y_shape, DType::kF32);
  if (at.draft.tensor(a).constant && at.draft.tensor(b).constant)
    a = add_copied_constant(at.part("/copy"), a);
  const bool a_constant = at.draft.tensor(a).constant, b_constant = at.draft.tensor(b).constant;
  if (b_constant && is_one_matrix(b_shape)) {
    const int32_t weights = transpose_b ? b : add_swapped(at, b);
    return reshaped(at, add_layer(at, a, weights), y_shape);
  }
  // W x is the transposed of x' W'.
  if (a_constant && is_one_matrix(a_shape)) {
    const int32_t rows = transpose_b ? b : add_swapped(at.part("/rows"), b);
    const int32_t product = add_layer(at.part("/product"), rows, a);
    return reshaped(at, add_swapped(at, product), y_shape);
  }
  const int32_t y = add_activation(at.draft, at.name, DType::kF32, y_shape);
  add_node(at, Op::kBatchMatMul, {a, b}, y).options.as<BatchMatMulOptions>().transpose_b = transpose_b;
  return y;
}

namespace {

// An operand of an Einsum with its axes in the order of `wanted`, and then of one size each group.
int32_t arranged(const Origin& at, int32_t x, const std::string& axes, const std::string& wanted,
                 const Shape& shape) {
  Permutation order;
  for (const char axis : wanted) order.push_back(static_cast<int32_t>(axes.find(axis)));
  const int32_t turned =
      at.draft.tensor(x).constant ? add_permuted_constant(at.draft, x, order) : add_transpose(at, x, order);
  return reshaped(at, turned, shape);
}

struct Equation {
  std::string a, b, y;
};

Equation read_equation(const std::string& text, size_t a_rank, size_t b_rank) {
  std::string plain;
  std::copy_if(text.begin(), text.end(), std::back_inserter(plain), [](char c) { return c != ' '; });
  const size_t comma = plain.find(','), arrow = plain.find("->");
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  Equation e{plain.substr(0, comma), "", ""};
  if (comma != std::string::npos)
    e.b = plain.substr(comma + 1, arrow == std::string::npos ? arrow : arrow - comma - 1);
  if (arrow != std::string::npos) {
    e.y = plain.substr(arrow + 2);
  } else {  // the letters that stand once, in their order
    const std::string both = e.a + e.b;
    for (const char c : both)
      if (std::count(both.begin(), both.end(), c) == 1) e.y += c;
    std::sort(e.y.begin(), e.y.end());
  }
  for (const std::string* const axes : {&e.a, &e.b, &e.y}) {
    if (!std::all_of(axes->begin(), axes->end(), is_letter))
      fail("the equation ", quoted(text),
           " is not supported; letters are axes, and two operands are expected");
    for (const char c : *axes)
      if (std::count(axes->begin(), axes->end(), c) != 1)
        fail("the equation ", quoted(text), " is not supported: it takes a diagonal, ", c, " stands twice");
  }
  if (e.a.size() != a_rank || e.b.size() != b_rank)
    fail("the equation ", quoted(text), " does not fit inputs of rank ", a_rank, " and ", b_rank);
  for (const char c : e.y)
    if ((e.a + e.b).find(c) == std::string::npos)
      fail("the equation ", quoted(text), " has an axis ", c, " that no input has");
  for (const char c : e.a + e.b)
    if (e.y.find(c) == std::string::npos &&
        (e.a.find(c) == std::string::npos) != (e.b.find(c) == std::string::npos))
      fail("the equation ", quoted(text), " is not supported: it sums one operand alone, over ", c);
  return e;
}

}  // namespace

int32_t add_einsum(const Origin& at, const std::string& equation, int32_t a, int32_t b) {
  const Shape a_shape = at.draft.tensor(a).shape, b_shape = at.draft.tensor(b).shape;
  const Equation e = read_equation(equation, a_shape.size(), b_shape.size());
  const auto dim = [&](char c, const std::string& axes, const Shape& shape) {
    const size_t i = axes.find(c);
    return i == std::string::npos ? 1 : shape[i];
  };
  // Axes by what they are to the product; a size of 1 repeats, but where it is summed it must fit.
  std::string batch, rows, columns, summed;
  for (const char c : e.y) {
    const bool of_a = e.a.find(c) != std::string::npos, of_b = e.b.find(c) != std::string::npos;
    (of_a && of_b ? batch : of_a ? rows : columns) += c;
  }
  for (const char c : e.a)
    if (e.y.find(c) == std::string::npos) summed += c;
  const auto size = [&](const std::string& some, const std::string& axes, const Shape& shape) {
    int64_t count = 1;
    for (const char c : some) count *= dim(c, axes, shape);
    return static_cast<int32_t>(count);
  };
  for (const char c : batch + summed)
    if (dim(c, e.a, a_shape) != dim(c, e.b, b_shape))
      fail("the equation ", quoted(equation), " gives axis ", c, " the sizes ", dim(c, e.a, a_shape), " and ",
           dim(c, e.b, b_shape));
  const int32_t batches = size(batch, e.a, a_shape), k = size(summed, e.a, a_shape);
  const int32_t m = size(rows, e.a, a_shape), n = size(columns, e.b, b_shape);
  const int32_t left = arranged(at.part("/left"), a, e.a, batch + rows + summed, {batches, m, k});
  const int32_t right = arranged(at.part("/right"), b, e.b, batch + columns + summed, {batches, n, k});
  const int32_t product = add_matrix_product(at.part("/product"), left, right, true);
  // Back from [batch, rows, columns] to the order of the equation.
  const std::string made = batch + rows + columns;
  Shape shape;
  for (const char c : made) shape.push_back(std::max(dim(c, e.a, a_shape), dim(c, e.b, b_shape)));
  Permutation order;
  for (const char c : e.y) order.push_back(static_cast<int32_t>(made.find(c)));
  if (shape.empty()) return add_reshape(at, product, {1});
  return add_transpose(at, add_reshape(at, product, shape), order);
}

int32_t add_cumulative_sum(const Origin& at, int32_t x, int32_t axis, bool exclusive, bool reverse) {
  constexpr int32_t kMost = 4096;
  const Shape shape = at.draft.tensor(x).shape;
  const int32_t n = shape[static_cast<size_t>(axis)];
  if (n > kMost) fail("it sums ", n, " elements; at most ", kMost, " are supported");
  at.draft.budget->check_numbers(int64_t{n} * n);
  std::vector<float> triangle(static_cast<size_t>(n) * static_cast<size_t>(n), 0.0f);
  for (int32_t i = 0; i < n; ++i)
    for (int32_t j = 0; j < n; ++j) {
      const bool is_summed = (reverse ? j >= i : j <= i) && !(exclusive && i == j);
      triangle[static_cast<size_t>(i) * static_cast<size_t>(n) + static_cast<size_t>(j)] =
          is_summed ? 1.0f : 0.0f;
    }
  Permutation to_last;
  for (int32_t i = 0; i < static_cast<int32_t>(shape.size()); ++i)
    if (i != axis) to_last.push_back(i);
  to_last.push_back(axis);
  const int32_t rows = add_transpose(at.part("/last"), x, to_last);
  const int32_t weights = add_constant(at.draft, at.name + "/triangle", DType::kF32, {n, n}, triangle);
  const int32_t flat = add_reshape(at.part("/rows"), rows, {static_cast<int32_t>(elements(shape) / n), n});
  const int32_t sums = add_matrix_product(at.part("/sums"), flat, weights, true);
  const int32_t shaped = add_reshape(at.part("/shaped"), sums, permuted(shape, to_last));
  return add_transpose(at, shaped, inverse(to_last));
}

}  // namespace intaglio::importers

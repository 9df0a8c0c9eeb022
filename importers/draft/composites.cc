#include "importers/draft/composites.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "importers/draft/file_operator.h"
#include "importers/draft/geometry.h"

namespace intaglio::importers {

namespace {

constexpr int32_t kMaxPoolWindow = 4096;  // the runtime's
constexpr size_t kMostJoined = 64;        // by one Concat: the model format's own limit
constexpr int32_t kFewIndices = 4096;     // which every node of a file may have

// Index into an axis of `dim` of the element at `i`, below 0 or beyond the end.
int32_t mirrored(int32_t i, int32_t dim, Mirror mirror) {
  if (mirror == Mirror::kEdge) return std::clamp(i, 0, dim - 1);
  if (mirror == Mirror::kWrap) return (i % dim + dim) % dim;
  const int32_t border = mirror == Mirror::kSymmetric ? 1 : 0;
  if (i < 0) return -i - border;
  return i < dim ? i : 2 * dim - 2 - i + border;
}

void check_picture(const Draft& draft, int32_t x) {
  const Shape& shape = draft.tensor(x).shape;
  if (shape.size() != 4) fail("its input has the shape ", shape_text(shape), "; only pictures are supported");
}

}  // namespace

Shape align_operands(const Origin& at, std::vector<int32_t>& operands) {
  Shape shape{1};
  for (const int32_t operand : operands) shape = broadcast_shape(shape, at.draft.tensor(operand).shape);
  for (int32_t& operand : operands) {
    const Shape own = with_rank(at.draft.tensor(operand).shape, shape.size());
    if (at.draft.tensor(operand).constant)
      at.draft.tensor(operand).shape = own;
    else
      operand = add_reshape(at.part("/aligned"), operand, own);
  }
  return shape;
}

int32_t add_normalize(const Origin& at, int32_t x, const NormalizeOptions& options,
                      const std::vector<float>& scale, const std::vector<float>& shift) {
  const Shape shape = at.draft.tensor(x).shape, channels{shape.back()};
  const int32_t factors = add_constant(at.draft, at.name + "/scale", DType::kF32, channels, scale),
                summands = add_constant(at.draft, at.name + "/shift", DType::kF32, channels, shift);
  const int32_t y = add_activation(at.draft, at.name, DType::kF32, shape);
  add_node(at, Op::kNormalize, {x, factors, summands}, y).options.as<NormalizeOptions>() = options;
  return y;
}

int32_t add_channel_constant(Draft& draft, const std::string& name, int32_t channels, float value) {
  return add_constant(draft, name, DType::kF32, {channels},
                      std::vector<float>(static_cast<size_t>(channels), value));
}

std::vector<int32_t> joined_in_groups(const Origin& at, std::vector<int32_t> parts, int32_t axis) {
  while (parts.size() > kMostJoined) {
    std::vector<int32_t> groups;
    for (size_t begin = 0; begin < parts.size(); begin += kMostJoined) {
      const size_t end = std::min(begin + kMostJoined, parts.size());
      const std::vector<int32_t> group(parts.begin() + static_cast<std::ptrdiff_t>(begin),
                                       parts.begin() + static_cast<std::ptrdiff_t>(end));
      Shape shape = at.draft.tensor(group[0]).shape;
      int64_t length = 0;
      for (const int32_t part : group) length += at.draft.tensor(part).shape[static_cast<size_t>(axis)];
      shape[static_cast<size_t>(axis)] = narrow(length, "size");
      check_shape(shape, at.draft.tensor(group[0]).dtype);
      groups.push_back(add_activation_like(at.draft, at.name + "/joined", group[0], shape));
      add_node(at, Op::kConcat, group, groups.back()).options.as<ConcatOptions>().axis = axis;
    }
    parts = std::move(groups);
  }
  return parts;
}

int32_t add_gather(const Origin& at, int32_t x, int32_t axis, const std::vector<int32_t>& indices) {
  const auto count = static_cast<int32_t>(indices.size());
  if (count > kFewIndices) at.draft.budget->check_numbers(count);
  Shape shape = at.draft.tensor(x).shape;
  shape[static_cast<size_t>(axis)] = count;
  const int32_t list = add_constant(at.draft, at.name + "/indices", DType::kS32, {count}, indices);
  const int32_t y = add_activation_like(at.draft, at.name, x, shape);
  add_node(at, Op::kGather, {x, list}, y).options.as<GatherOptions>().axis = axis;
  return y;
}

int32_t add_gather_by(const Origin& at, int32_t x, int32_t axis, int32_t indices) {
  const Shape from = at.draft.tensor(x).shape, of_indices = at.draft.tensor(indices).shape;
  const auto count = static_cast<int32_t>(elements(of_indices));
  Shape rows = from;
  rows[static_cast<size_t>(axis)] = count;
  const int32_t flat = add_reshape(at.part("/indices"), indices, {count});
  const int32_t y = add_activation_like(at.draft, at.name, x, rows);
  add_node(at, Op::kGather, {x, flat}, y).options.as<GatherOptions>().axis = axis;
  const Shape out = gathered_shape(from, axis, of_indices);
  check_shape(out, at.draft.tensor(x).dtype);
  return add_reshape(at, y, out);
}

int32_t add_top_k(const Origin& at, int32_t x, const TopKOptions& options, int32_t k) {
  Shape shape = at.draft.tensor(x).shape;
  int32_t& dim = shape[static_cast<size_t>(options.axis)];
  if (k < 1 || k > dim) fail("it takes ", k, " elements of an axis of ", dim);
  dim = k;
  const int32_t y = add_activation(at.draft, at.name, DType::kS32, shape);
  add_node(at, Op::kTopK, {x}, y).options.as<TopKOptions>() = options;
  return y;
}

int32_t add_index_of_greatest(const Origin& at, int32_t x, const TopKOptions& options, bool keep) {
  const int32_t first = add_top_k(at, x, options, 1);
  Shape shape = at.draft.tensor(first).shape;
  if (!keep) shape.erase(shape.begin() + options.axis);
  if (shape.empty()) shape.push_back(1);
  return add_reshape(at, first, shape);
}

int32_t add_mirror_pad(const Origin& at, int32_t x, const std::vector<int32_t>& before,
                       const std::vector<int32_t>& after, Mirror mirror) {
  for (size_t d = 0; d < before.size(); ++d) {
    const int32_t dim = at.draft.tensor(x).shape[d];
    if (before[d] == 0 && after[d] == 0) continue;
    const bool has_no_end = mirror == Mirror::kEdge || mirror == Mirror::kWrap;
    const int32_t most = has_no_end ? INT32_MAX : mirror == Mirror::kSymmetric ? dim : dim - 1;
    if (before[d] > most || after[d] > most)
      fail("padding ", std::max(before[d], after[d]), " mirrors more than an axis of ", dim, " has");
    Shape shape = at.draft.tensor(x).shape;
    shape[d] += before[d] + after[d];
    check_shape(shape, at.draft.tensor(x).dtype);
    std::vector<int32_t> indices;
    for (int32_t i = -before[d]; i < dim + after[d]; ++i) indices.push_back(mirrored(i, dim, mirror));
    x = add_gather(at, x, static_cast<int32_t>(d), indices);
  }
  return x;
}

// More elements along an axis than a window has: the maxima of one window after another.
static int32_t add_partial_maximum(const Origin& at, int32_t x, size_t axis, Shape& shape) {
  const int32_t size = shape[axis], windows = (size - 1) / kMaxPoolWindow + 1;
  shape[axis] = windows;
  const int32_t most = add_activation_like(at.draft, at.name + "/parts", x, shape);
  Window2d& pool = add_node(at, Op::kMaxPool2d, {x}, most).options.as<Window2d>();
  (axis == 1 ? pool.kernel_h : pool.kernel_w) = (axis == 1 ? pool.stride_h : pool.stride_w) = kMaxPoolWindow;
  (axis == 1 ? pool.pad_bottom : pool.pad_right) =
      static_cast<int32_t>(int64_t{windows} * kMaxPoolWindow - size);
  return most;
}

int32_t add_maximum_over(const Origin& at, int32_t x, const std::vector<int32_t>& axes, const Shape& shape) {
  const Shape from = at.draft.tensor(x).shape;
  // Axes of size 1 aside: what lies before, the first reduced axis, the others, what lies behind.
  const auto window_of = [&](const Permutation& order, Shape& window) {
    size_t place = 0;
    for (const int32_t d : order) {
      const int32_t dim = from[static_cast<size_t>(d)];
      if (dim == 1) continue;
      const bool is_reduced = std::binary_search(axes.begin(), axes.end(), d);
      if (is_reduced && place == 3) return false;
      if (is_reduced) place = place == 0 ? 1 : 2;
      if (!is_reduced && place > 0) place = 3;
      window[place] *= dim;
    }
    return true;
  };
  Permutation order;
  for (size_t d = 0; d < from.size(); ++d) order.push_back(static_cast<int32_t>(d));
  Shape window{1, 1, 1, 1};
  if (!window_of(order, window)) {  // they do not lie side by side: the reduced ones behind the others
    std::stable_partition(order.begin(), order.end(),
                          [&](int32_t d) { return !std::binary_search(axes.begin(), axes.end(), d); });
    window = {1, 1, 1, 1};
    window_of(order, window);
    x = add_transpose(at.part("/last"), x, order);
  }
  int32_t picture = add_reshape(at.part("/picture"), x, window);
  for (const size_t axis : {size_t{1}, size_t{2}})
    while (window[axis] > kMaxPoolWindow) picture = add_partial_maximum(at, picture, axis, window);
  const int32_t most = add_activation_like(at.draft, at.name, x, {window[0], 1, 1, window[3]});
  Window2d& pool = add_node(at, Op::kMaxPool2d, {picture}, most).options.as<Window2d>();
  pool.kernel_h = window[1];
  pool.kernel_w = window[2];
  return add_reshape(at, most, shape);
}

void add_log_softmax(const Origin& at, int32_t x, int32_t y) {
  const Shape shape = at.draft.tensor(x).shape;
  const auto last = static_cast<int32_t>(shape.size()) - 1;
  Shape one = shape;
  one.back() = 1;
  const auto add = [&](Op kind, std::vector<int32_t> inputs, const Shape& result) -> DraftNode& {
    return add_node(at, kind, std::move(inputs), add_activation_like(at.draft, at.name, x, result));
  };
  const int32_t most = add_maximum_over(at.part("/max"), x, {last}, one);
  const int32_t below = add(Op::kSub, {x, most}, shape).output();
  DraftNode& mean = add(Op::kMean, {add(Op::kExp, {below}, shape).output()}, one);
  mean.options.as<ReduceOptions>().axes = at.draft.list({last});
  const int32_t count = add_constant(at.draft, at.name + "/count", DType::kF32, Shape(shape.size(), 1),
                                     std::vector<float>{static_cast<float>(shape.back())});
  const int32_t sum = add(Op::kMul, {mean.output(), count}, one).output();
  add_node(at, Op::kSub, {below, add(Op::kLog, {sum}, one).output()}, y);
}

int32_t add_depth_to_space(const Origin& at, int32_t x, int32_t block, bool channel_first) {
  check_picture(at.draft, x);
  const Shape from = at.draft.tensor(x).shape;
  if (from[3] % (block * block) != 0)
    fail("its ", from[3], " channels do not divide into blocks of ", block, " x ", block);
  const int32_t channels = from[3] / (block * block);
  const Shape apart = channel_first ? Shape{from[0], from[1], from[2], channels, block, block}
                                    : Shape{from[0], from[1], from[2], block, block, channels};
  const Permutation order = channel_first ? Permutation{0, 1, 4, 2, 5, 3} : Permutation{0, 1, 3, 2, 4, 5};
  const int32_t blocks = add_reshape(at.part("/blocks"), x, apart);
  const int32_t moved = add_transpose(at.part("/moved"), blocks, order);
  const Shape to{from[0], from[1] * block, from[2] * block, channels};
  check_shape(to, at.draft.tensor(x).dtype);
  return add_reshape(at, moved, to);
}

int32_t add_space_to_depth(const Origin& at, int32_t x, int32_t block) {
  check_picture(at.draft, x);
  const Shape from = at.draft.tensor(x).shape;
  if (from[1] % block != 0 || from[2] % block != 0)
    fail("its input ", shape_text(from), " does not divide into blocks of ", block, " x ", block);
  const int32_t h = from[1] / block, w = from[2] / block;
  const int32_t blocks = add_reshape(at.part("/blocks"), x, {from[0], h, block, w, block, from[3]});
  const int32_t moved = add_transpose(at.part("/moved"), blocks, {0, 1, 3, 2, 4, 5});
  return add_reshape(at, moved, {from[0], h, w, from[3] * block * block});
}

int32_t FileOperator::make(Op op, std::vector<int32_t> inputs, const Shape& shape, const char* suffix) {
  const int32_t result = new_tensor(shape, suffix);
  add(op, std::move(inputs), result);
  return result;
}

int32_t FileOperator::number(int32_t like, float value, const char* suffix) {
  const Shape one(shape(like).size(), 1);
  return add_constant(draft_, name_ + suffix, DType::kF32, one, std::vector<float>{value});
}

int32_t add_unary(FileOperator& op, Op kind, int32_t x, const char* suffix) {
  return op.make(kind, {x}, op.shape(x), suffix);
}

int32_t add_binary(FileOperator& op, Op kind, int32_t a, int32_t b) {
  std::vector<int32_t> inputs{a, b};
  const Shape shape = align_operands(op.origin(), inputs);
  return op.make(kind, inputs, shape);
}

int32_t add_choice(FileOperator& op, std::vector<int32_t>& inputs) {
  const int32_t y = op.new_tensor(align_operands(op.origin(), inputs));
  add_where(op.origin(), inputs, y);
  return y;
}

int32_t add_bounded(FileOperator& op, int32_t x, float low, float high, const char* suffix) {
  const int32_t y = op.new_tensor(op.shape(x), suffix);
  auto& bounds = op.add(Op::kClamp, {x}, y).options.as<Clamp>();
  bounds.min = low;
  bounds.max = high;
  return y;
}

int32_t add_not(FileOperator& op, int32_t x, const char* suffix) {
  return add_binary(op, Op::kSub, op.number(x, 1.0f, suffix), x);
}

// Products of matrices.

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

// Rows that indices name.

namespace {

// For each row of x one of `first`, which are so many, or of the updates behind them: the whole list taken anew.
int32_t taken_rows(const Origin& at, const ReplacedRows& r, int32_t first, int32_t count,
                   const std::vector<int32_t>& from) {
  const auto updates = static_cast<int32_t>(r.numbers.size());
  const Shape of_both{narrow(int64_t{count} + updates, "number of rows"), r.width};
  check_shape(of_both, at.draft.tensor(r.x).dtype);
  const int32_t both = add_activation_like(at.draft, at.name + "/both", r.x, of_both);
  const int32_t behind = add_reshape(at.part("/updates"), r.updates, {updates, r.width});
  add_node(at, Op::kConcat, {first, behind}, both).options.as<ConcatOptions>().axis = 0;
  const int32_t taken = add_gather(at, both, 0, from);
  return add_reshape(at, taken, at.draft.tensor(r.x).shape);
}

}  // namespace

float neutral_of(Op join) {
  if (join == Op::kAdd) return 0.0f;
  if (join == Op::kMul) return 1.0f;
  return join == Op::kMaximum ? -INFINITY : INFINITY;
}

int32_t IndexRows::width() const { return static_cast<int32_t>(std::max<int64_t>(elements(rest), 1)); }

Shape IndexRows::whole() const {
  Shape shape = of_indices;
  shape.insert(shape.end(), rest.begin(), rest.end());
  if (shape.empty()) shape.push_back(1);
  return shape;
}

IndexRows index_rows(const Shape& indices, const Shape& from) {
  if (indices.empty()) fail("its indices are one number; tuples of numbers are expected");
  const auto tuple = static_cast<size_t>(indices.back());
  if (tuple < 1 || tuple > from.size())
    fail("its tuples of ", tuple, " indices do not fit ", shape_text(from));
  IndexRows rows;
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

std::vector<int32_t> row_numbers(const IndexRows& rows, const std::vector<int64_t>& indices,
                                 const Shape& from) {
  const size_t tuple = from.size() - rows.rest.size();
  std::vector<int32_t> numbers;
  for (size_t i = 0; i + tuple <= indices.size(); i += tuple) {
    int32_t number = 0;
    for (size_t d = 0; d < tuple; ++d) number = number * from[d] + normal_index(indices[i + d], d, from);
    numbers.push_back(number);
  }
  if (numbers.empty()) fail("it takes nothing of its input");
  return numbers;
}

int32_t add_row_numbers(const Origin& at, int32_t indices, const IndexRows& rows, const Shape& from) {
  constexpr int32_t kMostExact = 1 << 24;
  if (rows.count > kMostExact)
    fail("its indices are computed in FP32, which is exact up to ", kMostExact, "; its input has ",
         rows.count, " rows");
  const auto tuple = static_cast<int32_t>(from.size() - rows.rest.size());
  std::vector<float> steps(static_cast<size_t>(tuple), 1.0f);  // rows that one more of an index goes on
  for (size_t d = steps.size(); d-- > 1;) steps[d - 1] = steps[d] * static_cast<float>(from[d]);
  const auto count = static_cast<int32_t>(elements(rows.of_indices));
  const int32_t tuples = add_reshape(at.part("/tuples"), indices, {count, tuple});
  const int32_t weights = add_constant(at.draft, at.name + "/steps", DType::kF32, {tuple, 1}, steps);
  const int32_t numbers = add_matrix_product(at.part("/numbers"), tuples, weights, false);
  return add_reshape(at.part("/numbers"), numbers, {count});
}

int32_t add_replaced_rows(const Origin& at, const ReplacedRows& r) {
  at.draft.budget->check_numbers(r.count);
  std::vector<int32_t> from(static_cast<size_t>(r.count));
  std::iota(from.begin(), from.end(), 0);
  for (size_t i = 0; i < r.numbers.size(); ++i)
    from[static_cast<size_t>(r.numbers[i])] = r.count + static_cast<int32_t>(i);
  const int32_t rows = add_reshape(at.part("/rows"), r.x, {r.count, r.width});
  return taken_rows(at, r, rows, r.count, from);
}

// One update of each row at a time; a row that changes nothing where there is none.
int32_t add_joined_rows(const Origin& at, const ReplacedRows& r, Op join) {
  constexpr size_t kMostTimes = 64;
  std::vector<std::vector<int32_t>> times;
  at.draft.budget->check_numbers(int64_t{r.count} + r.width);
  std::vector<size_t> named(static_cast<size_t>(r.count), 0);
  for (size_t i = 0; i < r.numbers.size(); ++i) {
    const auto row = static_cast<size_t>(r.numbers[i]);
    if (named[row] == kMostTimes) fail("its indices name a place more than ", kMostTimes, " times");
    if (named[row] == times.size()) {
      at.draft.budget->check_numbers(static_cast<int64_t>(times.size() + 1) * r.count + r.width);
      times.emplace_back(static_cast<size_t>(r.count), 0);
    }
    times[named[row]++][row] = 1 + static_cast<int32_t>(i);
  }
  const int32_t neutral = add_constant(at.draft, at.name + "/rest", DType::kF32, {1, r.width},
                                       std::vector<float>(static_cast<size_t>(r.width), neutral_of(join)));
  int32_t y = r.x;
  for (const std::vector<int32_t>& from : times) {
    const int32_t rows = taken_rows(at, r, neutral, 1, from);
    const int32_t joined = add_activation(at.draft, at.name, DType::kF32, at.draft.tensor(r.x).shape);
    add_node(at, join, {y, rows}, joined);
    y = joined;
  }
  return y;
}

}  // namespace intaglio::importers

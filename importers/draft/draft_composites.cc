// Operations without an operator of their own, built of others.
#include <algorithm>

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

}  // namespace intaglio::importers

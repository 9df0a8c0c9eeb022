// Activations that are written as several operators, and those that become part of the layer before them.
#include <cmath>
#include <limits>
#include <optional>

#include "importers/draft/op_traits.h"
#include "importers/draft/quantized_tables.h"
#include "importers/passes/matcher.h"
#include "importers/passes/moments.h"
#include "importers/passes/passes.h"
#include "runtime/quantization_range.h"

namespace intaglio::importers {

// Activations that exporters decompose into small operators become one node:
//   x * Sigmoid(x)                                      Swish
//   x * Tanh(Softplus(x))                               Mish
//   clamp(x + 3, 0, 6) / 6                              HardSigmoid
//   x * HardSigmoid(x), or x * clamp(x + 3, 0, 6) / 6   HardSwish
// whichever factor is multiplied first.

namespace {

constexpr float kSixth = 1.0f / 6.0f;

// x of clamp(x + 3, 0, 6); -1: no.
int32_t shifted_clamp(const Matcher& matcher, int32_t tensor) {
  const DraftNode* const add = matcher.only(tensor, Op::kAdd);
  if (add == nullptr || add->options.as<Clamp>().min != 0.0f || add->options.as<Clamp>().max != 6.0f)
    return -1;
  return matcher.beside(*add, 3.0f);
}

// x of x * shifted_clamp(x), in either order; -1: no.
int32_t unscaled_hard_swish(const Matcher& matcher, int32_t tensor) {
  const DraftNode* const mul = matcher.only(tensor, Op::kMul);
  if (mul == nullptr || has_clamp(*mul)) return -1;
  for (const size_t i : {size_t{0}, size_t{1}})
    if (shifted_clamp(matcher, mul->inputs[i]) == mul->inputs[1 - i]) return mul->inputs[1 - i];
  return -1;
}

void become(DraftNode& node, Op op, int32_t x) {
  node.become(op);
  node.inputs = {x};
}

bool fuse_gate(const Draft& draft, const Matcher& matcher, DraftNode& mul) {
  const bool is_float = draft.tensor(mul.output()).dtype == DType::kF32;
  if (mul.op != Op::kMul || has_clamp(mul) || !is_float) return false;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t x = mul.inputs[i], gate = mul.inputs[1 - i];
    const DraftNode* const sigmoid = matcher.only(gate, Op::kSigmoid);
    if (sigmoid != nullptr && sigmoid->input() == x) return become(mul, Op::kSwish, x), true;
    const DraftNode* const tanh = matcher.only(gate, Op::kTanh);
    const DraftNode* const soft = tanh == nullptr ? nullptr : matcher.only(tanh->input(), Op::kSoftplus);
    if (soft != nullptr && soft->input() == x) return become(mul, Op::kMish, x), true;
    const DraftNode* const hard = matcher.only(gate, Op::kHardSigmoid);
    if (hard != nullptr && hard->input() == x &&
        std::fabs(hard->options.as<UnaryOptions>().alpha - kSixth) < 1e-6f &&
        hard->options.as<UnaryOptions>().beta == 0.5f)
      return become(mul, Op::kHardSwish, x), true;
  }
  const int32_t scaled = matcher.beside(mul, kSixth);
  if (scaled < 0) return false;
  if (const int32_t x = unscaled_hard_swish(matcher, scaled); x >= 0)
    return become(mul, Op::kHardSwish, x), true;
  if (const int32_t x = shifted_clamp(matcher, scaled); x >= 0) {
    become(mul, Op::kHardSigmoid, x);
    mul.options.as<UnaryOptions>() = {kSixth, 0.5f};
    return true;
  }
  return false;
}

}  // namespace

bool fuse_swish(Draft& draft) {
  bool changed = false;
  const Matcher matcher(draft);
  for (DraftNode& node : draft.nodes) changed |= fuse_gate(draft, matcher, node);
  return changed;
}

// GELU that is made of small operators becomes one node, however its product is nested:
//   0.5 * x * (1 + Erf(x / sqrt(2)))                                 Gelu
//   0.5 * x * (1 + Tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))        GeluTanh
//   0.5 * x * (1 + Tanh(sqrt(2 / pi) * x * (1 + 0.044715 * x^2)))    the same

namespace {

constexpr double kCubic = 0.044715;
const double kSqrtTwoOverPi = std::sqrt(2.0 / std::acos(-1.0));

// Whether the tensor is constant * x^power.
bool is_power(const Matcher& matcher, int32_t tensor, double constant, int32_t x, size_t power) {
  Matcher::Product product = matcher.product(tensor);
  for (size_t i = 0; i < power; ++i)
    if (!product.take(x)) return false;
  return product.factors.empty() && near(product.constant, constant);
}

// Whether the tensor is u of the tanh form.
bool is_inner(const Matcher& matcher, int32_t tensor, int32_t x) {
  Matcher::Product product = matcher.product(tensor);
  if (!near(product.constant, kSqrtTwoOverPi)) return false;
  const bool factored = product.take(x);  // x * (1 + 0.044715 x^2)
  if (product.factors.size() != 1) return false;
  const DraftNode* const add = matcher.only(product.factors[0], Op::kAdd);
  if (add == nullptr || has_clamp(*add)) return false;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t linear = add->inputs[i], rest = add->inputs[1 - i];
    if (!factored && linear == x && is_power(matcher, rest, kCubic, x, 3)) return true;
    if (factored && matcher.is_value(linear, 1.0f) && is_power(matcher, rest, kCubic, x, 2)) return true;
  }
  return false;
}

// Gelu or GeluTanh where the factor is 1 + the function of x that belongs to it; kNone: neither.
Op kind_of(const Matcher& matcher, int32_t factor, int32_t x) {
  const DraftNode* const add = matcher.only(factor, Op::kAdd);
  const int32_t function = add == nullptr || has_clamp(*add) ? -1 : matcher.beside(*add, 1.0f);
  if (function < 0) return Op::kNone;
  const DraftNode* const erf = matcher.only(function, Op::kErf);
  if (erf != nullptr && is_power(matcher, erf->input(), std::sqrt(0.5), x, 1)) return Op::kGelu;
  const DraftNode* const tanh = matcher.only(function, Op::kTanh);
  if (tanh != nullptr && is_inner(matcher, tanh->input(), x)) return Op::kGeluTanh;
  return Op::kNone;
}

}  // namespace

bool fuse_gelu(Draft& draft) {
  bool changed = false;
  const Matcher matcher(draft);
  for (DraftNode& mul : draft.nodes) {
    if (mul.op != Op::kMul || has_clamp(mul) || draft.tensor(mul.output()).dtype != DType::kF32) continue;
    const Matcher::Product product = matcher.product_of(mul);
    if (product.factors.size() != 2 || !near(product.constant, 0.5)) continue;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const int32_t x = product.factors[i];
      const Op op = kind_of(matcher, product.factors[1 - i], x);
      if (op == Op::kNone || draft.tensor(x).shape != draft.tensor(mul.output()).shape) continue;
      become(mul, op, x);
      changed = true;
      break;
    }
  }
  return changed;
}

// PRelu and LeakyRelu that are made of small operators become one node. The part above zero is Relu(x). The part below,
// times the slopes, is added to it or subtracted from it:
//   -Relu(-x)         Keras
//   (x - |x|) / 2     TensorFlow 1
//   Min(x, 0)         by hand, and of slopes that the importers repeat
// Or a Where chooses between x and the slopes times x.

namespace {

bool is_relu(const DraftNode& node) {
  const Clamp& clamp = node.options.as<Clamp>();
  return clamp.min == 0.0f && clamp.max == std::numeric_limits<float>::infinity();
}

bool is_least_with_zero(const DraftNode& node) {
  const Clamp& clamp = node.options.as<Clamp>();
  return clamp.min == -std::numeric_limits<float>::infinity() && clamp.max == 0.0f;
}

// How often min(x, 0) stands in a tensor; 0: it is something else.
double times_below_zero(const Matcher& matcher, int32_t tensor, int32_t x) {
  const DraftNode* const least = matcher.only(tensor, Op::kClamp);
  if (least != nullptr && least->input() == x && is_least_with_zero(*least)) return 1.0;
  const DraftNode* const negated = matcher.only(tensor, Op::kMul);
  if (negated != nullptr && is_relu(*negated) && matcher.beside(*negated, -1.0f) == x) return -1.0;
  const DraftNode* const less = matcher.only(tensor, Op::kSub);
  if (less == nullptr || has_clamp(*less) || less->inputs[0] != x) return 0.0;
  const DraftNode* const size = matcher.only(less->inputs[1], Op::kAbs);
  return size != nullptr && size->input() == x ? 2.0 : 0.0;
}

// A constant of a number for each index of the last axis of x; empty: it is none.
std::vector<float> channel_slopes(const DraftTensor& constant, const DraftTensor& x) {
  const bool is_one = constant.constant && constant.dtype == DType::kF32 && !constant.shape.empty() &&
                      elements(constant.shape) == constant.shape.back() &&
                      constant.shape.back() == x.shape.back();
  return is_one ? values_of<float>(constant) : std::vector<float>();
}

// The slopes that `product` multiplies min(x, 0) with, one or one for each index of the last axis; empty: it does not.
std::vector<float> slopes_of(const Draft& draft, const Matcher& matcher, const Matcher::Product& product,
                             int32_t x) {
  std::vector<float> slopes{1.0f};
  double times = 0.0;
  for (const int32_t factor : product.factors) {
    const DraftTensor& tensor = draft.tensor(factor);
    if (tensor.constant) {
      if (slopes.size() != 1) return {};
      slopes = channel_slopes(tensor, draft.tensor(x));
      if (slopes.empty()) return {};
    } else {
      if (times != 0.0) return {};
      times = times_below_zero(matcher, factor, x);
      if (times == 0.0) return {};
    }
  }
  if (times == 0.0) return {};
  for (float& slope : slopes) slope = static_cast<float>(double{slope} * product.constant * times);
  return slopes;
}

void become_sloped(Draft& draft, DraftNode& node, int32_t x, const std::vector<float>& slopes) {
  const std::string name = draft.tensor(node.output()).name;
  if (slopes.size() == 1) {
    node.become(Op::kLeakyRelu);
    node.inputs = {x};
    node.options.as<UnaryOptions>().alpha = slopes[0];
  } else {
    const auto count = static_cast<int32_t>(slopes.size());
    node.become(Op::kPRelu);
    node.inputs = {x, add_constant(draft, name + "/slopes", DType::kF32, {count}, slopes)};
  }
}

// Where(x > 0, x, slopes * x), also with x >= 0, and with the choices changed where x is below 0: JAX.
bool fuse_chosen_slopes(Draft& draft, const Matcher& matcher, DraftNode& node) {
  if (node.op != Op::kWhere || draft.tensor(node.output()).dtype != DType::kF32 || has_clamp(node))
    return false;
  for (const Op op : {Op::kLess, Op::kLessOrEqual}) {
    const DraftNode* const compares = matcher.writer(node.inputs[0], op);
    if (compares == nullptr) continue;
    const bool is_above = matcher.is_value(compares->inputs[0], 0.0f);  // 0 < x
    const int32_t x = compares->inputs[is_above ? 1 : 0];
    if (!is_above && !matcher.is_value(compares->inputs[1], 0.0f)) return false;
    if (node.inputs[is_above ? 1 : 2] != x || draft.tensor(x).shape != draft.tensor(node.output()).shape)
      return false;
    Matcher::Product product = matcher.product(node.inputs[is_above ? 2 : 1]);
    if (!product.take(x) || product.factors.size() > 1) return false;
    std::vector<float> slopes{static_cast<float>(product.constant)};
    if (!product.factors.empty()) {
      slopes = channel_slopes(draft.tensor(product.factors[0]), draft.tensor(x));
      if (slopes.empty()) return false;
      for (float& slope : slopes) slope = static_cast<float>(double{slope} * product.constant);
    }
    become_sloped(draft, node, x, slopes);
    return true;
  }
  return false;
}

bool fuse_slopes(Draft& draft, const Matcher& matcher, DraftNode& node) {
  if (node.op != Op::kAdd && node.op != Op::kSub) return false;
  const DraftTensor& output = draft.tensor(node.output());
  if (output.dtype != DType::kF32 || output.shape.empty() || has_clamp(node)) return false;
  for (const size_t above : {size_t{0}, size_t{1}}) {
    if (node.op == Op::kSub && above == 1) break;
    const DraftNode* const relu = matcher.only(node.inputs[above], Op::kClamp);
    if (relu == nullptr || !is_relu(*relu) || draft.tensor(relu->input()).shape != output.shape) continue;
    const int32_t x = relu->input();
    std::vector<float> slopes = slopes_of(draft, matcher, matcher.product(node.inputs[1 - above]), x);
    if (slopes.empty()) continue;
    if (node.op == Op::kSub)
      for (float& slope : slopes) slope = -slope;
    become_sloped(draft, node, x, slopes);
    return true;
  }
  return false;
}

}  // namespace

bool fuse_prelu(Draft& draft) {
  bool changed = false;
  const Matcher matcher(draft);
  for (DraftNode& node : draft.nodes)
    changed |= fuse_slopes(draft, matcher, node) || fuse_chosen_slopes(draft, matcher, node);
  return changed;
}

// A LeakyRelu, or an Abs, of 16 bits is two straight lines. The table of a Lookup would bend where a line meets an end of the
// codes, and its entries are rounded. Each line is an exact operator that ends at 0, so their sum is exact, too.

namespace {

// The factor below 0; above it is 1. None where the node is no such function, or where no scale is the factor.
std::optional<float> slope_below(const Draft& draft, const DraftNode& node) {
  if (node.op != Op::kLeakyRelu && node.op != Op::kAbs) return std::nullopt;
  for (const int32_t tensor : {node.input(), node.output()})
    if (draft.tensor(tensor).dtype != DType::kS16) return std::nullopt;
  const float slope = node.op == Op::kAbs ? -1.0f : node.options.as<UnaryOptions>().alpha;
  if (slope != 0.0f && !is_scale(std::fabs(slope))) return std::nullopt;
  return slope;
}

void set_ends(DraftNode& node, int32_t lo, int32_t hi) {
  node.options.as<Clamp>().lo = lo;
  node.options.as<Clamp>().hi = hi;
}

void add_lines(Draft& draft, const DraftNode& node, float slope) {
  const int32_t x = node.input(), y = node.output();
  const DraftTensor out = draft.tensor(y);
  const int32_t least = least_code(out), most = greatest_code(out);
  if (slope == 0.0f)
    return set_ends(add_node({draft, node.name, node.source}, Op::kQuantize, {x}, y), 0, most);
  const int32_t above = add_activation_like(draft, out.name + "/above", y, out.shape),
                below = add_activation_like(draft, out.name + "/below", y, out.shape);
  set_ends(add_node({draft, node.name + "/above", node.source}, Op::kQuantize, {x}, above), 0, most);
  // One code, whose scale is the slope's size.
  const bool turns = slope < 0.0f;
  const std::vector<int16_t> one{static_cast<int16_t>(turns ? -1 : 1)};
  const int32_t factor =
      add_constant(draft, out.name + "/slope", DType::kS16, Shape(out.shape.size(), 1), one);
  draft.tensor(factor).scales = {std::fabs(slope)};
  set_ends(add_node({draft, node.name + "/below", node.source}, Op::kMul, {x, factor}, below),
           turns ? 0 : least, turns ? most : 0);
  set_ends(add_node({draft, node.name, node.source}, Op::kAdd, {above, below}, y), least, most);
}

}  // namespace

bool split_leaky_relu(Draft& draft) {
  return rewrite_nodes(draft, [&](const DraftNode& node) {
    const std::optional<float> slope = slope_below(draft, node);
    if (slope) add_lines(draft, node, *slope);
    return slope.has_value();
  });
}

// A Softmax that is made of small operators becomes one node:
//   Exp(z) / sum(Exp(z)), or Exp(z) * Reciprocal(sum)      over the last axis; z is x, or x less a number for each row

namespace {

// The tensor of exponentials that a node divides by their sum; -1: it does something else.
int32_t divided_exponentials(const Draft& draft, const Links& links, const Matcher& matcher,
                             const DraftNode& node) {
  if ((node.op != Op::kDiv && node.op != Op::kMul) || has_clamp(node) || node.inputs.size() != 2) return -1;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t exponentials = node.inputs[i];
    int32_t sum = node.inputs[1 - i];
    if (node.op == Op::kDiv && i == 1) break;
    if (node.op == Op::kMul) {
      const DraftNode* const inverse = matcher.only(sum, Op::kReciprocal);
      if (inverse == nullptr) continue;
      sum = inverse->input();
    }
    const DraftNode* const exp = matcher.writer(exponentials, Op::kExp);
    const Shape& shape = draft.tensor(exponentials).shape;
    if (exp == nullptr || shape.empty() || shape != draft.tensor(node.output()).shape) continue;
    const int32_t last = static_cast<int32_t>(shape.size()) - 1;
    const std::optional<Polynomial> found = Moments(draft, links, exponentials, {last}).of(sum);
    constexpr Exponents kMean{0, 1, 0, 0};
    const bool is_sum = found && found->size() == 1 && found->begin()->first == kMean &&
                        found->begin()->second.is_one_number() &&
                        near(found->begin()->second.values[0], shape.back());
    if (is_sum) return exponentials;
  }
  return -1;
}

}  // namespace

bool fuse_softmax(Draft& draft) {
  bool changed = false;
  const Matcher matcher(draft);
  const Links links(draft);
  for (DraftNode& node : draft.nodes) {
    if (draft.tensor(node.output()).dtype != DType::kF32) continue;
    const int32_t exponentials = divided_exponentials(draft, links, matcher, node);
    if (exponentials < 0) continue;
    int32_t x = matcher.writer(exponentials, Op::kExp)->input();
    const DraftNode* const less = matcher.writer(x, Op::kSub);
    Shape row = draft.tensor(x).shape;
    row.back() = 1;
    const bool is_moved = less != nullptr && !has_clamp(*less) &&
                          draft.tensor(less->inputs[1]).shape == row &&
                          draft.tensor(less->inputs[0]).shape == draft.tensor(x).shape;
    if (is_moved) x = less->inputs[0];
    node.become(Op::kSoftmax);
    node.inputs = {x};
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers

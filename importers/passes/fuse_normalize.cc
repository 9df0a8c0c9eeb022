// A normalization that is made of small operators becomes one node, and takes in what a channel is multiplied by and what is
// added to it behind it. Whatever the spelling is, it is the same polynomial of x and its moments (moments.h):
//   (x - mean) / sqrt(variance + epsilon), or without the mean      variance: mean(d * d), mean(x * x) - mean * mean, ...
//   (x - mean) / (sqrt(variance) + epsilon), or x / (norm + epsilon)
//   x * s + (shift - mean * s), where s is 1 / sqrt(...), or that times a factor
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "importers/draft/geometry.h"
#include "importers/passes/matcher.h"
#include "importers/passes/moments.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {

namespace {

// x as the operator takes it: [batches, places, channels], of which a group of channels is normalized over all places, or
// [rows, channels].
struct NormLayout {
  Shape shape;
  NormalizeOptions options;
  std::vector<size_t> channel_axes;  // of x, which are the last axis here
  Permutation order;                 // of x's axes, in front of the shape; empty: as they are
};

Permutation channels_last(size_t rank) {
  Permutation order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = static_cast<int32_t>(d == 0 || d + 1 == rank ? d != 0 : d + 1);
  return order;
}

std::vector<size_t> axes_from(size_t first, size_t rank) {
  std::vector<size_t> axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

// As rows, with the reduced axes behind the others.
NormLayout transposed_layout(const Shape& shape, const std::vector<int32_t>& axes) {
  NormLayout layout;
  int64_t rows = 1, channels = 1;
  for (const bool reduced : {false, true})
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto axis = static_cast<int32_t>(d);
      if ((std::find(axes.begin(), axes.end(), axis) != axes.end()) != reduced) continue;
      layout.order.push_back(axis);
      if (reduced) layout.channel_axes.push_back(d);
      (reduced ? channels : rows) *= shape[d];
    }
  layout.shape = axes.size() == 1 ? permuted(shape, layout.order)
                                  : Shape{narrow(rows, "size"), narrow(channels, "size")};
  return layout;
}

// Axes that stand side by side and are all reduced, or all kept.
struct AxisRun {
  bool is_reduced;
  size_t first;
  int64_t size;
};

std::vector<AxisRun> runs_of(const Shape& shape, const std::vector<int32_t>& axes) {
  std::vector<AxisRun> runs;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;  // it is both
    const bool is_reduced = std::find(axes.begin(), axes.end(), static_cast<int32_t>(d)) != axes.end();
    if (runs.empty() || runs.back().is_reduced != is_reduced)
      runs.push_back({is_reduced, d, shape[d]});
    else
      runs.back().size *= shape[d];
  }
  return runs;
}

// The ways to take x, the best first; none: the operator has no such groups.
std::vector<NormLayout> layouts_of(const Shape& shape, const std::vector<int32_t>& axes) {
  const size_t rank = shape.size();
  NormLayout layout;
  if (axes == std::vector<int32_t>{static_cast<int32_t>(rank) - 1}) {
    layout.shape = shape;
    layout.channel_axes = {rank - 1};
    return {layout};
  }
  std::vector<AxisRun> runs = runs_of(shape, axes);
  if (runs.empty()) return {};
  if (runs[0].is_reduced) runs.insert(runs.begin(), {false, 0, 1});
  if (runs.size() == 1) return {};  // every group has one element
  const auto size = [&](size_t i) { return narrow(runs[i].size, "size"); };
  if (runs.size() == 2) {  // one group of each index of the first axis as it is, or rows
    std::vector<NormLayout> layouts;
    if (shape[0] == runs[0].size && rank > 1 && shape.back() != 1) {
      layout.shape = shape;
      layout.options.over_map = true;
      layout.channel_axes = {rank - 1};
      layouts.push_back(layout);
    }
    layout.options.over_map = false;
    layout.shape = runs[1].first + 1 == rank ? shape : Shape{size(0), size(1)};
    layout.channel_axes = axes_from(runs[1].first, rank);
    layouts.push_back(layout);
    return layouts;
  }
  if (runs.size() > 4) return {transposed_layout(shape, axes)};
  layout.options.over_map = true;
  layout.options.groups = size(2);
  layout.channel_axes = axes_from(runs[2].first, rank);
  layout.shape = {size(0), size(1), runs.size() == 3 ? size(2) : narrow(runs[2].size * runs[3].size, "size")};
  if (shape[0] == layout.shape[0] && shape.back() == layout.shape[2]) layout.shape = shape;
  return {layout, transposed_layout(shape, axes)};
}

// The coefficient's numbers along the last axis of the layout; empty: it has others along other axes.
std::vector<float> channels_of(const Coefficient* coefficient, double factor, const Shape& x,
                               const NormLayout& layout) {
  size_t channels = 1;
  for (const size_t axis : layout.channel_axes) channels *= static_cast<size_t>(x[axis]);
  std::vector<float> made(channels, 0.0f);
  if (coefficient == nullptr) return made;
  std::vector<size_t> steps;  // of the coefficient's own numbers
  size_t step = 1;
  for (size_t d = x.size(); d-- > 0;) {
    const auto own = static_cast<size_t>(coefficient->shape[d]);
    const auto& of = layout.channel_axes;
    if (own != 1 && std::find(of.begin(), of.end(), d) == of.end()) return {};
    steps.insert(steps.begin(), own == 1 ? 0 : step);
    step *= own;
  }
  for (size_t i = 0; i < channels; ++i) {
    size_t at = 0, rest = i;
    for (size_t k = layout.channel_axes.size(); k-- > 0;) {
      const size_t axis = layout.channel_axes[k];
      at += rest % static_cast<size_t>(x[axis]) * steps[axis];
      rest /= static_cast<size_t>(x[axis]);
    }
    made[i] = static_cast<float>(coefficient->values[at] * factor);
    if (!std::isfinite(made[i])) return {};
  }
  return made;
}

struct Normalization {
  std::vector<float> scale, shift;
  double root_epsilon;  // as NormalizeOptions has it
};

// What a polynomial of normalized x is multiplied by and what is added; none: it is another polynomial.
std::optional<Normalization> normalization_in(const Polynomial& polynomial, const Moments& moments,
                                              const Shape& x, const NormLayout& layout) {
  constexpr Exponents kOther{};
  const auto term = [&](const Exponents& exponents) {
    const auto found = polynomial.find(exponents);
    return found == polynomial.end() ? nullptr : &found->second;
  };
  const bool has_sum = term({1, 0, 0, 0, 1}) != nullptr;
  const Coefficient *const scale = has_sum ? term({1, 0, 0, 0, 1}) : term({1, 0, 0, 1}),
                           *const mean = has_sum ? term({0, 1, 0, 0, 1}) : term({0, 1, 0, 1}),
                           *const shift = term(kOther);
  const Variance& variance = moments.variance();
  const bool is_centred = variance.is_centred;
  if (!is_centred && variance.epsilon == 0.0 && !has_sum) return std::nullopt;  // that is L2 normalization
  const size_t terms = 1U + (is_centred ? 1U : 0U) + (shift != nullptr ? 1U : 0U);
  if (scale == nullptr || polynomial.size() != terms || (mean != nullptr) != is_centred) return std::nullopt;
  if (is_centred && (mean->shape != scale->shape ||
                     !std::equal(mean->values.begin(), mean->values.end(), scale->values.begin(),
                                 [](double m, double s) { return m == -s || near(-m, s); })))
    return std::nullopt;
  const double inverse = 1.0 / std::sqrt(variance.factor);
  Normalization made{channels_of(scale, inverse, x, layout), channels_of(shift, 1.0, x, layout),
                     has_sum ? moments.root_epsilon() * inverse : 0.0};
  if (made.scale.empty() || made.shift.empty()) return std::nullopt;
  return made;
}

class NormFusion {
 public:
  // `rows`: over the last axis alone. Whether a picture's channels are its last axis shows once transposes have been pushed.
  NormFusion(Draft& draft, bool rows) : draft_(draft), links_(draft), rows_(rows) {}

  bool run() {
    for (size_t n = 0; n < draft_.nodes.size(); ++n) {
      const DraftNode& root = draft_.nodes[n];
      const bool is_root = root.op == Op::kSqrt || root.op == Op::kRsqrt;
      if (is_root && draft_.tensor(root.output()).dtype == DType::kF32) fuse_behind(root);
    }
    for (size_t n = 0; n < draft_.nodes.size() && !rows_; ++n) join_split_channels(n);
    insert_moves();
    return changed_;
  }

 private:
  static bool is_small(const DraftNode& node) {
    switch (node.op) {
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kDiv:
      case Op::kMean:
      case Op::kClamp:
      case Op::kReshape:
      case Op::kReciprocal:
        return true;
      default:
        return false;
    }
  }
  const DraftNode* writer(int32_t tensor) const {
    const bool is_known = tensor >= 0 && static_cast<size_t>(tensor) < links_.producer.size();
    return is_known ? links_.writer(draft_, tensor) : nullptr;
  }

  // Tensors and axes that a variance may be of: the nearest first.
  struct Candidate {
    int32_t x;
    std::vector<int32_t> axes;
  };
  std::vector<Candidate> candidates(int32_t variance) const {
    constexpr size_t kMostTensors = 32;
    std::vector<int32_t> before{variance};
    std::vector<const DraftNode*> means;
    for (size_t i = 0; i < before.size() && before.size() < kMostTensors; ++i) {
      const DraftNode* const node = writer(before[i]);
      if (node == nullptr || !is_small(*node)) continue;
      if (node->op == Op::kMean && !has_clamp(*node)) means.push_back(node);
      for (const int32_t input : node->inputs)
        if (!draft_.tensor(input).constant && std::find(before.begin(), before.end(), input) == before.end())
          before.push_back(input);
    }
    std::vector<Candidate> found;
    for (const int32_t tensor : before)
      for (const DraftNode* const mean : means) {
        const auto axes = to_vector(mean->options.as<ReduceOptions>().axes);
        const bool is_new = std::none_of(found.begin(), found.end(),
                                         [&](const Candidate& c) { return c.x == tensor && c.axes == axes; });
        if (is_new && draft_.tensor(tensor).shape == draft_.tensor(mean->input()).shape)
          found.push_back({tensor, axes});
      }
    return found;
  }

  // A tensor less its mean is a tensor of its own, whose mean counts as 0: what it is made of goes before it.
  void fuse_behind(const DraftNode& root) {
    const std::vector<Candidate> found = candidates(root.input());
    for (const bool is_centred : {true, false})
      for (const Candidate& candidate : found) {
        const Shape& x = draft_.tensor(candidate.x).shape;
        const bool is_row = candidate.axes == std::vector<int32_t>{static_cast<int32_t>(x.size()) - 1};
        if (is_row != rows_) continue;
        Moments moments(draft_, links_, candidate.x, candidate.axes);
        if (!moments.set_variance(root.input())) continue;
        if (moments.variance().is_centred != is_centred) continue;
        if (fuse(root, moments, layouts_of(x, candidate.axes))) return;
      }
  }

  // What a node makes of normalized x; none: something else.
  std::optional<Normalization> normalization_of(const DraftNode& node, Moments& moments,
                                                const NormLayout& layout) {
    const Shape& x = draft_.tensor(moments.x()).shape;
    if (!is_small(node) || node.op == Op::kReshape || draft_.tensor(node.output()).shape != x)
      return std::nullopt;
    const std::optional<Polynomial> polynomial = moments.of(node.output());
    return polynomial ? normalization_in(*polynomial, moments, x, layout) : std::nullopt;
  }

  // A node that gives normalized x, and what it makes of it.
  struct Found {
    size_t index;
    Normalization normalization;
  };
  // The first one behind the root. Factors and summands that moves would part from it go into it at once.
  std::optional<Found> find(const DraftNode& root, Moments& moments, const NormLayout& layout) {
    constexpr size_t kMostNodes = 32;
    std::vector<int32_t> behind = links_.consumers_of(root.output());
    for (size_t i = 0; i < behind.size() && i < kMostNodes; ++i) {
      std::sort(behind.begin() + static_cast<std::ptrdiff_t>(i), behind.end());
      auto index = static_cast<size_t>(behind[i]);
      const DraftNode& node = draft_.nodes[index];
      if (!is_small(node) || node.outputs.size() != 1 || !moments.of(node.output())) continue;
      std::optional<Normalization> found = normalization_of(node, moments, layout);
      if (!found) {
        for (const int32_t reader : links_.consumers_of(node.output()))
          if (std::find(behind.begin(), behind.end(), reader) == behind.end()) behind.push_back(reader);
        continue;
      }
      while (!rows_ && links_.single_use(draft_.nodes[index].output())) {
        const auto next = static_cast<size_t>(links_.consumers_of(draft_.nodes[index].output())[0]);
        auto more = normalization_of(draft_.nodes[next], moments, layout);
        if (!more) break;
        index = next;
        found = std::move(more);
      }
      return Found{index, std::move(*found)};
    }
    return std::nullopt;
  }

  // By the layout that takes in most of what stands behind; the first of several.
  bool fuse(const DraftNode& root, Moments& moments, const std::vector<NormLayout>& layouts) {
    std::optional<Found> best;
    const NormLayout* by = nullptr;
    for (const NormLayout& layout : layouts) {
      std::optional<Found> found = find(root, moments, layout);
      if (!found || (best && found->index <= best->index)) continue;
      best = std::move(found);
      by = &layout;
    }
    if (best) become(best->index, moments, *by, best->normalization);
    return best.has_value();
  }

  void become(size_t index, const Moments& moments, const NormLayout& layout,
              const Normalization& normalization) {
    int32_t x = moments.x();
    DraftNode& node = draft_.nodes[index];
    const int32_t y = node.output();
    const std::string name = draft_.tensor(y).name;
    const auto channels = static_cast<int32_t>(normalization.scale.size());
    node.become(Op::kNormalize);
    const auto move = [&](Op op, const Shape& before, const Shape& behind, const Permutation& order) {
      const int32_t from = add_activation_like(draft_, name + "/groups", x, before);
      const int32_t to = add_activation_like(draft_, name + "/normalized", y, behind);
      before_.emplace_back(index, moved(op, name, x, from, order));
      behind_.emplace_back(index, moved(op, name, to, node.outputs[0], inverse(order)));
      x = from;
      node.outputs[0] = to;
    };
    Shape shape = draft_.tensor(x).shape;
    if (!layout.order.empty()) {
      const Shape turned = permuted(shape, layout.order);
      move(Op::kTranspose, turned, turned, layout.order);
      shape = turned;
    }
    if (layout.shape != shape) move(Op::kReshape, layout.shape, layout.shape, {});
    node.inputs = {x, add_constant(draft_, name + "/scale", DType::kF32, {channels}, normalization.scale),
                   add_constant(draft_, name + "/shift", DType::kF32, {channels}, normalization.shift)};
    node.options.as<NormalizeOptions>() = layout.options;
    const Variance& variance = moments.variance();
    node.options.as<NormalizeOptions>().epsilon = static_cast<float>(variance.epsilon / variance.factor);
    node.options.as<NormalizeOptions>().root_epsilon = static_cast<float>(normalization.root_epsilon);
    node.options.as<NormalizeOptions>().keeps_mean = !variance.is_centred;
    changed_ = true;
  }

  // The groups of a group normalization are written as channels by a Reshape from [n, channels, ...] to [n, groups, ...] in front of
  // an instance normalization. They become groups of the channels, whose order of axes needs no moves then.
  void join_split_channels(size_t index) {
    DraftNode& node = draft_.nodes[index];
    if (node.op != Op::kNormalize || node.outputs.empty()) return;
    NormalizeOptions& options = node.options.as<NormalizeOptions>();
    const int32_t groups = draft_.tensor(node.input()).shape.back();
    if (!options.over_map || options.groups != groups) return;
    const DraftNode* const turn = writer(node.input());
    if (turn == nullptr || turn->op != Op::kTranspose) return;
    const Permutation to_last = to_vector(turn->options.as<TransposeOptions>().permutation);
    if (to_last != channels_last(to_last.size())) return;
    const int32_t y = node.output();
    const Shape parts = draft_.tensor(turn->input()).shape;
    int32_t x = turn->input();
    Shape whole;
    for (bool fits = false; !fits;) {
      const DraftNode* const split = writer(x);
      if (split == nullptr || split->op != Op::kReshape) return;
      x = split->input();
      whole = draft_.tensor(x).shape;
      fits = whole.size() >= 3 && whole[0] == parts[0] && whole[1] % groups == 0 && whole[1] != groups;
    }

    const std::string name = draft_.tensor(y).name;
    const Permutation last = channels_last(whole.size());
    const int32_t from = add_activation_like(draft_, name + "/groups", x, permuted(whole, last)),
                  to = add_activation_like(draft_, name + "/normalized", y, permuted(whole, last)),
                  first = add_activation_like(draft_, name + "/channels", y, whole),
                  again = add_activation_like(draft_, name + "/parts", y, parts);
    before_.emplace_back(index, moved(Op::kTranspose, name, x, from, last));
    behind_.emplace_back(index, moved(Op::kTranspose, name, again, y, to_last));
    behind_.emplace_back(index, moved(Op::kReshape, name, first, again, {}));
    behind_.emplace_back(index, moved(Op::kTranspose, name, to, first, inverse(last)));
    std::vector<int32_t> inputs{from};
    for (const size_t i : {size_t{1}, size_t{2}}) {
      std::vector<float> values;
      for (const float v : values_of<float>(draft_.tensor(node.inputs[i])))
        values.resize(values.size() + static_cast<size_t>(whole[1] / groups), v);
      inputs.push_back(
          add_constant(draft_, draft_.tensor(node.inputs[i]).name, DType::kF32, {whole[1]}, values));
    }
    node.inputs = std::move(inputs);
    node.outputs = {to};
    changed_ = true;
  }

  DraftNode moved(Op op, const std::string& name, int32_t from, int32_t to, const Permutation& order) {
    DraftNode made;
    made.become(op);
    made.name = name;
    made.source = "Reshape";
    made.inputs = {from};
    made.outputs = {to};
    if (op == Op::kTranspose) made.options.as<TransposeOptions>().permutation = draft_.list(order);
    return made;
  }
  // The last one that was made stands nearest behind its node.
  void insert_moves() {
    if (before_.empty()) return;
    std::deque<DraftNode> old;
    old.swap(draft_.nodes);
    for (size_t n = 0; n < old.size(); ++n) {
      for (auto& [at, node] : before_)
        if (at == n) draft_.nodes.push_back(std::move(node));
      draft_.nodes.push_back(std::move(old[n]));
      for (auto made = behind_.rbegin(); made != behind_.rend(); ++made)
        if (made->first == n) draft_.nodes.push_back(std::move(made->second));
    }
  }

  Draft& draft_;
  const Links links_;
  bool rows_, changed_ = false;
  std::vector<std::pair<size_t, DraftNode>> before_, behind_;  // nodes, and what goes before and behind them
};

// One value a channel, or one for all, as one a channel; empty: neither.
std::vector<float> channel_values(const Draft& draft, int32_t tensor, int32_t channels) {
  if (!is_per_channel(draft.tensor(tensor), channels)) return {};
  std::vector<float> values = values_of<float>(draft.tensor(tensor));
  if (values.size() == 1) values.resize(static_cast<size_t>(channels), values[0]);
  return values;
}

// The normalization whose channels are a tensor's, -1: none. `last` is the node that writes the tensor: a Reshape that leaves the
// last axis may stand between.
int32_t normalization_before(const Draft& draft, const Links& links, int32_t tensor, int32_t* last) {
  *last = links.producer_of(tensor);
  for (int32_t index = *last; index >= 0 && links.single_use(tensor);) {
    const DraftNode& node = draft.node(index);
    if (node.outputs.empty() || draft.tensor(tensor).dtype != DType::kF32) return -1;
    if (node.op == Op::kNormalize) return index;
    const Shape &from = draft.tensor(node.input()).shape, &to = draft.tensor(tensor).shape;
    if (node.op != Op::kReshape || from.empty() || to.empty() || from.back() != to.back()) return -1;
    tensor = node.input();
    index = links.producer_of(tensor);
  }
  return -1;
}

// A factor or a summand behind a normalization goes into it.
bool take_in(Draft& draft, Links& links, DraftNode& node) {
  if (node.outputs.empty() || (node.op != Op::kMul && node.op != Op::kAdd) || node.inputs.size() != 2)
    return false;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t x = node.inputs[i];
    int32_t last = -1;
    const int32_t index = normalization_before(draft, links, x, &last);
    if (index < 0 || draft.tensor(node.output()).shape != draft.tensor(x).shape) continue;
    DraftNode& norm = draft.node(index);
    const int32_t channels = draft.tensor(x).shape.back();
    const std::vector<float> values = channel_values(draft, node.inputs[1 - i], channels);
    if (values.empty()) continue;
    for (const size_t parameter : {size_t{1}, size_t{2}}) {
      if (node.op == Op::kAdd && parameter == 1) continue;
      std::vector<float> own = values_of<float>(draft.tensor(norm.inputs[parameter]));
      for (size_t c = 0; c < own.size(); ++c)
        own[c] = node.op == Op::kMul ? own[c] * values[c] : own[c] + values[c];
      norm.inputs[parameter] =
          add_constant(draft, draft.tensor(node.inputs[1 - i]).name, DType::kF32, {channels}, own);
    }
    if (has_clamp(node)) {
      const auto clamp = node.options.value<Clamp>();
      node.become(Op::kClamp);
      node.options.as<Clamp>() = clamp;
      node.inputs = {x};
      return true;
    }
    take_place(draft, links, last, node);
    return true;
  }
  return false;
}

bool fuse_normalize_over(Draft& draft, bool rows) {
  bool changed = NormFusion(draft, rows).run();
  Links links(draft);
  for (DraftNode& node : draft.nodes) changed = take_in(draft, links, node) || changed;
  return changed;
}

}  // namespace

bool fuse_normalize(Draft& draft) { return fuse_normalize_over(draft, true); }
bool fuse_group_normalize(Draft& draft) { return fuse_normalize_over(draft, false); }

// x divided by the root of the sum of its squares over the last axis becomes one node:
//   x / Sqrt(sum(x * x)), x * Rsqrt(sum(x * x)), x * Reciprocal(Sqrt(...)); the sum, or its root, may be
//   bounded from below.

namespace {

// A tensor, bounded from below by a Clamp or by the clamp of its own node.
struct Bounded {
  int32_t tensor = -1;
  float least = 0.0f;
};

Bounded unbounded(const Matcher& matcher, int32_t tensor) {
  const DraftNode* const clamp = matcher.only(tensor, Op::kClamp);
  if (clamp == nullptr || clamp->options.as<Clamp>().max != INFINITY) return {tensor, 0.0f};
  return {clamp->input(), clamp->options.as<Clamp>().min};
}

class L2Fusion {
 public:
  L2Fusion(const Draft& draft, const Matcher& matcher) : draft_(draft), matcher_(matcher) {}

  // The least norm of a node that divides x by its rows' norms; below 0: it does not.
  float min_norm(const DraftNode& node, int32_t* x) const {
    if (node.op == Op::kDiv && !has_clamp(node)) {
      *x = node.inputs[0];
      return of_norm(node.inputs[1], *x);
    }
    if (node.op != Op::kMul || has_clamp(node)) return -1.0f;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      *x = node.inputs[i];
      float least = -1.0f;
      if (const DraftNode* const rsqrt = matcher_.only(node.inputs[1 - i], Op::kRsqrt); rsqrt != nullptr)
        least = of_sum(rsqrt->input(), *x);
      else if (const DraftNode* const one = matcher_.only(node.inputs[1 - i], Op::kReciprocal);
               one != nullptr)
        least = of_norm(one->input(), *x);
      if (least >= 0.0f) return least;
    }
    return -1.0f;
  }

 private:
  float of_norm(int32_t tensor, int32_t x) const {
    const Bounded norm = unbounded(matcher_, tensor);
    const DraftNode* const root = matcher_.only(norm.tensor, Op::kSqrt);
    const float least = root == nullptr ? -1.0f : of_sum(root->input(), x);
    return least < 0.0f ? least : std::max(least, norm.least);
  }

  // The root of the least sum of squares.
  float of_sum(int32_t tensor, int32_t x) const {
    Bounded sum = unbounded(matcher_, tensor);
    const Shape& shape = draft_.tensor(x).shape;
    const DraftNode* const mul = matcher_.only(sum.tensor, Op::kMul);
    const DraftNode* mean = matcher_.only(sum.tensor, Op::kMean);
    if (mul != nullptr && mul->options.as<Clamp>().max == INFINITY) {
      const Matcher::Product product = matcher_.product_of(*mul);
      if (product.factors.size() != 1 || !near(product.constant, shape.back())) return -1.0f;
      mean = matcher_.only(product.factors[0], Op::kMean);
      sum.least = std::max(sum.least, std::max(mul->options.as<Clamp>().min, 0.0f));
    } else if (shape.back() != 1) {
      return -1.0f;
    }
    if (mean == nullptr || has_clamp(*mean)) return -1.0f;
    Shape rows = shape;
    rows.back() = 1;
    const DraftNode* const square = matcher_.only(mean->input(), Op::kMul);
    const bool squares =
        square != nullptr && !has_clamp(*square) && square->inputs[0] == x && square->inputs[1] == x;
    if (!squares ||
        to_vector(mean->options.as<ReduceOptions>().axes) !=
            std::vector<int32_t>{static_cast<int32_t>(shape.size()) - 1} ||
        draft_.tensor(mean->output()).shape != rows)
      return -1.0f;
    return std::sqrt(std::max(sum.least, 0.0f));
  }

  const Draft& draft_;
  const Matcher& matcher_;
};

}  // namespace

bool fuse_l2_normalize(Draft& draft) {
  bool changed = false;
  const Matcher matcher(draft);
  const L2Fusion fusion(draft, matcher);
  for (DraftNode& node : draft.nodes) {
    int32_t x = -1;
    if (draft.tensor(node.output()).dtype != DType::kF32) continue;
    const float least = fusion.min_norm(node, &x);
    if (least < 0.0f || draft.tensor(x).shape != draft.tensor(node.output()).shape) continue;
    node.become(Op::kL2Normalize);
    node.inputs = {x};
    node.options.as<L2NormalizeOptions>().min_norm = least;
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers

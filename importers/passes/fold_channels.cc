// A number for each channel, and bounds, go into the layers that they belong to. What stands between may move elements: each
// number is followed back through it, to the output channels of layers.
#include <algorithm>
#include <cmath>

#include "importers/draft/op_traits.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

// y = (x - center) * factor + summand, then bounds. The numbers are entries of lists.
struct Affine {
  int32_t x = -1;
  Shape shape;  // of the entries, as x broadcasts them: 1 along an axis where they are the same
  std::vector<double> centers, factors, summands;
  std::vector<float> deviations;  // of a batch normalization's results

  bool same(int32_t a, int32_t b) const {
    const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
    return centers[i] == centers[j] && factors[i] == factors[j] && summands[i] == summands[j] &&
           (deviations.empty() || deviations[i] == deviations[j]);
  }
};

// Which entry each element of a tensor meets.
constexpr int32_t kUnread = -1;  // nobody reads the element
constexpr int32_t kOthers = -2;  // others read it: it stays as it is
struct Places {
  Shape shape;  // the tensor's, or 1 along an axis where the entries are the same
  std::vector<int32_t> entry;
};

constexpr int64_t kMostPlaces = int64_t{1} << 22;

// An axis of each place's entries: `before` times, then its indices, then `behind` elements.
struct Axis {
  size_t before = 1, count = 1, behind = 1;
};
Axis axis_of(const Shape& shape, size_t axis) {
  Axis a;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto size = static_cast<size_t>(shape[i]);
    (i < axis ? a.before : i == axis ? a.count : a.behind) *= size;
  }
  return a;
}

// The node that a per-channel operator folds into, with the entry of each of its output channels.
struct Target {
  int32_t node = -1;
  std::vector<int32_t> entries;
};

class ChannelFolding {
 public:
  explicit ChannelFolding(Draft& draft) : draft_(draft), links_(draft) {}

  bool fold_affine(int32_t index) {
    const DraftNode& node = draft_.node(index);
    if (!read(node)) return false;
    Places places{affine_.shape, {}};
    for (int32_t i = 0; i < static_cast<int32_t>(elements(affine_.shape)); ++i) places.entry.push_back(i);
    for (size_t axis = 0; axis < places.shape.size(); ++axis) shorten(places, axis);
    clamp_ = node.options.value<Clamp>();
    bounds_ = has_clamp(node);
    targets_.clear();
    if (!reach(affine_.x, index, std::move(places), 0)) return false;
    for (const Target& target : targets_) apply(target, node);
    finish(index, affine_.x);
    return true;
  }

  bool fold_clamp(int32_t index) {
    const DraftNode& node = draft_.node(index);
    if (node.op != Op::kClamp || node.outputs.empty()) return false;
    // With another scale behind it, an int8 clamp is a requantization of its own.
    if (!draft_.tensor(node.input()).same_quantization(draft_.tensor(node.output()))) return false;
    affine_ = {};
    clamp_ = node.options.as<Clamp>();
    bounds_ = true;
    targets_.clear();
    if (!reach(node.input(), index, {Shape(draft_.tensor(node.input()).shape.size(), 1), {kOthers}}, 0))
      return false;
    for (const Target& target : targets_) join_clamps(draft_.node(target.node).options.as<Clamp>(), clamp_);
    finish(index, node.input());
    return true;
  }

 private:
  bool folds_numbers() const { return affine_.x >= 0; }

  // --- what a node says of each channel ---

  bool read(const DraftNode& node) {
    affine_ = {};
    if (node.outputs.empty() || draft_.tensor(node.output()).dtype != DType::kF32) return false;
    if (node.op == kBatchNorm) return read_norm(node);
    if (node.op != Op::kAdd && node.op != Op::kSub && node.op != Op::kMul && node.op != Op::kDiv)
      return false;
    const size_t constant = draft_.tensor(node.inputs[1]).constant ? 1 : 0;
    const DraftTensor& numbers = draft_.tensor(node.inputs[constant]);
    const int32_t x = node.inputs[1 - constant];
    const Shape& shape = draft_.tensor(x).shape;
    if (!numbers.constant || numbers.dtype != DType::kF32 || draft_.tensor(x).constant ||
        shape != draft_.tensor(node.output()).shape || numbers.shape.size() > shape.size() ||
        elements(numbers.shape) > kMostPlaces || (node.op == Op::kDiv && constant == 0))
      return false;
    affine_.shape = Shape(shape.size() - numbers.shape.size(), 1);
    affine_.shape.insert(affine_.shape.end(), numbers.shape.begin(), numbers.shape.end());
    for (const float number : values_of<float>(numbers)) {
      const double value = number;
      double factor = 1.0, summand = 0.0;
      if (node.op == Op::kAdd) summand = value;
      if (node.op == Op::kSub) summand = constant == 1 ? -value : value;
      if (node.op == Op::kSub && constant == 0) factor = -1.0;
      if (node.op == Op::kMul) factor = value;
      if (node.op == Op::kDiv) factor = 1.0 / value;
      add(0.0, factor, summand);
    }
    affine_.x = x;
    return are_usable();
  }

  // (x - mean) / sqrt(variance + epsilon) * gamma + beta
  bool read_norm(const DraftNode& node) {
    const auto gamma = values_of<float>(draft_.tensor(node.inputs[1]));
    const auto beta = values_of<float>(draft_.tensor(node.inputs[2]));
    const auto mean = values_of<float>(draft_.tensor(node.inputs[3]));
    const auto variance = values_of<float>(draft_.tensor(node.inputs[4]));
    for (size_t c = 0; c < gamma.size(); ++c) {
      const double factor = gamma[c] / std::sqrt(double{variance[c]} + double{node.epsilon});
      add(mean[c], factor, beta[c]);
      affine_.deviations.push_back(static_cast<float>(std::fabs(factor) * std::sqrt(double{variance[c]})));
    }
    affine_.shape = Shape(draft_.tensor(node.input()).shape.size(), 1);
    affine_.shape.back() = static_cast<int32_t>(gamma.size());
    affine_.x = node.input();
    return true;
  }

  void add(double center, double factor, double summand) {
    affine_.centers.push_back(center);
    affine_.factors.push_back(factor);
    affine_.summands.push_back(summand);
  }

  bool are_usable() const {
    const auto finite = [](double value) { return std::isfinite(static_cast<float>(value)); };
    return std::all_of(affine_.factors.begin(), affine_.factors.end(),
                       [&](double f) { return finite(f) && std::fabs(f) > 1e-30; }) &&
           std::all_of(affine_.summands.begin(), affine_.summands.end(), finite);
  }

  // --- places ---

  bool agree(int32_t a, int32_t b) const {
    return a == b || a == kUnread || b == kUnread || (a >= 0 && b >= 0 && affine_.same(a, b));
  }

  // One place for all along an axis, where their entries are the same.
  void shorten(Places& places, size_t axis) const {
    const Axis a = axis_of(places.shape, axis);
    if (a.count == 1) return;
    std::vector<int32_t> short_entry(a.before * a.behind, kUnread);
    for (size_t i = 0; i < a.before; ++i)
      for (size_t k = 0; k < a.count; ++k)
        for (size_t j = 0; j < a.behind; ++j) {
          int32_t& one = short_entry[i * a.behind + j];
          const int32_t entry = places.entry[(i * a.count + k) * a.behind + j];
          if (!agree(one, entry)) return;
          if (one == kUnread) one = entry;
        }
    places.shape[axis] = 1;
    places.entry = std::move(short_entry);
  }

  // The same entries with `size` of them along an axis that had one.
  bool lengthen(Places& places, size_t axis, int32_t size) {
    if (places.shape[axis] == size) return true;
    const Axis a = axis_of(places.shape, axis);
    Shape shape = places.shape;
    shape[axis] = size;
    if (elements(shape) > kMostPlaces) return false;
    draft_.budget->spend_work(static_cast<uint64_t>(elements(shape)), "the folding of its channels");
    std::vector<int32_t> entry;
    entry.reserve(static_cast<size_t>(elements(shape)));
    for (size_t i = 0; i < a.before; ++i)
      for (int32_t k = 0; k < size; ++k)
        entry.insert(entry.end(), places.entry.begin() + static_cast<std::ptrdiff_t>(i * a.behind),
                     places.entry.begin() + static_cast<std::ptrdiff_t>((i + 1) * a.behind));
    places = {shape, std::move(entry)};
    return true;
  }

  // Axes that belong together in a Reshape: the fewest whose sizes multiply to the same.
  bool before_reshape(Places& places, const Shape& from, const Shape& to) {
    Shape made;
    size_t i = 0, j = 0;
    while (i < from.size() || j < to.size()) {
      const size_t first_i = i, first_j = j;
      int64_t left = i < from.size() ? from[i++] : 1, right = j < to.size() ? to[j++] : 1;
      while (left != right) {
        if (left < right && i < from.size())
          left *= from[i++];
        else if (j < to.size())
          right *= to[j++];
        else
          return false;
      }
      const bool varies = std::any_of(places.shape.begin() + static_cast<std::ptrdiff_t>(first_j),
                                      places.shape.begin() + static_cast<std::ptrdiff_t>(j),
                                      [](int32_t size) { return size != 1; });
      for (size_t axis = first_j; axis < j && varies; ++axis)
        if (!lengthen(places, axis, to[axis])) return false;
      for (size_t axis = first_i; axis < i; ++axis) made.push_back(varies ? from[axis] : 1);
    }
    places.shape = made;
    for (size_t axis = 0; axis < made.size(); ++axis) shorten(places, axis);
    return true;
  }

  void before_transpose(Places& places, const Permutation& permutation) {
    DraftTensor entries;
    set_values(entries, places.entry);
    const Permutation back = inverse(permutation);
    entries.data = permuted_data(entries.data, sizeof(int32_t), places.shape, back);
    places.entry = values_of<int32_t>(entries);
    places.shape = permuted(places.shape, back);
  }

  // For an operator that takes some indices of an axis: element k of the result is element indices[k].
  bool before_choice(Places& places, size_t axis, int32_t size, const std::vector<int32_t>& indices,
                     bool is_alone) {
    const auto count = static_cast<int32_t>(indices.size());
    if (is_alone && places.shape[axis] == 1) return true;
    if (!lengthen(places, axis, count)) return false;
    Places wide = places;
    wide.shape[axis] = 1;
    const Axis a = axis_of(places.shape, axis);
    wide.entry.assign(a.before * a.behind, is_alone ? kUnread : kOthers);
    if (!lengthen(wide, axis, size)) return false;
    for (size_t i = 0; i < a.before; ++i)
      for (size_t k = 0; k < a.count; ++k)
        for (size_t j = 0; j < a.behind; ++j) {
          const size_t to = (i * static_cast<size_t>(size) + static_cast<size_t>(indices[k])) * a.behind + j;
          const int32_t entry = places.entry[(i * a.count + k) * a.behind + j];
          if (is_alone && !agree(wide.entry[to], entry)) return false;
          wide.entry[to] = entry;
        }
    shorten(wide, axis);
    places = std::move(wide);
    return true;
  }

  static std::vector<int32_t> slice_indices(const DraftNode& slice, size_t axis, int32_t count) {
    const auto& options = slice.options.as<StridedSliceOptions>();
    std::vector<int32_t> indices;
    for (int32_t i = 0; i < count; ++i) indices.push_back(options.begin[axis] + i * options.strides[axis]);
    return indices;
  }

  // --- the way back ---

  // Whether no other reader of the tensor takes what slice `reader` takes.
  bool is_apart(int32_t tensor, int32_t reader) const {
    if (links_.is_output[static_cast<size_t>(tensor)] || !folds_numbers() || bounds_) return false;
    const DraftNode& own = draft_.node(reader);
    if (own.op != Op::kStridedSlice) return false;
    for (const int32_t index : links_.consumers_of(tensor)) {
      const DraftNode& other = draft_.node(index);
      if (index == reader) continue;
      if (other.op != Op::kStridedSlice) return false;
      bool meet = true;
      const Shape &a = draft_.tensor(own.output()).shape, &b = draft_.tensor(other.output()).shape;
      for (size_t axis = 0; axis < a.size() && meet; ++axis) {
        const auto mine = slice_indices(own, axis, a[axis]), its = slice_indices(other, axis, b[axis]);
        meet = std::any_of(mine.begin(), mine.end(),
                           [&](int32_t i) { return std::find(its.begin(), its.end(), i) != its.end(); });
      }
      if (meet) return false;
    }
    return true;
  }

  bool reach(int32_t tensor, int32_t reader, Places places, int depth) {
    constexpr int kMostMoves = 64;
    const int32_t index = links_.producer_of(tensor);
    if (index < 0 || depth > kMostMoves) return false;
    const bool is_alone = links_.single_use(tensor);
    if (!is_alone && !is_apart(tensor, reader)) return false;
    const DraftNode& node = draft_.node(index);
    if (is_target(node)) return take(index, std::move(places));
    if (node.inputs.empty() || node.outputs.size() != 1) return false;
    const int32_t x = node.input();
    for (const int32_t input : node.inputs)
      if (node.op != Op::kGather && !draft_.tensor(input).same_quantization(draft_.tensor(tensor)))
        return false;
    const Shape& from = draft_.tensor(x).shape;
    switch (node.op) {
      case Op::kReshape:
        return before_reshape(places, from, draft_.tensor(tensor).shape) &&
               reach(x, index, std::move(places), depth + 1);
      case Op::kTranspose:
        before_transpose(places, to_vector(node.options.as<TransposeOptions>().permutation));
        return reach(x, index, std::move(places), depth + 1);
      case Op::kStridedSlice: {
        const Shape to = draft_.tensor(tensor).shape;
        const bool takes_alone = links_.single_use(x);
        for (size_t axis = 0; axis < to.size(); ++axis)
          if (to[axis] != from[axis] &&
              !before_choice(places, axis, from[axis], slice_indices(node, axis, to[axis]), takes_alone))
            return false;
        return reach(x, index, std::move(places), depth + 1);
      }
      case Op::kGather: {
        const DraftTensor& indices = draft_.tensor(node.inputs[1]);
        if (!indices.constant || indices.dtype != DType::kS32 || indices.shape.size() != 1 ||
            !draft_.tensor(x).same_quantization(draft_.tensor(tensor)))
          return false;
        const auto axis = static_cast<size_t>(node.options.as<GatherOptions>().axis);
        return before_choice(places, axis, from[axis], values_of<int32_t>(indices), true) &&
               reach(x, index, std::move(places), depth + 1);
      }
      case Op::kConcat: {
        const auto axis = static_cast<size_t>(node.options.as<ConcatOptions>().axis);
        int32_t first = 0;
        for (const int32_t input : node.inputs) {
          const int32_t count = draft_.tensor(input).shape[axis];
          Places part = places;
          if (places.shape[axis] != 1) part = taken(places, axis, first, count);
          if (!reach(input, index, std::move(part), depth + 1)) return false;
          first += count;
        }
        return true;
      }
      default:
        return false;
    }
  }

  Places taken(const Places& places, size_t axis, int32_t first, int32_t count) const {
    const Axis a = axis_of(places.shape, axis);
    Places part{places.shape, {}};
    part.shape[axis] = count;
    for (size_t i = 0; i < a.before; ++i) {
      const auto* const from = places.entry.data() + (i * a.count + static_cast<size_t>(first)) * a.behind;
      part.entry.insert(part.entry.end(), from, from + static_cast<size_t>(count) * a.behind);
    }
    shorten(part, axis);
    return part;
  }

  // --- at a layer ---

  bool is_target(const DraftNode& node) const {
    return folds_numbers() ? has_float_weights(draft_, node)
                           : traits(node.op).is(kTakesClamp) && !leaves_codes_unclamped(node);
  }

  bool leaves_codes_unclamped(const DraftNode& node) const {
    return (node.op == Op::kFullyConnected || node.op == Op::kMean) &&
           draft_.tensor(node.input()).dtype == DType::kS8 &&
           draft_.tensor(node.output()).dtype == DType::kF32;
  }

  bool take(int32_t index, Places places) {
    Target target{index, {}};
    if (folds_numbers()) {
      const DraftNode& node = draft_.node(index);
      for (size_t axis = 0; axis + 1 < places.shape.size(); ++axis)
        if (places.shape[axis] != 1) return false;
      if (!lengthen(places, places.shape.size() - 1, output_channels(draft_, node))) return false;
      target.entries = std::move(places.entry);
      if (has_clamp(node) && !stretches(target.entries, node.options.value<Clamp>())) return false;
    }
    targets_.push_back(std::move(target));
    return true;
  }

  // Whether the layer's bounds are those behind the factors, too: 0, or none, with factors above 0.
  bool stretches(const std::vector<int32_t>& entries, const Clamp& clamp) const {
    if ((clamp.min != 0.0f && clamp.min != -INFINITY) || (clamp.max != 0.0f && clamp.max != INFINITY))
      return false;
    return std::all_of(entries.begin(), entries.end(), [&](int32_t entry) {
      if (entry < 0) return false;
      const auto i = static_cast<size_t>(entry);
      return affine_.centers[i] == 0.0 && affine_.summands[i] == 0.0 && affine_.factors[i] > 0.0;
    });
  }

  void apply(const Target& target, const DraftNode& folded) {
    DraftNode& node = draft_.node(target.node);
    auto bias = values_of<float>(draft_.tensor(node.inputs[2]));
    std::vector<double> factors;
    DraftNormStatistics statistics;
    statistics.tensor = node.output();
    for (size_t c = 0; c < target.entries.size(); ++c) {
      if (target.entries[c] < 0) {
        factors.push_back(1.0);
        continue;
      }
      const auto i = static_cast<size_t>(target.entries[c]);
      factors.push_back(affine_.factors[i]);
      bias[c] = static_cast<float>((double{bias[c]} - affine_.centers[i]) * factors[c] + affine_.summands[i]);
      if (affine_.deviations.empty()) continue;
      statistics.mean.push_back(static_cast<float>(affine_.summands[i]));
      statistics.deviation.push_back(affine_.deviations[i]);
    }
    if (std::any_of(factors.begin(), factors.end(), [](double factor) { return factor != 1.0; })) {
      set_channels(draft_, node, factors, bias);
    } else {
      DraftTensor biases = draft_.tensor(node.inputs[2]);  // it may be shared
      set_values(biases, bias);
      node.inputs[2] = draft_.put(std::move(biases));
    }
    if (statistics.mean.size() == target.entries.size())
      draft_.norm_statistics.push_back(std::move(statistics));
    if (bounds_) join_clamps(node.options.as<Clamp>(), clamp_);
    // Exporters find by it what has gone into the layer.
    draft_.tensor(node.output()).name = draft_.tensor(folded.output()).name;
  }

  // The writer of the node's input writes its output instead.
  void finish(int32_t index, int32_t x) {
    take_place(draft_, links_, links_.producer_of(x), draft_.node(index));
  }

  Draft& draft_;
  Links links_;
  Affine affine_;
  Clamp clamp_;
  bool bounds_ = false;
  std::vector<Target> targets_;
};

// Plus 0 and times 1.
bool drop_identities(Draft& draft) {
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    const bool adds = node.op == Op::kAdd || node.op == Op::kSub,
               multiplies = node.op == Op::kMul || node.op == Op::kDiv;
    if ((!adds && !multiplies) || has_clamp(node) || draft.tensor(node.output()).dtype != DType::kF32)
      continue;
    const size_t constant = draft.tensor(node.inputs[1]).constant ? 1 : 0;
    const DraftTensor& numbers = draft.tensor(node.inputs[constant]);
    const int32_t x = node.inputs[1 - constant];
    const bool is_ordered = node.op == Op::kSub || node.op == Op::kDiv;
    if (!numbers.constant || numbers.dtype != DType::kF32 || (is_ordered && constant == 0) ||
        draft.tensor(x).constant || draft.tensor(x).shape != draft.tensor(node.output()).shape)
      continue;
    const auto values = values_of<float>(numbers);
    const float none = adds ? 0.0f : 1.0f;
    if (!std::all_of(values.begin(), values.end(), [&](float value) { return value == none; }) ||
        !replace_tensor(draft, node.output(), x))
      continue;
    node.outputs.clear();  // dead
    changed = true;
  }
  if (changed) remove_dead_nodes(draft);  // whose inputs have one reader less
  return changed;
}

}  // namespace

bool fold_channels(Draft& draft) {
  bool changed = drop_identities(draft);
  ChannelFolding folding(draft);
  for (size_t n = 0; n < draft.nodes.size(); ++n)
    changed = folding.fold_affine(static_cast<int32_t>(n)) || changed;
  return changed;
}

// Relu, Relu6, Clip; a LeakyRelu of 0 is a Relu.
bool fuse_clamp(Draft& draft) {
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    if (node.op != Op::kLeakyRelu || draft.tensor(node.output()).dtype != DType::kF32 ||
        node.options.as<UnaryOptions>().alpha != 0.0f)
      continue;
    node.become(Op::kClamp);
    node.options.as<Clamp>().min = 0.0f;
    changed = true;
  }
  ChannelFolding folding(draft);
  for (size_t n = 0; n < draft.nodes.size(); ++n)
    changed = folding.fold_clamp(static_cast<int32_t>(n)) || changed;
  return changed;
}

}  // namespace intaglio::importers

#include "calibrator/recover/depthwise_scales.h"

namespace intaglio {
namespace {

constexpr int32_t kMostGroups = FunctionFactors::kGroups;
constexpr double kNever = 1e300;  // more than any noise
// Shares count where they leave so much of the noise at most: how much the outputs of a layer count is not known.
constexpr double kMuchLess = 0.25;
constexpr double kNearly = 1.1;  // fewer groups do where they leave so many times the least noise at most

// The most channels of a node that looks up a function, as measure() knows it: whether it keeps 8 bits shows later.
size_t most_channels(const Model& model) {
  size_t most = 0;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const OpDef* const def = find_op(float_ops(), model, model.node(n));
    if (def == nullptr || def->quant.table != TableRule::kUnary) continue;
    const Shape shape = model.tensor(model.node_outputs(n)[0]).shape;
    const size_t channels = shape.rank == 0 ? 1 : static_cast<size_t>(shape.back(0));
    most = channels > most ? channels : most;
  }
  return most;
}

size_t scratch_bytes(const Model& model) {
  const size_t channels = most_channels(model);
  if (channels == 0) return 0;
  constexpr size_t kSlack = 64, kOfACut = sizeof(double) + sizeof(int32_t);
  return (channels + 1) * ((kMostGroups + 1) * kOfACut + 3 * sizeof(double) + sizeof(int32_t)) +
         static_cast<size_t>(model.tensor_count()) * sizeof(int32_t) + kSlack;
}

// Sets of channels that functions join, named by one of their roots.
class Families {
 public:
  Families(const Model& model, const FunctionGroups& functions, const ChannelGroups& groups, Arena& arena)
      : groups_(groups), parent_(arena.make<int32_t>(static_cast<size_t>(model.tensor_count()))) {
    for (size_t t = 0; t < parent_.size; ++t) parent_[t] = static_cast<int32_t>(t);
    functions.for_each(model, [&](int32_t, const NodeInfo& node) {
      const int32_t in = root(node.inputs[0]), out = root(node.outputs[0]);
      if (in >= 0 && out >= 0) parent_[static_cast<size_t>(find(out))] = find(in);
    });
  }

  int32_t of(const NodeInfo& node) const {
    const int32_t in = root(node.inputs[0]), out = root(node.outputs[0]);
    return in >= 0 ? find(in) : out >= 0 ? find(out) : -1;
  }
  int32_t of_set(int32_t tensor) const {
    const int32_t own = root(tensor);
    return own >= 0 ? find(own) : -1;
  }
  // Calls visit(first) with the first channel of each set of a family.
  template <typename Visit>
  void for_each_set(int32_t family, Visit&& visit) const {
    for (size_t t = 0; t < parent_.size; ++t)
      if (root(static_cast<int32_t>(t)) == static_cast<int32_t>(t) && find(static_cast<int32_t>(t)) == family)
        visit(groups_.first[t]);
  }

 private:
  int32_t root(int32_t tensor) const { return groups_.root[static_cast<size_t>(tensor)]; }
  int32_t find(int32_t t) const {
    while (parent_[static_cast<size_t>(t)] != t) t = parent_[static_cast<size_t>(t)];
    return t;
  }

  const ChannelGroups& groups_;
  Span<int32_t> parent_;  // of each root
};

// How much each channel's noise counts: the squares of the weights by which a layer reads the channel, as a share of the layer's, summed
// over layers. Quiet channels are often those that are read by large weights.
void find_shares(const Model& model, const Families& families, int32_t family, const ChannelScaling& scaling,
                 Span<double> shares, Span<double> own) {
  for (double& share : shares) share = 0.0;
  bool any = false;
  for_each_layer(model, [&](const NodeInfo& node, const QuantRule& rule) {
    if (families.of_set(node.inputs[0]) != family) return;
    const TensorInfo info = model.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]);
    const Span<const float> weights = writable_floats(info);
    const auto inner = static_cast<size_t>(info.shape.elements(rule.weight_axis + 1, info.shape.rank));
    const auto outputs = static_cast<size_t>(info.shape[rule.weight_axis]);
    const float* const out = scaling.factors_of(node.outputs[0]);
    double sum = 0.0;
    for (double& square : own) square = 0.0;
    for (size_t i = 0; i < weights.size; ++i) {
      double w = static_cast<double>(weights[i]);
      if (out != nullptr) w /= static_cast<double>(out[i / inner % outputs]);
      own[i % own.size] += w * w;
      sum += w * w;
    }
    if (!(sum > 0.0)) return;
    any = true;
    for (size_t c = 0; c < own.size; ++c) shares[c] += own[c] / sum;
  });
  for (double& share : shares) share = any ? share : 1.0;
}

// Cuts the channels of one family.
void cut(const Model& model, const Families& families, int32_t family, size_t channels,
         const ChannelScaling& scaling, Arena arena) {
  const Span<float> factors = scaling.factors;
  const Span<double> shares = arena.make<double>(channels), spare = arena.make<double>(channels);
  const Span<int32_t> order = arena.make<int32_t>(channels);
  const Span<double> product = arena.make<double>(channels);
  // The least noise of the first i channels in g groups, and where the last group begins.
  const Span<double> least = arena.make<double>((channels + 1) * (kMostGroups + 1));
  const Span<int32_t> begin = arena.make<int32_t>((channels + 1) * (kMostGroups + 1));
  if (arena.exhausted()) return;
  find_shares(model, families, family, scaling, shares, spare);
  for (size_t c = 0; c < channels; ++c) {
    order[c] = static_cast<int32_t>(c);
    product[c] = 1.0;
    families.for_each_set(family,
                          [&](size_t first) { product[c] *= static_cast<double>(factors[first + c]); });
  }
  for (size_t i = 1; i < channels; ++i)
    for (size_t k = i; k > 0; --k) {
      int32_t &one = order[k - 1], &other = order[k];
      if (product[static_cast<size_t>(one)] <= product[static_cast<size_t>(other)]) break;
      const int32_t kept = one;
      one = other;
      other = kept;
    }
  const auto at = [&](int32_t g, size_t i) { return static_cast<size_t>(g) * (channels + 1) + i; };
  constexpr size_t kSets = 8;  // of a family, more than networks have: the first decide
  size_t firsts[kSets], sets = 0;
  families.for_each_set(family, [&](size_t first) {
    if (sets < kSets) firsts[sets++] = first;
  });
  // Adds the squares of a channel's factors, or of those of its group so far, which it may raise.
  const auto squares_with = [&](size_t at_order, double(&largest)[kSets]) {
    double squares = 0.0;
    for (size_t s = 0; s < sets; ++s) {
      const auto own = static_cast<double>(factors[firsts[s] + static_cast<size_t>(order[at_order])]);
      largest[s] = own > largest[s] ? own : largest[s];
      squares += largest[s] * largest[s];
    }
    return squares;
  };
  const int32_t most = channels < size_t{kMostGroups} ? static_cast<int32_t>(channels) : kMostGroups;
  // The best cuts for these shares; returns the groups.
  const auto solve = [&](Span<const double> of) {
    for (double& noise : least) noise = kNever;
    least[at(0, 0)] = 0.0;
    for (size_t i = 1; i <= channels; ++i) {
      double largest[kSets] = {}, share = 0.0;
      for (size_t j = i; j-- > 0;) {
        share += of[static_cast<size_t>(order[j])];
        const double noise = squares_with(j, largest) * share;
        for (int32_t g = 1; g <= kMostGroups; ++g) {
          const double sum = least[at(g - 1, j)] + noise;
          if (sum >= least[at(g, i)]) continue;
          least[at(g, i)] = sum;
          begin[at(g, i)] = static_cast<int32_t>(j);
        }
      }
    }
    int32_t groups = 1;
    while (groups < most && least[at(groups, channels)] > kNearly * least[at(most, channels)]) ++groups;
    return groups;
  };
  // The noise of the cuts that are there, as it counts.
  const auto noise_of = [&](int32_t groups) {
    double noise = 0.0;
    for (size_t end = channels; groups > 0; --groups) {
      const auto start = static_cast<size_t>(begin[at(groups, end)]);
      double largest[kSets] = {}, share = 0.0, squares = 0.0;
      for (size_t i = start; i < end; ++i) {
        share += shares[static_cast<size_t>(order[i])];
        squares = squares_with(i, largest);
      }
      noise += squares * share;
      end = start;
    }
    return noise;
  };
  for (double& one : spare) one = 1.0;
  int32_t count = solve(spare);
  const double alike = noise_of(count);
  count = solve(shares);
  if (noise_of(count) > kMuchLess * alike) count = solve(spare);
  size_t end = channels;
  for (int32_t g = count; g > 0; --g) {
    const auto start = static_cast<size_t>(begin[at(g, end)]);
    families.for_each_set(family, [&](size_t first) {
      float largest = 0.0f;
      for (size_t i = start; i < end; ++i) {
        const float own = factors[first + static_cast<size_t>(order[i])];
        largest = own > largest ? own : largest;
      }
      for (size_t i = start; i < end; ++i) factors[first + static_cast<size_t>(order[i])] = largest;
    });
    end = start;
  }
}

}  // namespace

FunctionGroups::FunctionGroups(const Model& fp32, const CalibratorOptions& options, Arena& arena)
    : is_function_(arena.make<bool>(static_cast<size_t>(fp32.node_count()))),
      factors_(arena.make<FunctionFactors>(static_cast<size_t>(fp32.node_count()))) {
  if (arena.exhausted()) return;
  for (int32_t n = 0; n < fp32.node_count(); ++n)
    is_function_[static_cast<size_t>(n)] = takes_factors(fp32, n, options);
  const size_t bytes = scratch_bytes(fp32);
  scratch_ = Arena({static_cast<uint8_t*>(arena.allocate(bytes, alignof(double))), bytes});
}

uint64_t FunctionGroups::bytes(const Model& fp32) {
  constexpr uint64_t kSlack = 2 * alignof(double);
  return static_cast<uint64_t>(fp32.node_count()) * (sizeof(bool) + sizeof(FunctionFactors)) +
         scratch_bytes(fp32) + kSlack;
}

void FunctionGroups::apply(const Model& fp32, const ChannelScaling& scaling) const {
  if (most_channels(fp32) == 0) return;
  Arena arena = scratch_;
  const Families families(fp32, *this, scaling.groups, arena);
  for_each(fp32, [&](int32_t n, const NodeInfo& node) {
    const int32_t family = families.of(node);
    bool is_first = family >= 0;
    for_each(fp32, [&](int32_t other, const NodeInfo& earlier) {
      is_first = is_first && (other >= n || families.of(earlier) != family);
    });
    if (!is_first) return;
    cut(fp32, families, family, static_cast<size_t>(fp32.tensor(node.outputs[0]).shape.back(0)), scaling,
        arena);
  });
}

Span<const FunctionFactors> FunctionGroups::factors_of(const Model& fp32,
                                                       const ChannelScaling& scaling) const {
  for (FunctionFactors& factors : factors_) factors = {};
  for_each(fp32, [&](int32_t n, const NodeInfo& node) {
    factors_[static_cast<size_t>(n)] = {scaling.changing_factors_of(fp32, node.inputs[0]),
                                        scaling.changing_factors_of(fp32, node.outputs[0])};
  });
  return factors_;
}

}  // namespace intaglio

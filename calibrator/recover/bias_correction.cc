#include "calibrator/recover/bias_correction.h"

#include <limits>

#include "calibrator/observe/patch_means.h"
#include "calibrator/quantization/int8_nodes.h"
#include "calibrator/quantization/scales.h"
#include "runtime/op.h"
#include "runtime/op_search.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

// The constants of node `n` of an int8 graph.
Span<int32_t> biases_of(const Graph& graph, int32_t n, const QuantRule& rule) {
  const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
  const TensorInfo& tensor =
      graph.tensors[static_cast<size_t>(node.inputs[static_cast<size_t>(rule.bias_input)])];
  return {reinterpret_cast<int32_t*>(const_cast<uint8_t*>(tensor.constant.data)),
          static_cast<size_t>(tensor.shape.elements())};
}

const TensorInfo& weights_of(const Graph& graph, int32_t n, const QuantRule& rule) {
  const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
  return graph.tensors[static_cast<size_t>(node.inputs[static_cast<size_t>(rule.weight_input)])];
}

// The real value of one code of a bias.
double bias_step(const Graph& graph, int32_t n, const QuantRule& rule, size_t channel) {
  const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
  const TensorInfo& input = graph.tensors[static_cast<size_t>(node.inputs[0])];
  const float scale = weights_of(graph, n, rule).quantization.scales[channel];
  return static_cast<double>(input.quantization.scales[0]) * static_cast<double>(scale);
}

// Mean inputs over `half` of the samples, or over all of them, of the FP32 node that node `n` was made from.
void exact_means(const RecoveryContext& context, int32_t n, int32_t half, Span<double> means) {
  const int32_t source = context.int8.graph().nodes[static_cast<size_t>(n)].source;
  const uint32_t* const samples = context.network->seen.observers[0].samples;
  const int64_t* const sums[] = {
      context.network->seen.mean_sums.data + context.observing.first_sum(source, 0),
      context.network->seen.mean_sums.data + context.observing.first_sum(source, 1)};
  const bool in_one = context.observing.halves == 1;
  for (size_t i = 0; i < means.size; ++i)
    means[i] = half == kBothHalves ? mean_of(in_one ? sums[0][i] : order_free_sum(sums[0][i], sums[1][i]),
                                             context.network->seen.sample_count)
                                   : mean_of(sums[half][i], samples[half]);
}

// Mean outputs of a layer's channels from `first` on, `count` of them: known ones, or computed and kept.
template <typename Compute>
void known_or_computed(Span<double> kept, bool known, int32_t first, int32_t count, double* means,
                       Compute&& compute) {
  double* const place = kept.data == nullptr ? nullptr : kept.data + first;
  const size_t bytes = static_cast<size_t>(count) * sizeof(double);
  if (known) {
    memcpy(means, place, bytes);
    return;
  }
  compute();
  if (place != nullptr) memcpy(place, means, bytes);
}

// Calls visit(channel, error): the mean output of the FP32 layer over `half` of the samples, less that of the int8 one, given
// the mean inputs of the latter as reals; nullptr: those of the FP32 model. Channels may be visited at once.
template <typename Visit>
void for_each_mean_error(RecoveryContext& context, int32_t n, int32_t half,
                         const Span<const double>* int8_means, int32_t lane, const Executor& executor,
                         Visit&& visit) {
  const Graph& graph = context.int8.graph();
  const QuantRule& rule = *weight_rule(graph, n);
  const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
  const Model& fp32 = context.fp32.model;
  const NodeInfo exact_node = fp32.node(node.source);
  const auto weight = static_cast<size_t>(rule.weight_input), bias = static_cast<size_t>(rule.bias_input);
  const TensorInfo exact_weights = fp32.tensor(exact_node.inputs[weight]);
  const TensorInfo& weights = graph.tensors[static_cast<size_t>(node.inputs[weight])];
  const auto* exact = reinterpret_cast<const float*>(exact_weights.constant.data);
  const auto* codes = reinterpret_cast<const int8_t*>(weights.constant.data);
  const bool has_bias = bias < exact_node.inputs.size && exact_node.inputs[bias] >= 0;
  const auto* exact_bias =
      has_bias ? reinterpret_cast<const float*>(fp32.tensor(exact_node.inputs[bias]).constant.data) : nullptr;
  const Span<const int32_t> biases = biases_of(graph, n, rule);

  MeanOutputs none;
  MeanOutputs& kept = half == kBothHalves ? none : context.int8.means(node.source, half);
  const bool alone = int8_means == nullptr, knows_codes = alone && kept.knows_codes;
  Span<double> fp32_means;
  if (!kept.knows_reals || (alone && !knows_codes)) {
    fp32_means = context.observing.means_of(node.source, lane);
    exact_means(context, n, half, fp32_means);
  }
  const Span<const double> inputs = alone ? fp32_means : *int8_means;
  const auto channels = static_cast<int32_t>(biases.size);
  parallel_for(executor, (channels + kMeanLanes - 1) / kMeanLanes, [&](int32_t block) {
    const int32_t first = block * kMeanLanes,
                  count = channels - first < kMeanLanes ? channels - first : kMeanLanes;
    double exact_mean[kMeanLanes], int8_mean[kMeanLanes];
    known_or_computed(kept.of_reals, kept.knows_reals, first, count, exact_mean, [&] {
      mean_outputs(exact_node, weights.shape, exact, first, count, fp32_means, exact_mean);
    });
    known_or_computed(alone ? kept.of_codes : Span<double>(), knows_codes, first, count, int8_mean, [&] {
      mean_outputs(exact_node, weights.shape, codes, first, count, inputs, int8_mean);
    });
    for (int32_t l = 0; l < count; ++l) {
      const auto c = static_cast<size_t>(first + l);
      const auto scale = static_cast<double>(weights.quantization.scales[c]);
      visit(c, exact_mean[l] + (has_bias ? static_cast<double>(exact_bias[c]) : 0.0) -
                   (int8_mean[l] * scale + biases[c] * bias_step(graph, n, rule, c)));
    }
  });
  kept.knows_reals = kept.of_reals.data != nullptr;
  kept.knows_codes = kept.knows_reals && (kept.knows_codes || alone);
}

template <typename Visit>
void for_each_bias(const Graph& graph, Visit&& visit) {
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes.size()); ++n)
    if (const QuantRule* const rule = weight_rule(graph, n)) visit(biases_of(graph, n, *rule));
}

// Every bias of the graph, one behind the other; empty where memory has run out.
Span<int32_t> copy_biases(const Graph& graph, Arena& arena) {
  size_t count = 0;
  for_each_bias(graph, [&count](Span<int32_t> biases) { count += biases.size; });
  const Span<int32_t> copy = arena.make<int32_t>(count);
  if (copy.empty()) return {};
  int32_t* at = copy.data;
  for_each_bias(graph, [&at](Span<int32_t> biases) {
    memcpy(at, biases.data, biases.size * sizeof(int32_t));
    at += biases.size;
  });
  return copy;
}

void put_biases_back(const Graph& graph, Span<const int32_t> copy) {
  const int32_t* at = copy.data;
  for_each_bias(graph, [&at](Span<int32_t> biases) {
    memcpy(biases.data, at, biases.size * sizeof(int32_t));
    at += biases.size;
  });
}

// Adds `error` to the bias of channel `c`, never past what keeps the accumulator in int32. False where its code stays.
bool move_bias(const Graph& graph, int32_t n, const QuantRule& rule, size_t c, double error) {
  const TensorInfo& tensor = weights_of(graph, n, rule);
  const Span<const int8_t> codes{reinterpret_cast<const int8_t*>(tensor.constant.data), tensor.constant.size};
  const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
  const bool wide = graph.tensors[static_cast<size_t>(node.inputs[0])].dtype == DType::kS16;
  const auto taps = static_cast<double>(codes.size) / tensor.shape[rule.weight_axis];
  int32_t& code = biases_of(graph, n, rule)[c];
  const int32_t before = code;
  const double target = code + error / bias_step(graph, n, rule, c);
  // Most biases fit beside the largest codes.
  double room = static_cast<double>(INT32_MAX) - 255.0 * 128.0 * taps;
  if (target > room || target < -room)
    room =
        static_cast<double>(bias_room(codes, tensor.shape, rule.weight_axis, static_cast<int32_t>(c), wide));
  code = static_cast<int32_t>(round_even(target > room ? room : (target < -room ? -room : target)));
  return code != before;
}

// Corrects the mean error of the weights' rounding alone.
void correct_layer_alone(RecoveryContext& context, int32_t n, int32_t half, int32_t lane,
                         const Executor& executor) {
  const Graph& graph = context.int8.graph();
  const QuantRule& rule = *weight_rule(graph, n);
  for_each_mean_error(context, n, half, nullptr, lane, executor,
                      [&](size_t c, double error) { move_bias(graph, n, rule, c, error); });
}

double dot(Span<const double> a, Span<const double> b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size; ++i) sum += a[i] * b[i];
  return sum;
}

double within_one(double share) { return share > 0.0 ? (share < 1.0 ? share : 1.0) : 0.0; }

// See correct_layer().
double share_by_count(double samples, double positions) {
  constexpr double kOfASample = 1.0, kOfAPosition = 16.0;
  return samples / (samples + kOfASample + kOfAPosition / positions);
}

// Calls add(sample, half, lane, executor) for each sample of `part`, on as many lanes as there are. members[h] becomes how
// many of half h there are.
template <typename Add>
Error for_each_member(RecoveryContext& context, Part part, int32_t* members, Add&& add) {
  Replay& samples = context.samples;
  const int32_t count = samples.count(), width = context.fp32.lane_count;
  const auto half_if_one = [&](int32_t i, int32_t* half) -> Error {
    bool is_one = false, is_odd = false;
    ITG_TRY(samples.belongs(i, part, &is_one));
    if (is_one) ITG_TRY(samples.belongs(i, Part::kOddHalf, &is_odd));
    *half = is_one ? (is_odd ? 1 : 0) : -1;
    return kNoError;
  };
  int32_t half = -1;
  for (int32_t i = 0; i < count && samples.knows_digests(); ++i) {
    ITG_TRY(half_if_one(i, &half));
    if (half >= 0) ++members[half];
  }
  const int32_t all = members[0] + members[1];
  if (all >= width && context.walk.keeps(all)) {  // none waits for another
    parallel_for(context.fp32.executor, width, [&](int32_t lane) {
      int32_t own = -1;
      for (int32_t i = 0, at = 0; i < count; ++i)
        if (half_if_one(i, &own).ok() && own >= 0 && at++ % width == lane) add(i, own, lane, Executor());
    });
    return kNoError;
  }
  members[0] = members[1] = 0;
  return samples.for_each_batch(part, [&](Span<const int32_t> batch) -> Error {
    int32_t halves[kMaxLanes];
    for (size_t lane = 0; lane < batch.size; ++lane) {
      ITG_TRY(half_if_one(batch[lane], &halves[lane]));
      ++members[halves[lane]];
    }
    ITG_TRY(context.walk.fetch(batch));
    const Executor inner = batch.size == 1 ? context.fp32.executor : Executor();
    parallel_for(context.fp32.executor, static_cast<int32_t>(batch.size),
                 [&](int32_t lane) { add(batch[static_cast<size_t>(lane)], halves[lane], lane, inner); });
    return kNoError;
  });
}

// Mean errors of a layer's output channels, as the samples of each half show them.
class ShownErrors {
 public:
  ShownErrors(size_t channels, Arena& arena)
      : halves_{arena.make<double>(channels), arena.make<double>(channels)},
        all_(arena.make<double>(channels)) {}

  Span<double> of(int32_t half) const { return halves_[half]; }
  // The errors to correct, from samples[h] samples of half h, with so many positions of each output channel.
  Span<const double> expected(const int32_t* samples, double positions) {
    const double count = samples[0] + samples[1];
    for (size_t c = 0; c < all_.size; ++c)
      all_[c] = (samples[0] * halves_[0][c] + samples[1] * halves_[1][c]) / count;
    double share = share_by_count(count, positions);
    if (samples[0] > 0 && samples[1] > 0) {
      const double whole = dot(all_, all_);
      share = whole > 0.0 ? within_one(dot(halves_[0], halves_[1]) / whole) : 0.0;
    }
    for (double& error : all_) error *= share;
    return all_;
  }

 private:
  Span<double> halves_[2], all_;
};

// Whether samples tell what the layer's bias should be. Of a vector that an activation cuts off they do not: its few values
// are on one side of the cut in some samples and beyond it in others, and a mean error before the cut is not what is left
// behind it. Such vectors steer squeeze-and-excitation blocks.
bool is_told_by_samples(const RecoveryContext& context, int32_t n) {
  if (weight_rule(context.int8.graph(), n) == nullptr) return false;
  const Model& fp32 = context.fp32.model;
  const NodeInfo node = fp32.node(context.int8.graph().nodes[static_cast<size_t>(n)].source);
  const auto clamp = node.options.value<Clamp>();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool is_cut = clamp.min > -kInfinity || clamp.max < kInfinity;
  const Shape shape = fp32.tensor(node.outputs[0]).shape;
  return !is_cut || shape.elements(0, shape.rank - 1) > 1;
}

}  // namespace

// Layers side by side.
void correct_layers_alone(RecoveryContext& context, int32_t half) {
  const int32_t nodes = static_cast<int32_t>(context.int8.graph().nodes.size()),
                lanes = context.fp32.lane_count;
  parallel_for(context.fp32.executor, lanes, [&](int32_t lane) {
    for (int32_t n = lane; n < nodes; n += lanes)
      if (weight_rule(context.int8.graph(), n) != nullptr)
        correct_layer_alone(context, n, half, lane, Executor());
  });
}

Error correct_layer(RecoveryContext& context, int32_t n, int32_t stand, Part part) {
  if (!context.samples.has_source()) {
    correct_layer_alone(context, n, kBothHalves, 0, context.fp32.executor);
    return context.int8.update_layer(n);
  }
  Arena scratch = context.int8.arena();
  const Graph& graph = context.int8.graph();
  const Model& int8 = context.int8.session().model();
  const auto lanes = static_cast<size_t>(context.fp32.lane_count);
  const size_t inputs = patch_size(int8, int8.node(n));
  const Span<double> means = scratch.make<double>(lanes * inputs);
  // How many samples there are of each half, then the sums of the halves' means, a lane behind the other.
  const Span<int64_t> sums = scratch.make<int64_t>(2 + lanes * 2 * inputs);
  const QuantRule& rule = *weight_rule(graph, n);
  ShownErrors errors(biases_of(graph, n, rule).size, scratch);
  if (scratch.exhausted()) return {Status::kOutOfMemory, n};
  const auto sums_of = [&](size_t lane, int32_t half) {
    return sums.data + 2 + (2 * lane + static_cast<size_t>(half)) * inputs;
  };
  const auto add = [&](int32_t i, int32_t half, int32_t lane, const Executor& executor) {
    const Span<double> own{means.data + static_cast<size_t>(lane) * inputs, inputs};
    patch_means(context.walk.bring(i, {stand, n}, lane, executor), n, *context.observing.patch_sums, own);
    add_means(sums_of(static_cast<size_t>(lane), half), own);
  };
  const auto walk = [&]() -> Error {
    int32_t found[2] = {};
    Error error;
    context.fp32.threads.hold([&] { error = for_each_member(context, part, found, add); });
    for (size_t i = 2 * inputs; i < lanes * 2 * inputs; ++i) sums[2 + i % (2 * inputs)] += sums[2 + i];
    sums[0] = found[0];
    sums[1] = found[1];
    return error;
  };
  ITG_TRY(context.samples.add_up(
      {"mean inputs", context.int8.bytes(), static_cast<int32_t>(part), n},
      intaglio::sums_of(SumKind::kIntegers, Span<int64_t>{sums.data, 2 + 2 * inputs}), walk));
  const int32_t members[2] = {static_cast<int32_t>(sums[0]), static_cast<int32_t>(sums[1])};
  for (const int32_t half : {0, 1}) {
    if (members[half] == 0) continue;
    for (size_t i = 0; i < inputs; ++i)
      means[i] = mean_of(sums_of(0, half)[i], static_cast<uint32_t>(members[half]));
    const Span<const double> int8_means{means.data, inputs};
    for_each_mean_error(context, n, half, &int8_means, 0, context.fp32.executor,
                        [&](size_t c, double shown) { errors.of(half)[c] = shown; });
  }
  const Shape shape = int8.tensor(int8.node(n).outputs[0]).shape;
  const auto positions = static_cast<double>(shape.elements(0, shape.rank - 1));
  const Span<const double> expected = errors.expected(members, positions);
  bool moved = false;
  for (size_t c = 0; c < expected.size; ++c) moved = move_bias(graph, n, rule, c, expected[c]) || moved;
  return moved ? context.int8.update_layer(n) : kNoError;  // which packs all weights anew
}

// A copy of all biases, and what correct_layer() makes for one layer where samples run again.
uint64_t bias_correction_bytes(const Model& fp32, const CalibratorOptions& options) {
  uint64_t biases = 0, most_channels = 0, most_inputs = 0;
  for (int32_t n = 0; n < fp32.node_count(); ++n) {
    const NodeInfo node = fp32.node(n);
    const OpDef* const def = find_op(float_ops(), fp32, node);
    if (def == nullptr || def->quant.weight_input < 0 || !becomes_int8(fp32, n, options)) continue;
    const TensorInfo weights = fp32.tensor(node.inputs[static_cast<size_t>(def->quant.weight_input)]);
    const auto channels = static_cast<uint64_t>(weights.shape[def->quant.weight_axis]);
    const uint64_t inputs = patch_size(fp32, node);
    biases += channels;
    most_channels = channels > most_channels ? channels : most_channels;
    most_inputs = inputs > most_inputs ? inputs : most_inputs;
  }
  if (options.one_pass) return sizeof(int32_t) * biases + alignof(double);
  const auto lanes = static_cast<uint64_t>(lane_count(options.executor));
  return sizeof(int32_t) * biases + lanes * most_inputs * (sizeof(double) + 2 * sizeof(int64_t)) +
         2 * sizeof(int64_t) + 3 * sizeof(double) * most_channels + 6 * alignof(double);
}

Error correct_layers(RecoveryContext& context, int32_t half) {
  const Graph& graph = context.int8.graph();
  const auto nodes = static_cast<int32_t>(graph.nodes.size());
  context.walk.start();
  for (int32_t n = 0; n < nodes; ++n) {
    if (!is_told_by_samples(context, n)) continue;
    ITG_TRY(context.step("range method", n, nodes));
    ITG_TRY(correct_layer(context, n, n, half == 0 ? Part::kEvenHalf : Part::kOddHalf));
  }
  return kNoError;
}

bool corrects_by_samples(const RecoveryContext& context) {
  constexpr RecoveryMask kBoth = recovery::kBiasCorrection | recovery::kMeansAlone;
  return context.samples.has_source() && (context.options.recover & kBoth) == recovery::kBiasCorrection;
}

namespace {

enum class Means : uint8_t { kAlone, kOfJudges, kOfAll };

// All layers. `reached`: by the walk.
Error correct_all(RecoveryContext& context, Means means, int32_t& reached) {
  const Graph& graph = context.int8.graph();
  const auto nodes = static_cast<int32_t>(graph.nodes.size());
  const auto correct = [&]() -> Error {
    ITG_TRY(context.step("bias correction", 0, nodes));
    if (means == Means::kAlone) correct_layers_alone(context);
    if (means == Means::kAlone) return context.int8.update_layers();
    context.walk.start();
    for (int32_t n = 0; n < nodes; ++n) {
      if (!is_told_by_samples(context, n)) continue;
      ITG_TRY(context.step("bias correction", n, nodes));
      ITG_TRY(correct_layer(context, n, n, means == Means::kOfJudges ? Part::kJudges : Part::kAll));
      reached = n;
    }
    return kNoError;
  };
  Error error;
  context.fp32.threads.hold([&] { error = correct(); });
  return error;
}

// The same, and the error that is left.
Error correct_and_measure(RecoveryContext& context, Means means, NetworkError& after) {
  Question question{"after bias correction"};
  int32_t reached = 0;
  ITG_TRY(correct_all(context, means, reached));
  if (means != Means::kAlone) question.node = reached;
  if (means == Means::kOfAll) question.part = Part::kAll;
  return context.judge.ask(question, after);
}

// Undone where the network's error grows. By samples the judges' layers come first, where not all judge: what
// does not even help those is not tried with all.
Error attempt(RecoveryContext& context, bool by_samples, Candidate& best) {
  Graph& graph = context.int8.graph();
  Arena& arena = context.int8.arena();
  const Arena before_copy = arena;
  const Span<int32_t> copy = copy_biases(graph, arena);
  if (arena.exhausted()) return {Status::kOutOfMemory};
  const int64_t revision = context.int8.revision();
  NetworkError after;
  bool helps = true;
  if (by_samples && !context.samples.all_judge()) {
    ITG_TRY(correct_and_measure(context, Means::kOfJudges, after));
    ITG_TRY(context.waiting.error());
    helps = !after.worse_than(best.error);
  }
  if (helps) ITG_TRY(correct_and_measure(context, by_samples ? Means::kOfAll : Means::kAlone, after));
  ITG_TRY(context.waiting.error());
  if (context.guard.keeps(recovery::kBiasCorrection, best.error, after)) {
    best.error = after;
    (by_samples ? best.biases.by_samples : best.biases.alone) = true;
    if (by_samples) context.judge.tell_results();
  } else {
    put_biases_back(graph, copy);
    Error error;
    context.fp32.threads.hold([&] { error = context.int8.update_layers(); });
    ITG_TRY(error);
    context.int8.is_again(revision);
  }
  arena = before_copy;
  return kNoError;
}

}  // namespace

Result<Candidate> correct_biases(RecoveryContext& context, const Candidate& now) {
  Candidate best = now;
  ITG_TRY(attempt(context, false, best));
  if (corrects_by_samples(context) && now.by_samples) ITG_TRY(attempt(context, true, best));
  return best;
}

Result<Candidate> correct_biases_as(RecoveryContext& context, const KeptBiases& before,
                                    const Candidate& now) {
  Candidate made = now;
  made.biases = {before.alone, before.by_samples && corrects_by_samples(context)};
  int32_t reached = 0;
  if (made.biases.alone) ITG_TRY(correct_all(context, Means::kAlone, reached));
  const bool in_two = !context.samples.all_judge();
  if (made.biases.by_samples && in_two) ITG_TRY(correct_all(context, Means::kOfJudges, reached));
  if (made.biases.by_samples) ITG_TRY(correct_all(context, Means::kOfAll, reached));
  // Later steps are kept or undone by the error of the model as it is now.
  const bool is_judged = (context.options.recover & recovery::kLayers) != 0;
  return is_judged ? context.judged("after bias correction", made) : made;
}

}  // namespace intaglio

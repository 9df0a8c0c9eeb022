#include "calibrator/recover/bias_correction.h"

#include <limits>

#include "calibrator/observe/patch_means.h"
#include "calibrator/quantization/int8_nodes.h"
#include "calibrator/quantization/scales.h"
#include "calibrator/recover/mean_shifts.h"
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

// Calls visit(channel, error): the mean output of the FP32 layer over `half` of the samples, less that of the int8 one, which is
// given without biases; nullptr: what it gives for the mean inputs of the FP32 model. Channels may be visited at once.
template <typename Visit>
void for_each_mean_error(RecoveryContext& context, int32_t n, int32_t half, const double* int8_means,
                         int32_t lane, const Executor& executor, Visit&& visit) {
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
  const auto channels = static_cast<int32_t>(biases.size);
  parallel_for(executor, (channels + kMeanLanes - 1) / kMeanLanes, [&](int32_t block) {
    const int32_t first = block * kMeanLanes,
                  count = channels - first < kMeanLanes ? channels - first : kMeanLanes;
    double exact_mean[kMeanLanes], int8_mean[kMeanLanes];
    known_or_computed(kept.of_reals, kept.knows_reals, first, count, exact_mean, [&] {
      mean_outputs(exact_node, weights.shape, exact, first, count, fp32_means, exact_mean);
    });
    if (alone)
      known_or_computed(kept.of_codes, knows_codes, first, count, int8_mean, [&] {
        mean_outputs(exact_node, weights.shape, codes, first, count, fp32_means, int8_mean);
      });
    for (int32_t l = 0; l < count; ++l) {
      const auto c = static_cast<size_t>(first + l);
      const auto scale = static_cast<double>(weights.quantization.scales[c]);
      const double mean = alone ? int8_mean[l] * scale : int8_means[c];
      visit(c, exact_mean[l] + (has_bias ? static_cast<double>(exact_bias[c]) : 0.0) -
                   (mean + biases[c] * bias_step(graph, n, rule, c)));
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

// `value`, or the end of the range from `a` to `b` that is nearest to it.
double within(double a, double b, double value) {
  const double least = a < b ? a : b, most = a < b ? b : a;
  return value < least ? least : value > most ? most : value;
}

// See correct_layer().
double share_by_count(double samples, double positions) {
  constexpr double kOfASample = 1.0, kOfAPosition = 16.0;
  return samples / (samples + kOfASample + kOfAPosition / positions);
}

// The halves of the samples of a batch.
Error find_halves(RecoveryContext& context, Span<const int32_t> batch, int32_t* halves, int64_t* members) {
  for (size_t lane = 0; lane < batch.size; ++lane) {
    bool is_odd = false;
    ITG_TRY(context.samples.belongs(batch[lane], Part::kOddHalf, &is_odd));
    halves[lane] = is_odd ? 1 : 0;
    ++members[halves[lane]];
  }
  return kNoError;
}

// Calls visit(first, outputs) for blocks of the channels of an int8 layer: mean outputs without biases, given mean inputs, over the
// weights' scales.
template <typename Visit>
void for_each_mean_output(const RecoveryContext& context, int32_t n, Span<const double> inputs,
                          Visit&& visit) {
  const Graph& graph = context.int8.graph();
  const TensorInfo& weights = weights_of(graph, n, *weight_rule(graph, n));
  const NodeInfo node = context.int8.session().model().node(n);
  const auto* const codes = reinterpret_cast<const int8_t*>(weights.constant.data);
  const auto channels = static_cast<int32_t>(weights.quantization.scales.size);
  for (int32_t first = 0; first < channels; first += kMeanLanes) {
    const int32_t count = channels - first < kMeanLanes ? channels - first : kMeanLanes;
    double outputs[kMeanLanes];
    mean_outputs(node, weights.shape, codes, first, count, inputs, outputs);
    visit(static_cast<size_t>(first), Span<double>{outputs, static_cast<size_t>(count)});
  }
}

// Sums of codes are below 2^31, and means that are added up below 2^22.
constexpr double kSumUnit = 512.0;

// What is added up of a layer: its mean inputs where it has one tap, which are few, and else its mean outputs, in units of kSumUnit of
// its bias's codes.
bool adds_inputs(const Model& model, const NodeInfo& node) {
  const TensorInfo input = model.tensor(node.inputs[0]);
  return model.tensor(node.inputs[1]).shape.rank <= 2 ||
         patch_size(model, node) == static_cast<size_t>(input.shape.back(0));
}

size_t sum_count(const RecoveryContext& context, int32_t n) {
  const Model& model = context.int8.session().model();
  const Graph& graph = context.int8.graph();
  return adds_inputs(model, model.node(n)) ? patch_size(model, model.node(n))
                                           : biases_of(graph, n, *weight_rule(graph, n)).size;
}

// That of the sample in this session. `room`: for the mean inputs.
void add_layer(const RecoveryContext& context, const Session& session, int32_t n, Span<double> room,
               int64_t* sums) {
  const Span<double> inputs{room.data, patch_size(session.model(), session.model().node(n))};
  patch_means(session, n, *context.observing.patch_sums, inputs);
  if (adds_inputs(session.model(), session.model().node(n))) return add_means(sums, inputs);
  const TensorInfo input = session.model().tensor(session.model().node(n).inputs[0]);
  const double unit = kSumUnit * static_cast<double>(input.quantization.scales[0]);
  for_each_mean_output(context, n, inputs, [&](size_t first, Span<double> outputs) {
    for (double& output : outputs) output /= unit;
    add_means(sums + first, outputs);
  });
}

// Mean errors of a layer's output channels, as the samples of each half show them.
class ShownErrors {
 public:
  ShownErrors(size_t channels, Arena& arena)
      : halves_{arena.make<double>(channels), arena.make<double>(channels)},
        all_(arena.make<double>(channels)) {}

  // Those of a layer, of which samples[h] samples of half h have added up the first sums or the others.
  void show(RecoveryContext& context, int32_t n, const int64_t* samples, const int64_t* sums,
            Span<double> room) {
    for (const int32_t half : {0, 1}) samples_[half] = static_cast<double>(samples[half]);
    const Graph& graph = context.int8.graph();
    const QuantRule& rule = *weight_rule(graph, n);
    channels_ = biases_of(graph, n, rule).size;
    const Model& model = context.int8.session().model();
    const size_t count = sum_count(context, n);
    for (const int32_t half : {0, 1}) {
      const Span<double> errors = of(half);
      for (double& error : errors) error = 0.0;
      if (samples[half] == 0) continue;
      const int64_t* const own = sums + static_cast<size_t>(half) * count;
      const auto mean = [&](size_t i) { return mean_of(own[i], static_cast<uint32_t>(samples[half])); };
      if (adds_inputs(model, model.node(n))) {
        const Span<double> inputs{room.data, count};
        for (size_t i = 0; i < count; ++i) inputs[i] = mean(i);
        const Span<const float> scales = weights_of(graph, n, rule).quantization.scales;
        for_each_mean_output(context, n, inputs, [&](size_t c, Span<double> outputs) {
          for (size_t l = 0; l < outputs.size; ++l, ++c)
            errors[c] = outputs[l] * static_cast<double>(scales[c]);
        });
      } else {
        for (size_t c = 0; c < channels_; ++c) errors[c] = kSumUnit * bias_step(graph, n, rule, c) * mean(c);
      }
      for_each_mean_error(context, n, half, errors.data, 0, context.fp32.executor,
                          [&](size_t c, double shown) { errors[c] = shown; });
    }
  }
  double mean(size_t c) const {
    return (samples_[0] * halves_[0][c] + samples_[1] * halves_[1][c]) / (samples_[0] + samples_[1]);
  }
  void subtract(size_t c, double error) {
    for (const Span<double>& half : halves_) half[c] -= error;
  }
  // The errors to correct, with so many positions of each output channel.
  Span<const double> expected(double positions) {
    const Span<double> all{all_.data, channels_};
    for (size_t c = 0; c < channels_; ++c) all[c] = mean(c);
    double share = share_by_count(samples_[0] + samples_[1], positions);
    if (samples_[0] > 0.0 && samples_[1] > 0.0) {
      const double whole = dot(all, all);
      share = whole > 0.0 ? within(0.0, 1.0, dot(of(0), of(1)) / whole) : 0.0;
    }
    for (double& error : all) error *= share;
    return all;
  }

 private:
  Span<double> of(int32_t half) const { return {halves_[half].data, channels_}; }

  Span<double> halves_[2], all_;
  double samples_[2] = {};
  size_t channels_ = 0;
};

double positions_of(const Model& model, int32_t n) {
  const Shape shape = model.tensor(model.node(n).outputs[0]).shape;
  return static_cast<double>(shape.elements(0, shape.rank - 1));
}

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

Error correct_layer(RecoveryContext& context, int32_t n, int32_t stand) {
  if (!context.samples.has_source()) {
    correct_layer_alone(context, n, kBothHalves, 0, context.fp32.executor);
    return context.int8.update_layer(n);
  }
  Arena scratch = context.int8.arena();
  const Graph& graph = context.int8.graph();
  const Model& int8 = context.int8.session().model();
  const QuantRule& rule = *weight_rule(graph, n);
  const auto lanes = static_cast<size_t>(context.fp32.lane_count);
  const size_t inputs = patch_size(int8, int8.node(n)), channels = biases_of(graph, n, rule).size;
  const Span<double> room = scratch.make<double>(lanes * inputs);
  const size_t count = sum_count(context, n);
  const Span<int64_t> sums = scratch.make<int64_t>(lanes * 2 * count);  // of both halves, by lanes
  ShownErrors errors(channels, scratch);
  if (scratch.exhausted()) return {Status::kOutOfMemory, n};
  int64_t members[2] = {};
  const Error error = context.samples.for_each_batch(Part::kAll, [&](Span<const int32_t> batch) -> Error {
    int32_t halves[kMaxLanes];
    ITG_TRY(find_halves(context, batch, halves, members));
    ITG_TRY(context.walk.fetch(batch));
    const Executor inner = batch.size == 1 ? context.fp32.executor : Executor();
    parallel_for(context.fp32.executor, static_cast<int32_t>(batch.size), [&](int32_t at) {
      const auto lane = static_cast<size_t>(at);
      add_layer(context, context.walk.bring(batch[lane], {stand, n}, at, inner), n,
                {room.data + lane * inputs, inputs},
                sums.data + (2 * lane + static_cast<size_t>(halves[lane])) * count);
    });
    return kNoError;
  });
  ITG_TRY(error);
  for (size_t i = 2 * count; i < sums.size; ++i) sums[i % (2 * count)] += sums[i];
  errors.show(context, n, members, sums.data, room);
  const Span<const double> expected = errors.expected(positions_of(int8, n));
  bool moved = false;
  for (size_t c = 0; c < channels; ++c) moved = move_bias(graph, n, rule, c, expected[c]) || moved;
  return moved ? context.int8.update_layer(n) : kNoError;  // which packs all weights anew
}

namespace {

// Every layer from one run of the samples through the int8 model. What the corrections of the layers before it bring is not
// corrected again.
class AllLayers {
 public:
  explicit AllLayers(RecoveryContext& context)
      : context_(context),
        scratch_(context.int8.arena()),
        graph_(context.int8.graph()),
        int8_(context.int8.session().model()),
        shifts_(context, scratch_) {}

  // The second run finds what the slopes of the first have missed.
  Error correct() {
    constexpr int32_t kRuns = 2;
    const auto lanes = static_cast<size_t>(context_.fp32.lane_count);
    size_t channels = 0, count = 0;
    room_ = shifts_.most_of_node();
    for_each_layer([&](int32_t n, size_t own) {
      const size_t inputs = patch_size(int8_, int8_.node(n));
      room_ = inputs > room_ ? inputs : room_;
      most_ = own > most_ ? own : most_;
      channels += own;
      count += sum_count(context_, n);
    });
    // Samples of each half; of each layer the sums of both halves; the slopes. Then the same of other lanes, without samples.
    slopes_ = 2 * count;
    one_lane_ = slopes_ + shifts_.slope_count();
    sums_ = scratch_.make<int64_t>(2 + lanes * one_lane_);
    rooms_ = scratch_.make<double>(lanes * room_);
    corrected_ = scratch_.make<double>(channels);
    ShownErrors errors(most_, scratch_);
    const Span<double> brought = scratch_.make<double>(most_), room = scratch_.make<double>(room_);
    if (scratch_.exhausted()) return {Status::kOutOfMemory};
    for (int32_t run = 0; run < kRuns; ++run) {
      for (int64_t& sum : sums_) sum = 0;
      ITG_TRY(context_.samples.add_up(
          {"means of layers", context_.int8.bytes(), static_cast<int32_t>(Part::kAll)},
          sums_of(SumKind::kIntegers, Span<int64_t>{sums_.data, 2 + one_lane_}),
          [&] { return add_samples(); }));
      move_biases(errors, brought, room);
      ITG_TRY(context_.int8.update_layers());
    }
    return kNoError;
  }

  // With the mean errors of the largest layer.
  static uint64_t bytes(const Model& fp32, const CalibratorOptions& options, uint64_t channels, uint64_t sums,
                        uint64_t most_inputs, uint64_t most_channels) {
    const auto lanes = static_cast<uint64_t>(lane_count(options.executor));
    const MeanShifts::Most slopes = MeanShifts::most(fp32);
    const uint64_t room = slopes.of_node > most_inputs ? slopes.of_node : most_inputs;
    return MeanShifts::bytes(fp32, options) + sizeof(int64_t) * (2 + lanes * (2 * sums + slopes.all)) +
           sizeof(double) * (channels + (lanes + 1) * room + 4 * most_channels) + 8 * alignof(double);
  }

 private:
  template <typename Visit>
  void for_each_layer(Visit&& visit) const {
    for (int32_t n = 0; n < int8_.node_count(); ++n)
      if (const QuantRule* const rule = weight_rule(graph_, n)) visit(n, biases_of(graph_, n, *rule).size);
  }

  Error add_samples() {
    const Error error = context_.samples.for_each_batch(Part::kAll, [&](Span<const int32_t> batch) -> Error {
      ITG_TRY(context_.step("bias correction", batch[0], context_.samples.count()));
      int32_t halves[kMaxLanes];
      ITG_TRY(find_halves(context_, batch, halves, sums_.data));
      ITG_TRY(context_.samples.load_each(batch));
      const Executor inner = batch.size == 1 ? context_.fp32.executor : Executor();
      parallel_for(context_.fp32.executor, static_cast<int32_t>(batch.size),
                   [&](int32_t lane) { add_sample(lane, halves[static_cast<size_t>(lane)], inner); });
      return kNoError;
    });
    for (size_t i = 2 + one_lane_; i < sums_.size; ++i) sums_[2 + (i - 2) % one_lane_] += sums_[i];
    return error;
  }

  void add_sample(int32_t lane, int32_t half, const Executor& executor) const {
    Session session = context_.int8.lanes().of(context_.int8.session(), lane, executor);
    copy_inputs(context_.fp32.on_lane(lane, executor), session);
    const auto l = static_cast<size_t>(lane);
    const Span<double> room{rooms_.data + l * room_, room_};
    int64_t* const sums = sums_.data + 2 + l * one_lane_;
    size_t first = 0;
    for (int32_t n = 0; n < int8_.node_count(); ++n) {
      if (weight_rule(graph_, n) != nullptr) {
        const size_t own = sum_count(context_, n);
        add_layer(context_, session, n, room, sums + first + (half == 0 ? 0 : own));
        first += 2 * own;
      }
      shifts_.run(session, n, room, sums + slopes_);
    }
  }

  void move_biases(ShownErrors& errors, Span<double> brought, Span<double> room) {
    shifts_.start({sums_.data + 2 + slopes_, one_lane_ - slopes_},
                  static_cast<uint32_t>(sums_[0] + sums_[1]));
    size_t first = 2, first_channel = 0;
    for (int32_t n = 0; n < int8_.node_count(); ++n) {
      const QuantRule* const rule = weight_rule(graph_, n);
      if (rule == nullptr) {
        shifts_.pass(context_.int8.session(), n);
        continue;
      }
      const size_t channels = biases_of(graph_, n, *rule).size;
      errors.show(context_, n, sums_.data, sums_.data + first, room);
      first += 2 * sum_count(context_, n);
      const Span<double> corrected{corrected_.data + first_channel, channels};
      first_channel += channels;
      const NodeInfo node = int8_.node(n);
      const Span<double> inputs{room.data, patch_size(int8_, node)};
      for (size_t i = 0; i < inputs.size; ++i) inputs[i] = shifts_.of(node.inputs[0], i);
      const Span<const float> scales = weights_of(graph_, n, *rule).quantization.scales;
      for_each_mean_output(context_, n, inputs, [&](size_t c, Span<double> shifts) {
        for (size_t l = 0; l < shifts.size; ++l, ++c) {
          brought[c] = within(0.0, 2.0 * errors.mean(c), shifts[l] * static_cast<double>(scales[c]));
          errors.subtract(c, brought[c] - corrected[c]);  // an earlier run's share was of the whole, too
        }
      });
      const bool is_told = is_told_by_samples(context_, n);
      const Span<const double> expected = errors.expected(positions_of(int8_, n));
      for (size_t c = 0; c < channels; ++c) {
        const double error = is_told ? expected[c] - corrected[c] : 0.0;
        corrected[c] += error;
        if (is_told) move_bias(graph_, n, *rule, c, error);
        shifts_.shift_sum(n, c, brought[c] + error);
      }
    }
  }

  RecoveryContext& context_;
  Arena scratch_;
  const Graph& graph_;
  const Model int8_;
  MeanShifts shifts_;
  Span<int64_t> sums_;
  Span<double> rooms_, corrected_;
  size_t slopes_ = 0, one_lane_ = 0, room_ = 0, most_ = 0;
};

}  // namespace

// A copy of all biases, and what all layers take at once, which is more than correct_layer() does for one.
uint64_t bias_correction_bytes(const Model& fp32, const CalibratorOptions& options) {
  if ((options.recover & recovery::kBiasCorrection) == 0) return 0;
  uint64_t biases = 0, sums = 0, most_channels = 0, most_inputs = 0;
  for (int32_t n = 0; n < fp32.node_count(); ++n) {
    const NodeInfo node = fp32.node(n);
    const OpDef* const def = find_op(float_ops(), fp32, node);
    if (def == nullptr || def->quant.weight_input < 0 || !becomes_int8(fp32, n, options)) continue;
    const TensorInfo weights = fp32.tensor(node.inputs[static_cast<size_t>(def->quant.weight_input)]);
    const auto channels = static_cast<uint64_t>(weights.shape[def->quant.weight_axis]);
    const uint64_t inputs = patch_size(fp32, node);
    biases += channels;
    sums += adds_inputs(fp32, node) ? inputs : channels;
    most_channels = channels > most_channels ? channels : most_channels;
    most_inputs = inputs > most_inputs ? inputs : most_inputs;
  }
  const uint64_t copy = sizeof(int32_t) * biases + alignof(double);
  if (options.one_pass) return copy;  // no sample runs again
  return copy + AllLayers::bytes(fp32, options, biases, sums, most_inputs, most_channels);
}

namespace {

// All layers.
Error correct(RecoveryContext& context, bool by_samples) {
  Error error;
  context.fp32.threads.hold([&] {
    if (!by_samples) correct_layers_alone(context);
    error = by_samples ? AllLayers(context).correct() : context.int8.update_layers();
  });
  return error;
}

}  // namespace

Result<Candidate> correct_biases(RecoveryContext& context, const Candidate& now) {
  const Graph& graph = context.int8.graph();
  Arena& arena = context.int8.arena();
  const Arena before_copy = arena;
  const Span<int32_t> copy = copy_biases(graph, arena);
  if (arena.exhausted()) return Error{Status::kOutOfMemory};
  const bool by_samples = context.samples.has_source();
  int64_t revision = context.int8.revision();
  NetworkError alone, after;
  ITG_TRY(correct(context, false));
  const int64_t revision_alone = context.int8.revision();
  ITG_TRY(context.waiting.put_off(context.judge.ask({"after bias correction"}, alone)));
  if (by_samples) {
    ITG_TRY(correct(context, true));
    ITG_TRY(context.judge.ask({"after bias correction", Part::kAll}, after));
  }
  ITG_TRY(context.waiting.error());
  Candidate best = now;
  const auto keeps = [&](const NetworkError& error) {
    const bool kept = context.guard.keeps(recovery::kBiasCorrection, best.error, error);
    if (kept) best.error = error;
    return kept;
  };
  best.biases.alone = keeps(alone);
  best.biases.by_samples = by_samples && keeps(after);
  const bool stands = by_samples ? best.biases.by_samples : best.biases.alone;
  if (!stands) {
    put_biases_back(graph, copy);
    if (best.biases.alone) {
      correct_layers_alone(context);
      revision = revision_alone;
    }
    Error error;
    context.fp32.threads.hold([&] { error = context.int8.update_layers(); });
    ITG_TRY(error);
    context.int8.is_again(revision);
  }
  arena = before_copy;
  return best;
}

Result<Candidate> correct_biases_as(RecoveryContext& context, const KeptBiases& before,
                                    const Candidate& now) {
  Candidate made = now;
  made.biases = {before.alone, before.by_samples && context.samples.has_source()};
  if (made.biases.alone || made.biases.by_samples) ITG_TRY(correct(context, false));
  if (made.biases.by_samples) ITG_TRY(correct(context, true));
  // Later steps are kept or undone by the error of the model as it is now.
  const bool is_judged = (context.options.recover & recovery::kLayers) != 0;
  return is_judged ? context.judged("after bias correction", made) : made;
}

}  // namespace intaglio

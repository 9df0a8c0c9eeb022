#include "calibrator/recover/bias_correction.h"

#include "calibrator/observe/patch_means.h"
#include "calibrator/quantization/scales.h"
#include "runtime/op.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

Span<int32_t> biases_of(const Graph& graph, int32_t n, const QuantRule& rule) {
  const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
  const TensorInfo& tensor =
      graph.tensors[static_cast<size_t>(node.inputs[static_cast<size_t>(rule.bias_input)])];
  return {reinterpret_cast<int32_t*>(const_cast<uint8_t*>(tensor.constant.data)),
          static_cast<size_t>(tensor.shape.elements())};
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

// Mean inputs of the FP32 layer, in the lane's room for them, over all samples.
Span<double> exact_means(const RecoveryContext& context, int32_t n, int32_t lane) {
  const int32_t source = context.int8.graph().nodes[static_cast<size_t>(n)].source;
  const int64_t *const even = context.seen.mean_sums.data + context.observing.first_sum(source, 0),
                       *const odd = context.seen.mean_sums.data + context.observing.first_sum(source, 1);
  const Span<double> exact = context.observing.means_of(source, lane);
  for (size_t i = 0; i < exact.size; ++i) exact[i] = mean_of(even[i] + odd[i], context.seen.sample_count);
  return exact;
}

// Over the samples that judge.
Span<double> judges_means(const RecoveryContext& context, int32_t n) {
  const int32_t source = context.int8.graph().nodes[static_cast<size_t>(n)].source;
  const int64_t* const sums =
      context.seen.mean_sums.data + context.observing.first_sum(source, context.samples.judging_half());
  const Span<double> exact = context.observing.means_of(source, 0);
  for (size_t i = 0; i < exact.size; ++i)
    exact[i] = mean_of(sums[i], static_cast<uint32_t>(context.samples.judge_count()));
  return exact;
}

void correct_layer_alone(RecoveryContext& context, int32_t n, int32_t lane, const Executor& executor) {
  const Span<double> exact = exact_means(context, n, lane);
  correct_bias(context.int8.graph(), n, context.fp32.model, exact, exact, executor);
}

}  // namespace

void correct_bias(Graph& graph, int32_t n, const Model& fp32, Span<const double> fp32_means,
                  Span<const double> int8_means, const Executor& executor) {
  const QuantRule& rule = *weight_rule(graph, n);
  const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
  const NodeInfo exact_node = fp32.node(node.source);
  const auto weight = static_cast<size_t>(rule.weight_input), bias = static_cast<size_t>(rule.bias_input);
  const TensorInfo exact_weights = fp32.tensor(exact_node.inputs[weight]);
  const TensorInfo& weights = graph.tensors[static_cast<size_t>(node.inputs[weight])];
  const auto* exact = reinterpret_cast<const float*>(exact_weights.constant.data);
  const auto* codes = reinterpret_cast<const int8_t*>(weights.constant.data);
  const bool has_bias = bias < exact_node.inputs.size && exact_node.inputs[bias] >= 0;
  const auto* exact_bias =
      has_bias ? reinterpret_cast<const float*>(fp32.tensor(exact_node.inputs[bias]).constant.data) : nullptr;
  const TensorInfo& input = graph.tensors[static_cast<size_t>(node.inputs[0])];
  const auto in_scale = static_cast<double>(input.quantization.scales[0]);
  const Span<int32_t> biases = biases_of(graph, n, rule);
  const auto channels = static_cast<int32_t>(biases.size);
  parallel_for(executor, (channels + kMeanLanes - 1) / kMeanLanes, [&](int32_t block) {
    const int32_t first = block * kMeanLanes,
                  count = channels - first < kMeanLanes ? channels - first : kMeanLanes;
    double exact_means[kMeanLanes], int8_mean[kMeanLanes];
    mean_outputs(exact_node, weights.shape, exact, first, count, fp32_means, exact_means);
    mean_outputs(exact_node, weights.shape, codes, first, count, int8_means, int8_mean);
    for (int32_t l = 0; l < count; ++l) {
      const int32_t c = first + l;
      int32_t& code = biases[static_cast<size_t>(c)];
      const auto scale = static_cast<double>(weights.quantization.scales[static_cast<size_t>(c)]);
      const double step = in_scale * scale;
      const double exact_mean = exact_means[l] + (has_bias ? static_cast<double>(exact_bias[c]) : 0.0);
      const auto room =
          static_cast<double>(bias_room({codes, weights.constant.size}, weights.shape, rule.weight_axis, c));
      double target = code + (exact_mean - (int8_mean[l] * scale + code * step)) / step;
      target = target > room ? room : (target < -room ? -room : target);
      code = static_cast<int32_t>(round_even(target));
    }
  });
}

// Layers side by side.
Error correct_layers_alone(RecoveryContext& context) {
  const int32_t nodes = static_cast<int32_t>(context.int8.graph().nodes.size()),
                lanes = context.fp32.lane_count;
  parallel_for(context.fp32.executor, lanes, [&](int32_t lane) {
    for (int32_t n = lane; n < nodes; n += lanes)
      if (weight_rule(context.int8.graph(), n) != nullptr) correct_layer_alone(context, n, lane, Executor());
  });
  return context.int8.update_layers();
}

Error correct_layer(RecoveryContext& context, int32_t n, int32_t stand, bool by_judges) {
  if (!context.samples.has_source()) {
    correct_layer_alone(context, n, 0, context.fp32.executor);
    return context.int8.update_layer(n);
  }
  Arena scratch = context.int8.arena();
  const auto lanes = static_cast<size_t>(context.fp32.lane_count);
  const size_t inputs = patch_size(context.int8.session().model(), context.int8.session().model().node(n));
  const Span<double> means = scratch.make<double>(lanes * inputs);
  const Span<int64_t> sums = scratch.make<int64_t>(lanes * inputs);
  if (scratch.exhausted()) return {Status::kOutOfMemory, n};
  const auto add = [&](int32_t i, int32_t lane, const Executor& executor) {
    const Span<double> own{means.data + static_cast<size_t>(lane) * inputs, inputs};
    patch_means(context.walk.bring(i, {stand, n}, lane, executor), n, *context.observing.patch_sums, own);
    int64_t* const sum = sums.data + static_cast<size_t>(lane) * inputs;
    add_means(sum, own);
  };
  Replay& samples = context.samples;
  by_judges = by_judges && !samples.all_judge();
  const Part part = by_judges ? Part::kJudges : Part::kAll;
  const int32_t count = samples.count(), width = context.fp32.lane_count,
                members = by_judges ? samples.judge_count() : count;
  Error error;
  const auto add_batch = [&](Span<const int32_t> batch) {
    error = context.walk.fetch(batch);
    if (!error.ok()) return;
    const Executor inner = batch.size == 1 ? context.fp32.executor : Executor();
    parallel_for(context.fp32.executor, static_cast<int32_t>(batch.size),
                 [&](int32_t lane) { add(batch[static_cast<size_t>(lane)], lane, inner); });
  };
  const auto add_all = [&] {
    const bool known = !by_judges || samples.knows_digests();
    if (known && context.walk.keeps(members) && members >= width)  // none waits for another
      return parallel_for(context.fp32.executor, width, [&](int32_t lane) {
        for (int32_t i = 0, at = 0; i < count; ++i)
          if ((!by_judges || samples.judges(i)) && at++ % width == lane) add(i, lane, Executor());
      });
    int32_t batch[kMaxLanes];
    size_t waiting = 0;
    for (int32_t i = 0; i < count && error.ok(); ++i) {
      bool is_one = false;
      error = samples.belongs(i, part, &is_one);
      if (is_one) batch[waiting++] = i;
      if (waiting < static_cast<size_t>(width) && (i + 1 < count || waiting == 0)) continue;
      if (error.ok()) add_batch({batch, waiting});
      waiting = 0;
    }
  };
  context.fp32.threads.hold([&] { add_all(); });
  ITG_TRY(error);
  for (size_t i = 0; i < inputs; ++i) {
    int64_t sum = 0;
    for (size_t lane = 0; lane < lanes; ++lane) sum += sums[lane * inputs + i];
    means[i] = mean_of(sum, static_cast<uint32_t>(members));
  }
  correct_bias(context.int8.graph(), n, context.fp32.model,
               by_judges ? judges_means(context, n) : exact_means(context, n, 0), {means.data, inputs},
               context.fp32.executor);
  return context.int8.update_layer(n);
}

namespace {

enum class Means : uint8_t { kAlone, kOfJudges, kOfAll };

// All layers, and the error that is left.
Error correct_all(RecoveryContext& context, Means means, NetworkError& after) {
  const Graph& graph = context.int8.graph();
  const auto nodes = static_cast<int32_t>(graph.nodes.size());
  int32_t reached = 0;  // by the walk
  const auto correct = [&]() -> Error {
    ITG_TRY(context.step("bias correction", 0, nodes));
    if (means == Means::kAlone) return correct_layers_alone(context);
    context.walk.start();
    for (int32_t n = 0; n < nodes; ++n) {
      if (weight_rule(graph, n) == nullptr) continue;
      ITG_TRY(context.step("bias correction", n, nodes));
      ITG_TRY(correct_layer(context, n, n, means == Means::kOfJudges));
      reached = n;
    }
    return kNoError;
  };
  Error error;
  context.fp32.threads.hold([&] { error = correct(); });
  ITG_TRY(error);
  if (means == Means::kAlone) return context.measure("after bias correction", after);
  const Part part = means == Means::kOfAll ? Part::kAll : Part::kJudges;
  return context.measure_from(reached, "after bias correction", after, part);
}

// Undone where the network's error grows. By samples the judges' layers come first, where not all judge: what
// does not even help those is not tried with all.
Error attempt(RecoveryContext& context, bool by_samples) {
  Graph& graph = context.int8.graph();
  Arena& arena = context.int8.arena();
  const Arena before_copy = arena;
  const Span<int32_t> copy = copy_biases(graph, arena);
  if (arena.exhausted()) return {Status::kOutOfMemory};
  const NetworkError before = context.error;
  const int64_t revision = context.int8.revision();
  NetworkError after;
  bool kept = true;
  if (!by_samples) {
    ITG_TRY(correct_all(context, Means::kAlone, after));
  } else {
    if (!context.samples.all_judge()) {
      ITG_TRY(correct_all(context, Means::kOfJudges, after));
      kept = !after.worse_than(before);
    }
    if (kept) ITG_TRY(correct_all(context, Means::kOfAll, after));
  }
  kept = !after.worse_than(before);
  context.record({recovery::kBiasCorrection, -1, -1, before.ratio(), after.ratio(),
                  kept ? RecoveryVerdict::kKept : RecoveryVerdict::kNetworkWorse});
  if (kept) {
    context.error = after;
    if (by_samples) context.tell_measured();
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

Error correct_biases(RecoveryContext& context) {
  ITG_TRY(attempt(context, false));
  return context.samples.has_source() ? attempt(context, true) : kNoError;
}

}  // namespace intaglio

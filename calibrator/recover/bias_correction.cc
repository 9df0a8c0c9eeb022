#include "calibrator/recover/bias_correction.h"

#include "calibrator/patch_means.h"
#include "calibrator/scales.h"
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

// Mean inputs of the FP32 layer.
Span<double> exact_means(RecoveryContext& context, int32_t n, Arena& arena) {
  CalibratorMemory& memory = context.memory;
  const auto source = static_cast<size_t>(context.int8.graph().nodes[static_cast<size_t>(n)].source);
  const Span<double> exact = arena.make<double>(memory.means_of(static_cast<int32_t>(source), 0).size);
  for (size_t i = 0; i < exact.size; ++i)
    exact[i] = mean_of(memory.seen.mean_sums[memory.first_mean[source] + i], memory.seen.sample_count);
  return exact;
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

Error correct_layer_alone(RecoveryContext& context, int32_t n) {
  CalibratorMemory& memory = context.memory;
  Arena scratch = context.int8.arena();
  const Span<double> exact = exact_means(context, n, scratch);
  if (scratch.exhausted()) return {Status::kOutOfMemory, n};
  correct_bias(context.int8.graph(), n, memory.model, exact, exact, memory.options.executor);
  return context.int8.update_layer(n);
}

Error correct_layer(RecoveryContext& context, int32_t n, int32_t stand) {
  if (!context.samples.has_source()) return correct_layer_alone(context, n);
  CalibratorMemory& memory = context.memory;
  Arena scratch = context.int8.arena();
  const Span<double> exact = exact_means(context, n, scratch);
  const auto lanes = memory.lane_states.size, inputs = exact.size;
  const Span<double> means = scratch.make<double>(lanes * inputs);
  const Span<int64_t> sums = scratch.make<int64_t>(lanes * inputs);
  if (scratch.exhausted()) return {Status::kOutOfMemory, n};
  const auto add = [&](int32_t i, int32_t lane, const Executor& executor) {
    const Span<double> own{means.data + static_cast<size_t>(lane) * inputs, inputs};
    patch_means(context.walk.bring(i, {stand, n}, lane, executor), n, *memory.patch_sums, own);
    int64_t* const sum = sums.data + static_cast<size_t>(lane) * inputs;
    for (size_t c = 0; c < inputs; ++c) add_mean(sum[c], own[c]);
  };
  Error error;
  memory.threads.hold([&] {
    const int32_t samples = context.samples.count();
    for (int32_t first = 0; first < samples; first += memory.lane_count()) {
      const int32_t left = samples - first, count = left < memory.lane_count() ? left : memory.lane_count();
      for (int32_t lane = 0; lane < count && error.ok(); ++lane)
        error = context.walk.fetch(first + lane, lane);
      if (!error.ok()) return;
      const Executor inner = count == 1 ? memory.options.executor : Executor();
      parallel_for(memory.options.executor, count, [&](int32_t lane) { add(first + lane, lane, inner); });
    }
  });
  ITG_TRY(error);
  for (size_t i = 0; i < inputs; ++i) {
    int64_t sum = 0;
    for (size_t lane = 0; lane < lanes; ++lane) sum += sums[lane * inputs + i];
    means[i] = mean_of(sum, static_cast<uint32_t>(context.samples.count()));
  }
  correct_bias(context.int8.graph(), n, memory.model, exact, {means.data, inputs}, memory.options.executor);
  return context.int8.update_layer(n);
}

namespace {

// Undone where the network's error grows.
Error attempt(RecoveryContext& context, bool by_samples) {
  Graph& graph = context.int8.graph();
  Arena& arena = context.int8.arena();
  const Arena before_copy = arena;
  const Span<int32_t> copy = copy_biases(graph, arena);
  if (arena.exhausted()) return {Status::kOutOfMemory};
  const NetworkError before = context.error;
  const int64_t revision = context.int8.revision();
  NetworkError after;
  const auto nodes = static_cast<int32_t>(graph.nodes.size());
  int32_t reached = 0;  // by the walk
  context.walk.start();
  const auto correct_all = [&]() -> Error {
    for (int32_t n = 0; n < nodes; ++n) {
      if (weight_rule(graph, n) == nullptr) continue;
      ITG_TRY(context.step("bias correction", n, nodes));
      ITG_TRY(by_samples ? correct_layer(context, n, n) : correct_layer_alone(context, n));
      reached = n;
    }
    return kNoError;
  };
  Error error;
  context.memory.threads.hold([&] { error = correct_all(); });
  ITG_TRY(error);
  ITG_TRY(by_samples ? context.measure_from(reached, "after bias correction", after)
                     : context.measure("after bias correction", after));
  const bool kept = !after.worse_than(before);
  context.record({recovery::kBiasCorrection, -1, -1, before.ratio(), after.ratio(),
                  kept ? RecoveryVerdict::kKept : RecoveryVerdict::kNetworkWorse});
  if (kept) {
    context.error = after;
    if (by_samples) context.tell_measured();
  } else {
    put_biases_back(graph, copy);
    for (int32_t n = 0; n < nodes; ++n)
      if (weight_rule(graph, n) != nullptr) ITG_TRY(context.int8.update_layer(n));
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

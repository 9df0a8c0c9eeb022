#include "calibrator/recover/layer_recovery.h"

#include "calibrator/judge/evaluate.h"
#include "calibrator/recover/bias_correction.h"
#include "calibrator/recover/weights/weight_recoveries.h"
#include "runtime/liveness.h"
#include "runtime/op_search.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

// Variance that is added to each input's, of their mean (finish_moments()), and how much more of it for each
// input that a position has to tell apart.
constexpr double kDamping = 0.02, kDampingPerInput = 0.5;
constexpr int32_t kSweeps = 20, kSteps = 20;

struct LayerChange {
  RecoveryMask recovery;
  const char* stage;
  void (*change)(LayerWeights& weights, const WeightWork& work);
};

// Nodes [first, end) of the int8 model; `output` is all that later nodes read of them.
struct Block {
  int32_t first = 0, end = 0, output = -1;
};

template <typename T>
Span<T> writable(Span<const T> values) {
  return {const_cast<T*>(values.data), values.size};
}

class BlockRecovery {
 public:
  BlockRecovery(RecoveryContext& context, const Candidate& now, const LayerChange& what)
      : context_(context), int8_(context.int8), now_(now), what_(what) {}

  Result<Candidate> run() {
    if (!context_.samples.knows_digests())
      return Error{Status::kOutOfMemory, -1, -1, static_cast<int64_t>(context_.options.replay_bytes),
                   static_cast<int64_t>(context_.options.replay_bytes) + 1};
    Session& fp32 = context_.fp32.session;
    context_.walk.start();
    exact_walk_ =
        SampleWalk(context_.samples, context_.fp32, fp32, context_.fp32.lanes, context_.walk.rest());
    exact_walk_.start((context_.samples.count() + 3) / 4);
    ITG_TRY(context_.judge.ask({what_.stage, Part::kHeldOut}, held_out_));
    const int32_t nodes = int8_.session().model().node_count();
    bool changed = false;
    ITG_TRY(attempt_whole({0, nodes, -1}, &changed));
    if (changed) return now_;
    for (Block block = next_block(0); block.first < nodes; block = next_block(block.end)) {
      if (!has_weights(block)) continue;
      ITG_TRY(context_.step(what_.stage, block.first, nodes));
      ITG_TRY(attempt(block, &changed));
    }
    return changed ? context_.judged(what_.stage, now_) : now_;
  }

 private:
  const Model& model() const { return int8_.session().model(); }

  Block next_block(int32_t first) const {
    Block block{first, first, -1};
    while (block.end < model().node_count() && block.output < 0) block.output = single_tensor_at(++block.end);
    return block;
  }

  // The one activation that nodes from `node` on read of those before it; -1: several, or one that FP32 has
  // not.
  int32_t single_tensor_at(int32_t node) const {
    int32_t found = -1, count = 0;
    const auto look = [&](int32_t tensor, int32_t written_at) {
      if (last_use(model(), tensor, written_at) < node) return;
      found = tensor;
      ++count;
    };
    for (const int32_t input : model().inputs()) look(input, -1);
    for (int32_t n = 0; n < node; ++n)
      for (const int32_t output : model().node_outputs(n)) look(output, n);
    return count == 1 && exact_writer(found) >= 0 ? found : -1;
  }

  // Node of the FP32 model that writes the tensor of the same name.
  int32_t exact_writer(int32_t tensor) const {
    const Model& fp32 = context_.fp32.model;
    for (int32_t n = 0; n < fp32.node_count(); ++n)
      if (strcmp(fp32.tensor(fp32.node(n).outputs[0]).name, model().tensor(tensor).name) == 0) return n;
    return -1;
  }

  bool has_weights(const Block& block) const {
    for (int32_t n = block.first; n < block.end; ++n)
      if (is_layer(n)) return true;
    return false;
  }

  bool is_whole(const Block& block) const { return block.first == 0 && block.end == model().node_count(); }

  // ---- all blocks at once

  // Few samples held out say little of the model's outputs, but much of the many values between its blocks:
  // it is those that have to come nearer to FP32, and the outputs over all samples.
  Error attempt_whole(const Block& whole, bool* changed) {
    Arena& arena = int8_.arena();
    const Arena before_copies = arena;
    const Span<LayerWeights> copies = copy_weights(whole);
    const Span<double> before = arena.make<double>(static_cast<size_t>(whole.end)),
                       after = arena.make<double>(static_cast<size_t>(whole.end));
    if (arena.exhausted()) return {Status::kOutOfMemory, whole.first};
    ITG_TRY(measure_cuts(before));
    for (int32_t n = 0; n < whole.end; ++n)
      if (is_layer(n)) ITG_TRY(change_layer(whole, n));
    ITG_TRY(measure_cuts(after));
    NetworkError now;
    ITG_TRY(context_.judge.ask({what_.stage}, now));
    double growth = 0.0;  // in octaves
    for (size_t i = 0; i < before.size; ++i)
      if (before[i] > 0.0 && after[i] > 0.0) growth += log2_real(after[i]) - log2_real(before[i]);
    const RecoveryVerdict verdict = now.worse_than(now_.error) ? RecoveryVerdict::kNetworkWorse
                                    : growth < 0.0             ? RecoveryVerdict::kKept
                                                               : RecoveryVerdict::kBlockWorse;
    context_.guard.record({what_.recovery, -1, -1, now_.error.ratio(), now.ratio(), verdict});
    *changed = verdict == RecoveryVerdict::kKept;
    if (*changed)
      now_.error = now;
    else
      ITG_TRY(put_back(whole, copies));
    restart_walks();
    arena = before_copies;
    return kNoError;
  }

  // The noise of each block's output over the samples held out, at the block's first node; 0 where it has none.
  Error measure_cuts(Span<double> noises) {
    restart_walks();
    for (Block block = next_block(0); block.first < model().node_count(); block = next_block(block.end)) {
      OrderFreeSum noise;
      ITG_TRY(add_noise(block, noise));
      noises[static_cast<size_t>(block.first)] = noise.value();
    }
    restart_walks();
    return kNoError;
  }

  void restart_walks() {
    context_.walk.start();
    exact_walk_.start((context_.samples.count() + 3) / 4);
  }

  // ---- one block

  Error attempt(const Block& block, bool* changed) {
    Arena& arena = int8_.arena();
    const Arena before_copies = arena;
    OrderFreeSum before, after;
    ITG_TRY(add_noise(block, before));
    const Span<LayerWeights> copies = copy_weights(block);
    if (arena.exhausted()) return {Status::kOutOfMemory, block.first};
    for (int32_t n = block.first; n < block.end; ++n)
      if (is_layer(n)) ITG_TRY(change_layer(block, n));
    ITG_TRY(add_noise(block, after));
    RecoveryRecord record{what_.recovery,    block.first,       block.end - 1,
                          held_out_.ratio(), held_out_.ratio(), RecoveryVerdict::kBlockWorse};
    if (after < before) {
      NetworkError now;
      ITG_TRY(context_.judge.ask({what_.stage, Part::kHeldOut}, now));
      record.after = now.ratio();
      record.verdict = now.worse_than(held_out_) ? RecoveryVerdict::kNetworkWorse : RecoveryVerdict::kKept;
      if (record.verdict == RecoveryVerdict::kKept) held_out_ = now;
    }
    context_.guard.record(record);
    const bool kept = record.verdict == RecoveryVerdict::kKept;
    *changed = *changed || kept;
    if (!kept) ITG_TRY(put_back(block, copies));
    arena = before_copies;
    return kNoError;
  }

  // Every sample stands before the block, and runs what it needs of it each time. Through all of the model
  // each goes once.
  int32_t stand_of(const Block& block, int32_t node) const { return is_whole(block) ? node : block.first; }

  // Adds the noise of the block's output over the samples held out.
  Error add_noise(const Block& block, OrderFreeSum& noise) {
    if (block.output < 0) return kNoError;
    const int32_t writer = exact_writer(block.output);
    const int32_t exact = context_.fp32.model.node_outputs(writer)[0];
    for (int32_t i = 0; i < context_.samples.count(); ++i) {
      if (!context_.samples.held_out(i)) continue;
      const Result<Session> int8 = context_.walk.at(i, {stand_of(block, block.end), block.end});
      if (!int8) return int8.error();
      const Result<Session> fp32 = exact_walk_.at(i, {writer + 1, writer + 1});
      if (!fp32) return fp32.error();
      LayerReport sums;
      compare_values(fp32->tensor(exact).as<float>().data, int8->tensor(block.output), sums);
      noise.add(sums.noise);
    }
    return kNoError;
  }

  // Those that read codes of 16 bits keep their weights: their moments are not known.
  bool is_layer(int32_t n) const {
    const Graph& graph = int8_.graph();
    const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
    return weight_rule(graph, n) != nullptr &&
           graph.tensors[static_cast<size_t>(node.inputs[0])].dtype != DType::kS16;
  }

  const QuantConfig& config_of(int32_t n) const {
    const SlotMap& map = context_.slots.map;
    const auto weight = static_cast<size_t>(weight_rule(int8_.graph(), n)->weight_input);
    return map.slots.config(map.input_slot(int8_.graph().nodes[static_cast<size_t>(n)].source, weight));
  }

  // Scales that are bound to a power of two, or to one another, stay.
  bool may_change(int32_t n) const {
    const QuantConfig& config = config_of(n);
    return what_.recovery == recovery::kAdaptiveRounding ||
           (config.has(policy::kPerChannel) && !config.has(policy::kPowerOfTwo));
  }

  Error change_layer(const Block& block, int32_t n) {
    if (!may_change(n)) return kNoError;
    LayerWeights weights = weights_of(n);
    const Executor& executor = context_.fp32.executor;
    Arena scratch = int8_.arena();
    LayerMoments moments = make_moments(weights.matrix, scratch);
    const Span<int16_t> columns = make_moment_scratch(weights.matrix, executor.width, scratch);
    const WeightWork work{&moments, executor, make_weight_scratch(weights.matrix, executor.width, scratch)};
    if (scratch.exhausted()) return {Status::kOutOfMemory, n};
    for (int32_t i = 0; i < context_.samples.count(); ++i) {
      if (context_.samples.held_out(i)) continue;
      ITG_TRY(context_.step(what_.stage, n, model().node_count()));
      const Result<Session> session = context_.walk.at(i, {stand_of(block, n), n});
      if (!session) return session.error();
      add_moments(moments, *session, n, executor, columns);
    }
    finish_moments(moments, kDamping + kDampingPerInput * weights.matrix.depth() / moments.positions);
    what_.change(weights, work);
    ITG_TRY(int8_.update_layer(n));
    const bool corrects = (context_.options.recover & recovery::kBiasCorrection) != 0;
    return corrects ? correct_layer(context_, n, stand_of(block, n)) : kNoError;
  }

  // ---- weights

  LayerWeights weights_of(int32_t n) const {
    const Graph& graph = int8_.graph();
    const QuantRule& rule = *weight_rule(graph, n);
    const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
    const auto input = [&](int8_t i) -> const TensorInfo& {
      return graph.tensors[static_cast<size_t>(node.inputs[static_cast<size_t>(i)])];
    };
    const Model& fp32 = context_.fp32.model;
    const NodeInfo exact = fp32.node(node.source);
    const TensorInfo reals = fp32.tensor(exact.inputs[static_cast<size_t>(rule.weight_input)]);
    const TensorInfo& codes = input(rule.weight_input);
    const TensorInfo& bias = input(rule.bias_input);
    LayerWeights weights;
    weights.matrix = layer_matrix(fp32, exact);
    weights.reals = {reinterpret_cast<const float*>(reals.constant.data),
                     static_cast<size_t>(reals.shape.elements())};
    weights.codes = {reinterpret_cast<int8_t*>(const_cast<uint8_t*>(codes.constant.data)),
                     codes.constant.size};
    weights.scales = writable(codes.quantization.scales);
    weights.bias = {reinterpret_cast<int32_t*>(const_cast<uint8_t*>(bias.constant.data)),
                    static_cast<size_t>(bias.shape.elements())};
    weights.largest = config_of(n).hi;
    return weights;
  }

  Span<LayerWeights> copy_weights(const Block& block) {
    Arena& arena = int8_.arena();
    const Span<LayerWeights> copies = arena.make<LayerWeights>(static_cast<size_t>(block.end - block.first));
    for (size_t i = 0; i < copies.size; ++i) {
      const int32_t n = block.first + static_cast<int32_t>(i);
      if (!is_layer(n)) continue;
      copies[i] = weights_of(n);
      copies[i].codes = arena.copy<int8_t>({copies[i].codes.data, copies[i].codes.size});
      copies[i].scales = arena.copy<float>({copies[i].scales.data, copies[i].scales.size});
      copies[i].bias = arena.copy<int32_t>({copies[i].bias.data, copies[i].bias.size});
    }
    return copies;
  }

  Error put_back(const Block& block, Span<const LayerWeights> copies) {
    for (size_t i = 0; i < copies.size; ++i) {
      const int32_t n = block.first + static_cast<int32_t>(i);
      if (!is_layer(n)) continue;
      const LayerWeights now = weights_of(n);
      memcpy(now.codes.data, copies[i].codes.data, now.codes.size);
      memcpy(now.scales.data, copies[i].scales.data, now.scales.size * sizeof(float));
      memcpy(now.bias.data, copies[i].bias.data, now.bias.size * sizeof(int32_t));
      ITG_TRY(int8_.update_layer(n));
    }
    return kNoError;
  }

  RecoveryContext& context_;
  Int8Model& int8_;
  Candidate now_;  // its error: of the model as it is now
  LayerChange what_;
  SampleWalk exact_walk_{context_.samples, context_.fp32, context_.fp32.session, context_.fp32.lanes,
                         Arena()};
  NetworkError held_out_;  // of the samples held out, with the model as it is now
};

}  // namespace

Result<Candidate> change_layers(RecoveryContext& context, RecoveryMask which, const Candidate& now) {
  constexpr LayerChange kChanges[] = {
      {recovery::kLearnedScales, "learned scales",
       [](LayerWeights& weights, const WeightWork& work) { learn_weight_scales(weights, work, kSteps); }},
      {recovery::kWeightScales, "weight scale search",
       [](LayerWeights& weights, const WeightWork& work) { search_weight_scales(weights, work); }},
      {recovery::kAdaptiveRounding, "adaptive rounding",
       [](LayerWeights& weights, const WeightWork& work) { round_adaptively(weights, work, kSweeps); }},
  };
  const LayerChange* change = kChanges;
  while (change->recovery != which) ++change;
  return BlockRecovery(context, now, *change).run();
}

uint64_t layer_recovery_bytes(const Model& fp32, const CalibratorOptions& options) {
  if ((options.recover & recovery::kLayers) == 0) return 0;
  constexpr size_t kSlack = 64;
  uint64_t copies = 0, largest = 0;
  for (int32_t n = 0; n < fp32.node_count(); ++n) {
    const NodeInfo node = fp32.node(n);
    const OpDef* const def = find_op(float_ops(), fp32, node);
    if (def == nullptr || def->quant.weight_input < 0) continue;
    const LayerMatrix matrix = layer_matrix(fp32, node);
    copies += static_cast<uint64_t>(matrix.outputs()) * (static_cast<uint64_t>(matrix.depth()) + 8) +
              sizeof(LayerWeights) + kSlack;
    const uint64_t work = moment_bytes(matrix, options.executor.width) +
                          weight_scratch_bytes(matrix, options.executor.width) + kSlack;
    largest = work > largest ? work : largest;
  }
  return copies + static_cast<size_t>(fp32.node_count()) * (2 * sizeof(LayerWeights) + 4 * sizeof(double)) +
         largest;
}

}  // namespace intaglio

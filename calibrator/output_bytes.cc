// The memory of Calibrator::finish, counted before there is any.
#include <cstring>

#include "calibrator/bake/bake.h"
#include "calibrator/calibration.h"
#include "calibrator/observe/patch_means.h"
#include "calibrator/quantization/int8_nodes.h"
#include "calibrator/recover/bias_absorption.h"
#include "calibrator/recover/depthwise_scales.h"
#include "calibrator/recover/equalization.h"
#include "calibrator/recover/layer_recovery.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// Upper bound of an int8 layer's packed weights: no kernel pads channels and depth to more than these
// multiples.
uint64_t packed_bound(const TensorInfo& weights, const NodeOptions& options, int32_t axis) {
  constexpr uint64_t kChannels = 64, kDepth = 16;
  const int32_t in_file = options.value<Conv2dOptions>().groups;
  const auto groups = static_cast<uint64_t>(in_file < 1 ? 1 : in_file);
  const auto channels = static_cast<uint64_t>(weights.shape[axis]);
  const bool depthwise = axis + 1 == weights.shape.rank;
  const auto depth = depthwise ? uint64_t{1} : static_cast<uint64_t>(weights.shape.back(0));
  const uint64_t taps = static_cast<uint64_t>(weights.shape.elements()) / channels / depth;
  const uint64_t column = taps * round_up(depth, kDepth);
  // Bias and multiplier, and what a panel of sixteen columns says of each depth.
  return groups * round_up((channels + groups - 1) / groups, kChannels) * (column + column / 8 + 16) +
         kMemoryAlignment;
}

// Upper bound of what an int8 kernel that packs takes of scratch for a layer and a thread: its rows, as they
// stand and shuffled.
uint64_t row_bound(const TensorInfo& weights, int32_t axis) {
  constexpr uint64_t kRows = 2 * 56, kDepth = 4, kVector = 32;
  const bool depthwise = axis + 1 == weights.shape.rank;
  if (depthwise) return 0;
  const auto depth = static_cast<uint64_t>(weights.shape.back(0));
  const uint64_t taps =
      static_cast<uint64_t>(weights.shape.elements()) / static_cast<uint64_t>(weights.shape[axis]) / depth;
  return kRows * round_up(taps * round_up(depth, kDepth), kVector);
}

// Bytes for an output or a part of one, in the list of NetworkErrorMeter.
constexpr uint64_t kPartBytes = 512;

// Bytes of FP32 activations for answers and the nodes behind them.
uint64_t answer_bytes(const Model& model, const CalibratorOptions& options) {
  uint64_t bytes = 0;
  for (int32_t n = 0; n < model.node_count(); ++n)
    if (answer_op(model, n, options) != Op::kNone || follows_answer(model, n, options) ||
        joins_answers(model, n, options)) {
      bytes += model.tensor(model.node_outputs(n)[0]).bytes() + kMemoryAlignment;
      for (const int32_t input : model.node_inputs(n))  // the parts that a Concat joins leave codes first
        if (input >= 0 && !model.tensor(input).is_constant())
          bytes += model.tensor(input).bytes() + kMemoryAlignment;
    }
  return bytes + kPartBytes * static_cast<uint64_t>(output_parts(model));
}

bool is_weight(const Model& model, int32_t tensor) {
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const OpDef* const def = find_op(float_ops(), model, node);
    if (def != nullptr && def->quant.weight_input >= 0 &&
        node.inputs[static_cast<size_t>(def->quant.weight_input)] == tensor)
      return true;
  }
  return false;
}

}  // namespace

uint64_t output_bytes(const Model& model, const SessionNeeds& session, const CalibratorOptions& options) {
  // Graph, file, and the lists of its writing and planning; see baked_tensors.cc and model_writer.cc.
  constexpr uint64_t kTensorBytes = 3 * sizeof(TensorInfo) + sizeof(GraphNode) + 384,
                     kNodeBytes = 2 * sizeof(TensorInfo) + sizeof(GraphNode) + sizeof(BakedLayer) + 864,
                     kTableBytes = 4 * 1024, kChannelBytes = 80, kSlack = 8192;
  const auto more_lanes = static_cast<uint64_t>(lane_count(options.executor) - 1);
  bool any_wide = false;
  uint64_t bytes = kSlack, packed = 0, rows = 0, names = 0, largest_patch = 0, most_channels = 0;
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const TensorInfo info = model.tensor(t);
    names += strlen(info.name);
    bytes += kTensorBytes;
    // A constant is held once more in the graph and in the file; weights that become int8 are counted with their nodes.
    const bool shrinks = options.float_nodes.empty() && is_weight(model, t);
    if (info.is_constant() && !shrinks) bytes += uint64_t{2} * info.constant.size;
  }
  const bool has_factors = DepthwiseScales::may_apply(model, options);
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    names += strlen(node.name);
    bytes += kNodeBytes + 16 * node.inputs.size;
    const OpDef* const def = find_op(float_ops(), model, node);
    if (def == nullptr) continue;
    if (def->quant.table != TableRule::kNone) bytes += kTableBytes;
    if (has_factors && takes_factors(model, n, options))  // tables of groups, and each channel's group
      bytes += kTensorBytes + 4 * static_cast<uint64_t>(model.tensor(node.outputs[0]).shape.back(0));
    const bool wide = is_wide(model, n, options);
    any_wide = any_wide || wide;
    const bool requantizes = def->quant.inputs_as_output || wide || !options.slots.empty() ||
                             !options.ranges.empty() || !options.known.empty() ||
                             options.compat != Compat::kNone;
    if (requantizes)  // a Lookup for each input, or behind a softmax; a Quantize from 8 bits or to them
      bytes += (2 * kTensorBytes + kNodeBytes) * (node.inputs.size + 1);
    if (def->quant.parameter_input >= 0)  // a table a channel
      bytes +=
          4 * 256 *
          static_cast<uint64_t>(
              model.tensor(node.inputs[static_cast<size_t>(def->quant.parameter_input)]).shape.elements());
    if (def->quant.weight_input < 0) continue;
    const TensorInfo weights = model.tensor(node.inputs[static_cast<size_t>(def->quant.weight_input)]);
    bytes += kChannelBytes * static_cast<uint64_t>(weights.shape[def->quant.weight_axis]);
    bytes += 2 * static_cast<uint64_t>(weights.shape.elements());  // shared weights become one tensor a node
    packed += packed_bound(weights, node.options, def->quant.weight_axis);
    const uint64_t row = row_bound(weights, def->quant.weight_axis);
    rows = row > rows ? row : rows;
    const uint64_t patch = patch_size(model, node);
    largest_patch = patch > largest_patch ? patch : largest_patch;
    const auto channels = static_cast<uint64_t>(weights.shape[def->quant.weight_axis]);
    most_channels = channels > most_channels ? channels : most_channels;
  }
  for (int32_t i = 0; i < model.image_count(); ++i)
    bytes += 2 * 256 * static_cast<uint64_t>(model.image(i).channels);
  bytes += 4 * names + layer_recovery_bytes(model, options) +
           Equalizer::bytes(model, session.persistent_bytes, options) +
           DepthwiseScales::bytes(model, session.persistent_bytes, options) +
           BiasAbsorber::bytes(model, session.persistent_bytes, options);
  // A Cortex-M's kernels take weights as they stand, as the scalar ones do.
  const bool packs = (options.isa & cpu_isa() & ~(isa::kDsp | isa::kHelium)) != isa::kScalar;
  // A quarter of the FP32 model's activations, as a rule; a plan for other sizes may be a third worse. A tensor of 16 bits
  // may stand beside one of 8 and another one of 16 that are made of it.
  uint64_t activations =
      (options.float_nodes.empty() && options.float_results.empty() ? session.activation_bytes / 3 + 4096
                                                                    : session.activation_bytes) +
      answer_bytes(model, options);
  // Scores alone have 16 bits, where nothing else was asked for: no more than their FP32 form.
  if (any_wide) activations = session.activation_bytes + answer_bytes(model, options) + 4096;
  for (const SlotSetting& setting : options.slots)
    if (setting.bits > 8) activations = 2 * session.activation_bytes + answer_bytes(model, options) + 4096;
  const auto width =
      static_cast<uint64_t>(options.executor.parallel_for == nullptr ? 1 : options.executor.width);
  const uint64_t scratch = 4 * session.scratch_bytes + (packs ? width * rows : 0);
  const uint64_t int8_session =
      session.persistent_bytes + (packs ? packed : 0) + activations + scratch + 4096;
  constexpr uint64_t kFigures = sizeof(LayerReport);  // of a layer of a sample
  const uint64_t each_lane = activations + scratch + 24 * largest_patch +
                             kFigures * (model.outputs().size + static_cast<uint64_t>(model.node_count())) +
                             8 * kMemoryAlignment;
  // Bias correction: means and sums of the first lane's inputs, errors of a layer's channels.
  bytes += 24 * (largest_patch + most_channels);
  uint64_t sessions = int8_session + more_lanes * each_lane;
  if (options.states_of != nullptr) {  // one for its steps, one with states
    sessions *= 2;
    for (int32_t i = 0; i < options.states_of->state_count(); ++i)
      sessions +=
          kTensorBytes + 2 * uint64_t{options.states_of->tensor(options.states_of->state(i).input).bytes()};
  }
  return align_memory(bytes + sessions);
}

}  // namespace intaglio

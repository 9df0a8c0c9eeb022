#include "calibrator/quantization/int8_nodes.h"

#include <limits>

#include "calibrator/quantization/slot_map.h"
#include "runtime/liveness.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {

Op int8_op(const NodeInfo& node, const QuantRule& rule) {
  const bool looks_up = rule.table == TableRule::kUnary || rule.table == TableRule::kUnaryPerChannel;
  return looks_up ? Op::kLookup : node.op;
}

Op int16_op(const NodeInfo& node, const QuantRule& rule) {
  if (rule.clips) return Op::kQuantize;
  if (rule.table == TableRule::kUnary) return rule.jumps ? Op::kNone : Op::kLookup;
  return rule.table == TableRule::kNone || rule.table == TableRule::kSoftmax ? node.op : Op::kNone;
}

bool applies(const SlotSetting& setting, int32_t node, SlotRole role, int32_t input) {
  if (setting.node >= 0 && setting.node != node) return false;
  switch (setting.role) {
    case SlotRole::kEvery:
      return true;
    case SlotRole::kActivations:
      return role != SlotRole::kWeights;
    case SlotRole::kInput:
      return role == SlotRole::kInput && (setting.input < 0 || setting.input == input);
    default:
      return setting.role == role;
  }
}

namespace {

constexpr int32_t kNarrowBits = 8, kNarrowMost = 127;

}  // namespace

int32_t known_bits(const CalibratorOptions& options, int32_t tensor, int32_t node, int32_t input) {
  int32_t bits = 0;
  for (const KnownParams& known : options.known)
    if (known.tensor == tensor && known.node == node && (node < 0 || known.input == input))
      bits = known.hi > kNarrowMost ? kWideBits : kNarrowBits;
  return bits;
}

namespace {

// The first node behind `writer` that reads its output; -1: none does.
int32_t first_reader(const Model& model, int32_t writer) {
  const int32_t tensor = model.node_outputs(writer)[0];
  for (int32_t n = writer + 1; n < model.node_count(); ++n)
    for (const int32_t input : model.node_inputs(n))
      if (input == tensor) return n;
  return -1;
}

// Whether nobody reads the writer's output but one input of this node.
bool is_only_reader(const Model& model, int32_t writer, int32_t reader) {
  const int32_t tensor = model.node_outputs(writer)[0];
  for (const int32_t output : model.outputs())
    if (output == tensor) return false;
  int32_t reads = 0;
  for (int32_t n = reader; n < model.node_count(); ++n)
    for (const int32_t input : model.node_inputs(n)) reads += input == tensor ? 1 : 0;
  return reads == 1;
}

}  // namespace

bool adds_to_scores(const Model& model, int32_t node) {
  const OpDef* def = find_op(float_ops(), model, model.node(node));
  if (def == nullptr || !def->quant.sums) return false;
  // Other readers are looked for last: that takes all nodes.
  int32_t path[kMostNodesBetween + 1] = {node};
  for (int32_t i = 0; i < kMostNodesBetween; ++i) {
    const int32_t reader = path[i + 1] = first_reader(model, path[i]);
    if (reader < 0) return false;
    def = find_op(float_ops(), model, model.node(reader));
    if (def == nullptr) return false;
    if (def->quant.table == TableRule::kSoftmax) {
      for (int32_t k = 0; k <= i; ++k)
        if (!is_only_reader(model, path[k], path[k + 1])) return false;
      return true;
    }
    if (!def->quant.sums && def->quant.output != OutputRule::kSameAsInput) return false;
  }
  return false;
}

bool is_mask(const Model& model, int32_t tensor, const CalibratorOptions& options) {
  bool is_read = false;
  for (int32_t n = 0; n < model.node_count(); ++n)
    for (const int32_t input : model.node_inputs(n)) {
      if (input != tensor) continue;
      if (!adds_to_scores(model, n)) return false;
      is_read = true;
    }
  const int32_t writer = writer_of(model, tensor);
  return is_read && (writer < 0 || !becomes_int8(model, writer, options));
}

namespace {

// The bits that were asked for a tensor's slot, or that sums of scores need; 0: none. node: -1 for what no node
// writes.
int32_t bits_asked(const Model& model, const CalibratorOptions& options, int32_t node, SlotRole role,
                   int32_t input, int32_t tensor) {
  int32_t bits = known_bits(options, tensor, role == SlotRole::kInput ? node : -1, input);
  for (const SlotSetting& setting : options.slots)
    if (applies(setting, node, role, input) && setting.bits > 0) bits = setting.bits;
  if (bits == 0 && role == SlotRole::kOutput && node >= 0 && adds_to_scores(model, node)) bits = kWideBits;
  return bits;
}

// Whether an input of a node has codes of 16 bits: it was asked for, or what is written there has them.
bool reads_wide(const Model& model, const CalibratorOptions& options, int32_t node, int32_t input) {
  for (int32_t i = 0; i < kMostNodesBetween; ++i) {
    const int32_t tensor = model.node_inputs(node)[static_cast<size_t>(input)];
    int32_t bits = bits_asked(model, options, node, SlotRole::kInput, input, tensor);
    if (bits != 0) return bits > kNarrowBits;
    node = writer_of(model, tensor);
    bits = bits_asked(model, options, node, SlotRole::kOutput, -1, tensor);
    if (node < 0) return bits > kNarrowBits;
    const OpDef* const def = find_op(float_ops(), model, model.node(node));
    const bool follows = def != nullptr && def->quant.output == OutputRule::kSameAsInput;
    if (!follows) return bits > kNarrowBits || (bits == 0 && gives_wide_answer(model, node, options));
    input = 0;
  }
  return false;
}

bool has_int16_version(const NodeInfo& info, const QuantRule& rule) {
  const auto residual = static_cast<size_t>(rule.residual_input);
  if (rule.residual_input >= 0 && residual < info.inputs.size && info.inputs[residual] >= 0) return false;
  const Op op = int16_op(info, rule);
  return op != Op::kNone && find_op_index(int8_ops(), {op, DType::kS16, DType::kS16}) != kNoOp;
}

bool has_int8_version(const Model& model, const NodeInfo& info, const OpDef* def) {
  if (def == nullptr || info.inputs[0] < 0 || info.outputs.size != 1) return false;
  const DType reads = model.tensor(info.inputs[0]).dtype, writes = model.tensor(info.outputs[0]).dtype;
  if (reads != DType::kF32 && writes != DType::kF32) return false;  // of integers alone
  const auto in_int8 = [](DType dtype) { return dtype == DType::kF32 ? DType::kS8 : dtype; };
  return find_op_index(int8_ops(), {int8_op(info, def->quant), in_int8(reads), in_int8(writes)}) != kNoOp;
}

// The node's only input of reals that is no constant; -1: it has several, or none.
int32_t only_activation(const Model& model, const NodeInfo& info) {
  int32_t found = -1;
  for (const int32_t input : info.inputs) {
    if (input < 0 || model.tensor(input).is_constant() || model.tensor(input).dtype != DType::kF32) continue;
    if (found >= 0) return -1;
    found = input;
  }
  return found;
}

// Whether a tensor is computed of one of the model's inputs, by nodes of one input and without weights alone.
bool is_of_input(const Model& model, int32_t tensor) {
  int32_t between = 0;
  for (int32_t writer; (writer = writer_of(model, tensor)) >= 0;) {
    if (++between > kMostNodesBetween) return false;
    const NodeInfo info = model.node(writer);
    const OpDef* const def = find_op(float_ops(), model, info);
    if (def == nullptr || def->quant.weight_input >= 0) return false;
    tensor = only_activation(model, info);
    if (tensor < 0) return false;
  }
  return !model.tensor(tensor).is_constant();
}

// Whether all that reads a tensor adds it to scores, or computes of it alone what is added to scores. `depth`: of such nodes.
bool reaches_scores_alone(const Model& model, int32_t tensor, int32_t depth) {
  bool is_read = false;
  for (const int32_t output : model.outputs())
    if (output == tensor) return false;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo info = model.node(n);
    for (const int32_t input : info.inputs) {
      if (input != tensor) continue;
      is_read = true;
      if (adds_to_scores(model, n)) continue;
      if (depth == 0 || only_activation(model, info) != tensor ||
          !reaches_scores_alone(model, info.outputs[0], depth - 1))
        return false;
    }
  }
  return is_read;
}

// Whether a node makes a mask of an input, (1 - x) * -1e9: it is as low as such numbers, which 8 bits do not hold beside the
// scores. In FP32 it is a small part of the network.
bool makes_mask(const Model& model, int32_t node) {
  constexpr int32_t kMostNodes = 8;
  const int32_t output = model.node_outputs(node)[0];
  return is_of_input(model, output) && reaches_scores_alone(model, output, kMostNodes);
}

bool is_among(int32_t node, Span<const int32_t> nodes) {
  for (const int32_t one : nodes)
    if (one == node) return true;
  return false;
}

bool is_kept_float(int32_t node, const CalibratorOptions& options) {
  return is_among(node, options.float_nodes);
}

// A sum of scores that the caller keeps in FP32, or that would have 16 bits, which other tools do not have.
bool is_float_sum_of_scores(const Model& model, int32_t node, const CalibratorOptions& options) {
  return (options.compat != Compat::kNone || is_kept_float(node, options)) && adds_to_scores(model, node);
}

// The tensors that one is computed of, itself among them, back to the model's inputs.
struct Origins {
  int32_t tensors[kMostNodesBetween];
  int32_t count = 0;

  bool contains(int32_t tensor) const { return is_among(tensor, {tensors, static_cast<size_t>(count)}); }
};

// False where a layer with weights, a state or an input of integers is among it, or too many nodes.
bool find_origins(const Model& model, int32_t tensor, const CalibratorOptions& options, Origins* found) {
  *found = {{tensor}, 1};
  for (int32_t i = 0; i < found->count; ++i) {
    const int32_t writer = writer_of(model, found->tensors[i]);
    if (writer < 0) {
      if (model.tensor(found->tensors[i]).dtype != DType::kF32) return false;
      if (state_of(options, found->tensors[i], false) >= 0) return false;
      continue;
    }
    const NodeInfo info = model.node(writer);
    const OpDef* const def = find_op(float_ops(), model, info);
    if (def == nullptr || def->quant.weight_input >= 0) return false;
    for (const int32_t input : info.inputs) {
      if (input < 0 || model.tensor(input).is_constant() || found->contains(input)) continue;
      if (found->count == kMostNodesBetween) return false;
      found->tensors[found->count++] = input;
    }
  }
  return true;
}

// Whether a node gives values relative to others of the same sample: over their norm; less their mean, which is a smaller tensor of
// the same inputs.
bool is_relative(const Model& model, int32_t node, const CalibratorOptions& options) {
  const NodeInfo info = model.node(node);
  const OpDef* const def = find_op(float_ops(), model, info);
  if (def == nullptr) return false;
  if (def->quant.normalizes) return true;
  if (info.inputs.size != 2 || info.inputs[0] < 0 || info.inputs[1] < 0 || joins(model, node)) return false;
  const TensorInfo a = model.tensor(info.inputs[0]), b = model.tensor(info.inputs[1]);
  if (a.is_constant() || b.is_constant() || a.shape.elements() == b.shape.elements()) return false;
  Origins of_a, of_b;
  if (!find_origins(model, info.inputs[0], options, &of_a) ||
      !find_origins(model, info.inputs[1], options, &of_b))
    return false;
  for (int32_t i = 0; i < of_a.count; ++i)
    if (of_b.contains(of_a.tensors[i])) return true;
  return false;
}

// Whether a node is part of a normalization of the model's inputs in front of a layer with weights: all of it stays in FP32. A sample's
// own values may span few of the codes that all samples share, and nothing is left once their mean is gone. Other tools have no
// int8 form of it either. Where the caller asks for codes to the model's borders it is int8.
bool normalizes_inputs(const Model& model, int32_t node, const CalibratorOptions& options) {
  if (options.int8_answers || options.compat != Compat::kNone || !options.known.empty()) return false;
  const int32_t output = model.node_outputs(node)[0];
  Origins origins;
  if (!find_origins(model, output, options, &origins)) return false;
  for (int32_t layer = node + 1; layer < model.node_count(); ++layer) {
    const NodeInfo info = model.node(layer);
    const OpDef* const def = find_op(float_ops(), model, info);
    if (def == nullptr || def->quant.weight_input < 0 || info.inputs[0] < 0) continue;
    if (!find_origins(model, info.inputs[0], options, &origins) || !origins.contains(output)) continue;
    for (int32_t i = 0; i < origins.count; ++i) {
      const int32_t writer = writer_of(model, origins.tensors[i]);
      if (writer >= 0 && is_relative(model, writer, options)) return true;
    }
  }
  return false;
}

// Whether an operator without an int8 version, or a sum of scores in FP32, stands before the node, with nothing but nodes of one
// input and without weights between them.
bool continues_float(const Model& model, int32_t node, const CalibratorOptions& options) {
  for (int32_t i = 0; i < kMostNodesBetween; ++i) {
    const NodeInfo info = model.node(node);
    const OpDef* const def = find_op(float_ops(), model, info);
    if (!has_int8_version(model, info, def)) return true;
    if (is_float_sum_of_scores(model, node, options)) return true;
    if (def->quant.weight_input >= 0) return false;
    const int32_t input = only_activation(model, info);
    node = input < 0 ? -1 : writer_of(model, input);
    if (node < 0 || model.node_outputs(node)[0] != input) return false;
  }
  return false;
}

// Whether a Cast makes indices of what the node gives, with nothing but nodes without weights between. Indices of 8-bit codes
// would name other elements: 256 places at most.
bool gives_index(const Model& model, int32_t node) {
  const OpDef* const own = find_op(float_ops(), model, model.node(node));
  if (own == nullptr || own->quant.weight_input >= 0) return false;
  for (int32_t cast = node + 1; cast < model.node_count(); ++cast) {
    const NodeInfo info = model.node(cast);
    if (info.op != Op::kCast || model.tensor(info.outputs[0]).dtype != DType::kS32) continue;
    int32_t before[kMostNodesBetween] = {cast}, count = 1;  // nodes that the indices depend on
    for (int32_t i = 0; i < count; ++i) {
      const NodeInfo next = model.node(before[i]);
      const OpDef* const def = find_op(float_ops(), model, next);
      if (def == nullptr || def->quant.weight_input >= 0) continue;
      for (const int32_t input : next.inputs) {
        const int32_t writer = input < 0 ? -1 : writer_of(model, input);
        if (writer == node) return true;
        bool is_new = writer > node && count < kMostNodesBetween;
        for (int32_t k = 0; is_new && k < count; ++k) is_new = before[k] != writer;
        if (is_new) before[count++] = writer;
      }
    }
  }
  return false;
}

}  // namespace

bool is_wide(const Model& model, int32_t node, const CalibratorOptions& options) {
  bool asks = false;
  for (const SlotSetting& setting : options.slots) asks = asks || setting.bits > kNarrowBits;
  for (const KnownParams& known : options.known) asks = asks || known.hi > kNarrowMost;
  const NodeInfo info = model.node(node);
  const OpDef* const def = find_op(float_ops(), model, info);
  if (def == nullptr) return false;
  const bool follows = def->quant.output == OutputRule::kSameAsInput;
  const bool may_hold_scores = follows || def->quant.sums || def->quant.table == TableRule::kSoftmax;
  if (!asks && !may_hold_scores) return false;
  if (!follows && bits_asked(model, options, node, SlotRole::kOutput, -1, info.outputs[0]) > kNarrowBits)
    return true;
  for (size_t i = 0; i < info.inputs.size && !def->quant.inputs_as_output; ++i) {
    if (info.inputs[i] < 0 || !def->quant.is_operand(i) || model.tensor(info.inputs[i]).dtype != DType::kF32)
      continue;
    if (reads_wide(model, options, node, static_cast<int32_t>(i))) return true;
  }
  return false;
}

bool becomes_int8(const Model& model, int32_t node, const CalibratorOptions& options) {
  if (is_kept_float(node, options) || makes_mask(model, node) || normalizes_inputs(model, node, options))
    return false;
  if (is_wide(model, node, options) &&
      !has_int16_version(model.node(node), find_op(float_ops(), model, model.node(node))->quant))
    return false;
  return !continues_float(model, node, options) && !gives_index(model, node) &&
         !follows_answer(model, node, options) && !joins_answers(model, node, options);
}

namespace {

bool is_one_place(const Shape& shape) { return shape.elements(1, shape.rank - 1) == 1; }

bool has_clamp(const NodeOptions& options) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto clamp = options.value<Clamp>();
  return clamp.min != -kInfinity || clamp.max != kInfinity;
}

// The window is the whole input, and nothing but it.
bool is_whole_map(const Window2d& window, const Shape& in) {
  return window.kernel_h == in[1] && window.kernel_w == in[2] && window.pad_top == 0 &&
         window.pad_left == 0 && window.pad_bottom == 0 && window.pad_right == 0;
}

// The same arithmetic by an operator that may have an int8 version with FP32 sums. A depthwise layer writes codes, as a
// convolution of many places does.
Op op_of_sums(const Model& model, const NodeInfo& node) {
  if (node.op == Op::kDepthwiseConv2d) return Op::kNone;
  if (node.op != Op::kConv2d && node.op != Op::kAvgPool2d) return node.op;
  const Shape in = model.tensor(node.inputs[0]).shape;
  const Window2d& window = node.options.as<Window2d>();
  if (in.rank != 4 || !is_whole_map(window, in)) return Op::kNone;
  if (node.op == Op::kAvgPool2d) return Op::kMean;
  const bool is_product =
      is_one_place(in) && node.options.as<Conv2dOptions>().groups <= 1 && node.inputs.size <= 3;
  return is_product ? Op::kFullyConnected : Op::kNone;
}

// Whether a node behind an answer may run in FP32: it reads nothing else that is computed, unless it joins parts.
bool runs_behind(const Model& model, int32_t node) {
  const NodeInfo info = model.node(node);
  if (info.inputs[0] < 0) return false;
  if (!joins(model, node) && only_activation(model, info) != info.inputs[0]) return false;
  const OpSignature own{info.op, model.tensor(info.inputs[0]).dtype, model.tensor(info.outputs[0]).dtype};
  return find_op_index(int8_ops(), own) != kNoOp;
}

// Whether a node joins what other nodes write, and the options leave it free.
bool joins_parts(const Model& model, int32_t node, const CalibratorOptions& options) {
  if (options.int8_answers || options.compat != Compat::kNone || !options.known.empty()) return false;
  if (!joins(model, node)) return false;
  for (const SlotSetting& setting : options.slots)
    if (setting.node == node) return false;
  for (const SlotRange& range : options.ranges)
    if (range.node == node) return false;
  for (const int32_t input : model.node_inputs(node))
    if (!model.tensor(input).is_constant() && writer_of(model, input) < 0) return false;
  return !is_wide(model, node, options);
}

// Whether the caller gets these values and nothing else reads them, reshaped and joined to others or not.
bool reaches_output(const Model& model, int32_t node, const CalibratorOptions& options) {
  for (int32_t i = 0; i < kMostNodesBetween; ++i) {
    const int32_t tensor = model.node_outputs(node)[0];
    if (state_of(options, tensor, true) >= 0) return false;
    int32_t readers = 0, caller = 0, reader = -1;
    for (const int32_t output : model.outputs()) caller += output == tensor ? 1 : 0;
    for (int32_t n = node + 1; n < model.node_count(); ++n)
      for (const int32_t input : model.node_inputs(n))
        if (input == tensor) {
          ++readers;
          reader = n;
        }
    if (readers + caller != 1) return false;
    if (caller == 1) return true;
    if (!runs_behind(model, reader)) return false;
    if (joins(model, reader) && !joins_parts(model, reader, options)) return false;
    node = reader;
  }
  return false;
}

// As answer_op(), whatever the bits of its codes.
Op op_of_answer(const Model& model, int32_t node, const CalibratorOptions& options) {
  if (is_among(node, options.float_results)) {
    const NodeInfo info = model.node(node);
    const bool is_apart = info.op == Op::kFullyConnected && has_clamp(info.options);
    const bool has_version = find_op_index(int8_ops(), {info.op, DType::kS8, DType::kF32}) != kNoOp;
    return has_version && !is_apart ? info.op : Op::kNone;
  }
  if (options.int8_answers || options.compat != Compat::kNone) return Op::kNone;
  const NodeInfo info = model.node(node);
  if (info.outputs.size != 1 || info.inputs.empty() || info.inputs[0] < 0 || has_clamp(info.options))
    return Op::kNone;
  if (!is_one_place(model.tensor(info.outputs[0]).shape)) return Op::kNone;
  const Op op = op_of_sums(model, info);
  if (find_op_index(int8_ops(), {op, DType::kS8, DType::kF32}) == kNoOp) return Op::kNone;
  return reaches_output(model, node, options) ? op : Op::kNone;
}

}  // namespace

Op answer_op(const Model& model, int32_t node, const CalibratorOptions& options) {
  return is_wide(model, node, options) ? Op::kNone : op_of_answer(model, node, options);
}

bool gives_wide_answer(const Model& model, int32_t node, const CalibratorOptions& options) {
  // In this order: is_wide() asks this of what wrote each operand, and only few nodes may give an answer. The other way
  // round its time would double with each residual sum.
  return op_of_answer(model, node, options) != Op::kNone && is_wide(model, node, options);
}

bool joins(const Model& model, int32_t node) {
  const NodeInfo info = model.node(node);
  const OpDef* const def = find_op(float_ops(), model, info);
  if (def == nullptr || !def->quant.inputs_as_output) return false;
  int64_t elements = 0;
  for (const int32_t input : info.inputs) elements += input < 0 ? 0 : model.tensor(input).shape.elements();
  return info.inputs.size > 1 && elements == model.tensor(info.outputs[0]).shape.elements();
}

bool joins_answers(const Model& model, int32_t node, const CalibratorOptions& options) {
  int32_t before = node;
  for (int32_t i = 0; i < kMostNodesBetween; ++i) {
    if (joins_parts(model, before, options)) return reaches_output(model, before, options);
    if (!runs_behind(model, before)) return false;
    before = writer_of(model, model.node_inputs(before)[0]);
    if (before < 0) return false;
  }
  return false;
}

bool follows_answer(const Model& model, int32_t node, const CalibratorOptions& options) {
  for (int32_t i = 0; node >= 0 && i < kMostNodesBetween; ++i) {
    if (i > 0 && !is_among(node, options.float_results) && answer_op(model, node, options) != Op::kNone)
      return true;
    if (!runs_behind(model, node)) return false;
    node = writer_of(model, model.node_inputs(node)[0]);
  }
  return false;
}

bool sets_slots(const CalibratorOptions& options) {
  return !options.slots.empty() || !options.ranges.empty() || !options.known.empty();
}

bool writes_codes(const Model& model, int32_t node, const CalibratorOptions& options) {
  return becomes_int8(model, node, options) && answer_op(model, node, options) == Op::kNone;
}

}  // namespace intaglio

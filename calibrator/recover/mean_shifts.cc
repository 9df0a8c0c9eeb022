#include "calibrator/recover/mean_shifts.h"

#include <limits>

#include "calibrator/observe/patch_means.h"
#include "runtime/liveness.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

size_t channels_of(const TensorInfo& tensor) {
  return tensor.shape.rank == 0 ? 1 : static_cast<size_t>(tensor.shape.back(0));
}

const int8_t* codes_of(const Session& session, int32_t tensor) {
  return static_cast<const int8_t*>(session.tensor(tensor).data);
}

// What a node reads and others have written.
struct Operands {
  int32_t count = 0, first = -1;
  size_t channels = 0;  // of all of them

  Operands(const Model& model, const NodeInfo& node) {
    for (const int32_t input : node.inputs) {
      if (input < 0 || model.tensor(input).is_constant()) continue;
      first = count++ == 0 ? input : first;
      channels += channels_of(model.tensor(input));
    }
  }
};

bool is_codes(const Model& model, const NodeInfo& node, size_t input) {
  return input < node.inputs.size && node.inputs[input] >= 0 &&
         model.tensor(node.inputs[input]).dtype == DType::kS8;
}

double scale_of(const Model& model, int32_t tensor) {
  return static_cast<double>(model.tensor(tensor).quantization.scales[0]);
}

bool is_cut(const NodeOptions& options) {
  const auto clamp = options.value<Clamp>();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return clamp.min > -kInfinity || clamp.max < kInfinity;
}

// Mean over the positions of a tensor of a number for each code, at most 255, by channels.
template <typename Number>
void find_means(const int8_t* codes, size_t count, Span<double> means, Number&& number) {
  constexpr size_t kBlock = 64, kFewPositions = 1 << 20;  // whose sums fit 32 bits
  const size_t channels = means.size;
  const double position = static_cast<double>(channels) / static_cast<double>(count);
  for (size_t first = 0; first < channels; first += kBlock) {
    const size_t width = channels - first < kBlock ? channels - first : kBlock;
    for (size_t start = 0; start < count; start += kFewPositions * channels) {
      const size_t rest = count - start,
                   end = rest < kFewPositions * channels ? count : count - rest + kFewPositions * channels;
      int32_t sums[kBlock] = {};
      for (size_t at = start + first; at < end; at += channels)
        for (size_t c = 0; c < width; ++c) sums[c] += number(first + c, codes[at + c]);
      for (size_t c = 0; c < width; ++c) means[first + c] += position * sums[c];
    }
  }
}

void find_shares(const Session& session, const NodeInfo& node, Span<double> shares) {
  const auto clamp = node.options.value<Clamp>();
  const TensorInfo out = session.model().tensor(node.outputs[0]);
  const int32_t lo = clamp.lo, hi = clamp.hi;
  find_means(codes_of(session, node.outputs[0]), static_cast<size_t>(out.shape.elements()), shares,
             [=](size_t, int32_t code) { return (code > lo ? 1 : 0) & (code < hi ? 1 : 0); });
}

// The tables of a Lookup: one, one a channel, or some and which of them each channel has.
void find_table_slopes(const Session& session, const NodeInfo& node, Span<double> slopes) {
  constexpr int32_t kReach = 3;  // codes to both sides: a table has steps
  constexpr size_t kCodes = 256;
  const Model& model = session.model();
  const TensorInfo in = model.tensor(node.inputs[0]), tables = model.tensor(node.inputs[1]);
  const auto* const table = reinterpret_cast<const int8_t*>(tables.constant.data);
  const bool has_groups = node.inputs.size > 2;
  const auto* const groups =
      has_groups ? reinterpret_cast<const int8_t*>(model.tensor(node.inputs[2]).constant.data) : nullptr;
  const size_t apart = !has_groups && tables.constant.size == kCodes ? 0 : kCodes;
  find_means(codes_of(session, node.inputs[0]), static_cast<size_t>(in.shape.elements()), slopes,
             [=](size_t c, int32_t code) {
               const int8_t* const own = table + (has_groups ? static_cast<size_t>(groups[c]) : c) * apart;
               const int32_t low = code < -128 + kReach ? 0 : code + 128 - kReach,
                             high = code > 127 - kReach ? 255 : code + 128 + kReach;
               return own[high] - own[low];
             });
  for (double& slope : slopes) slope /= 2 * kReach;
}

// Of both inputs, one behind the other: the mean of the other one.
void find_factors(const Session& session, const NodeInfo& node, Span<double> room) {
  const Model& model = session.model();
  const size_t channels = room.size / 2;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const TensorInfo other = model.tensor(node.inputs[1 - i]);
    const size_t own = channels_of(other);
    const Span<double> factors{room.data + i * channels, channels};
    const int32_t zero_point = other.quantization.zero_point;
    find_means(codes_of(session, node.inputs[1 - i]), static_cast<size_t>(other.shape.elements()),
               Span<double>{factors.data, own}, [=](size_t, int32_t code) { return code - zero_point; });
    const double scale = scale_of(model, node.inputs[1 - i]) * scale_of(model, node.inputs[i]) /
                         scale_of(model, node.outputs[0]);
    for (size_t c = 0; c < own; ++c) factors[c] *= scale;
    for (size_t c = own; c < channels; ++c) factors[c] = factors[c - own];
  }
}

}  // namespace

MeanShifts::MeanShifts(const RecoveryContext& context, Arena& arena)
    : int8_(context.int8.session().model()),
      nodes_(arena.make<Node>(static_cast<size_t>(int8_.node_count()))),
      first_(arena.make<int32_t>(static_cast<size_t>(int8_.tensor_count()))) {
  if (arena.exhausted()) return;
  for (int32_t& first : first_) first = -1;
  size_t shifts = 0;
  for (int32_t n = 0; n < int8_.node_count(); ++n) {
    const NodeInfo node = int8_.node(n);
    const TensorInfo out = int8_.tensor(node.outputs[0]);
    const size_t channels = channels_of(out);
    Node& own = nodes_[static_cast<size_t>(n)];
    own.way = way_of(context, n);
    const bool is_shared = own.way == Way::kWeights || own.way == Way::kClamped;
    own.count = own.way == Way::kProduct                                           ? 2 * channels
                : own.way == Way::kTable || (is_shared && out.dtype == DType::kS8) ? channels
                                                                                   : 0;
    own.first = slope_count_;
    slope_count_ += own.count;
    most_of_node_ = own.count > most_of_node_ ? own.count : most_of_node_;
    int32_t& first = first_[static_cast<size_t>(node.outputs[0])];
    const Operands operands(int8_, node);
    const bool is_moved = own.way == Way::kSame && operands.count == 1 && operands.channels == channels;
    if (is_moved) first = first_[static_cast<size_t>(operands.first)];
    if (is_moved || own.way == Way::kNone) continue;
    first = static_cast<int32_t>(shifts);
    shifts += channels;
  }
  shifts_ = arena.make<double>(shifts);
}

MeanShifts::Way MeanShifts::way_of(const RecoveryContext& context, int32_t n) const {
  const Graph& graph = context.int8.graph();
  if (weight_rule(graph, n) != nullptr) return Way::kWeights;
  const NodeInfo node = int8_.node(n);
  const Operands operands(int8_, node);
  const TensorInfo out = int8_.tensor(node.outputs[0]);
  const bool repeats = operands.channels > 0 && channels_of(out) % operands.channels == 0;
  const GraphNode& made = graph.nodes[static_cast<size_t>(n)];
  const Model& fp32 = context.fp32.model;
  const OpDef* const def = made.source < 0 ? nullptr : find_op(float_ops(), fp32, fp32.node(made.source));
  if (def == nullptr) return operands.count == 1 && repeats ? Way::kSame : Way::kNone;  // it converts
  const QuantRule& rule = def->quant;
  const bool is_table = node.op == Op::kLookup || node.op == Op::kGroupedLookup;
  const bool in_codes = out.dtype == DType::kS8 && is_codes(int8_, node, 0);
  if (in_codes && is_table && is_codes(int8_, node, 1)) return Way::kTable;
  if (rule.multiplies) return in_codes && is_codes(int8_, node, 1) ? Way::kProduct : Way::kNone;
  if (operands.count > 1 && rule.inputs_as_output)
    return operands.channels == channels_of(out) ? Way::kJoined : Way::kNone;
  const bool moves = in_codes && operands.count == 1 && rule.output == OutputRule::kSameAsInput;
  if (moves && (is_moved(operands.first) || operands.channels != channels_of(out))) return Way::kMoved;
  const bool adds = rule.channels == ChannelRule::kShifts;
  const bool keeps = adds || rule.channels == ChannelRule::kScales || rule.output == OutputRule::kSameAsInput;
  if (!keeps || (operands.count > 1 && !adds) || (operands.count == 1 && !repeats)) return Way::kNone;
  return in_codes && is_cut(made.options) ? Way::kClamped : Way::kSame;
}

// The shifts of each FP32 node's output, and two lists by the int8 model's nodes and tensors.
uint64_t MeanShifts::bytes(const Model& fp32, const CalibratorOptions& options) {
  const GraphCount graph = count_bake(fp32, options).graph;
  uint64_t shifts = 0;
  for (int32_t n = 0; n < fp32.node_count(); ++n) shifts += channels_of(fp32.tensor(fp32.node_outputs(n)[0]));
  return graph.nodes * sizeof(Node) + graph.tensors * sizeof(int32_t) + shifts * sizeof(double) +
         alignof(Node) + alignof(int32_t) + alignof(double);
}

MeanShifts::Most MeanShifts::most(const Model& fp32) {
  Most most;
  for (int32_t n = 0; n < fp32.node_count(); ++n) {
    const OpDef* const def = find_op(float_ops(), fp32, fp32.node(n));
    const bool multiplies = def != nullptr && def->quant.multiplies;
    const uint64_t own = (multiplies ? 2 : 1) * channels_of(fp32.tensor(fp32.node_outputs(n)[0]));
    most.all += own;
    most.of_node = own > most.of_node ? own : most.of_node;
  }
  return most;
}

void MeanShifts::run(Session& session, int32_t n, Span<double> room, int64_t* sums) const {
  const Node& own = nodes_[static_cast<size_t>(n)];
  const NodeInfo node = int8_.node(n);
  const Span<double> slopes{room.data, own.count};
  for (double& slope : slopes) slope = 0.0;
  // What a node reads may be gone behind it.
  if (own.way == Way::kTable) find_table_slopes(session, node, slopes);
  if (own.way == Way::kProduct) find_factors(session, node, slopes);
  session.run_nodes(n, n + 1);
  const bool is_shared = own.way == Way::kWeights || own.way == Way::kClamped;
  if (is_shared && own.count > 0) find_shares(session, node, slopes);
  add_means(sums + own.first, slopes);
}

void MeanShifts::start(Span<const int64_t> sums, uint32_t samples) {
  sums_ = sums;
  samples_ = samples;
  for (double& shift : shifts_) shift = 0.0;
}

double MeanShifts::slope(int32_t n, size_t i, int32_t input) const {
  const Node& own = nodes_[static_cast<size_t>(n)];
  if (own.count == 0) return 1.0;
  const double slope = mean_of(sums_[own.first + i], samples_);
  const bool of_codes = own.way == Way::kTable || own.way == Way::kProduct;
  return of_codes ? slope * scale_of(int8_, int8_.node(n).outputs[0]) / scale_of(int8_, input) : slope;
}

double MeanShifts::of(int32_t tensor, size_t channel) const {
  const int32_t first = first_[static_cast<size_t>(tensor)];
  if (first < 0) return 0.0;
  return shifts_[static_cast<size_t>(first) + channel % channels_of(int8_.tensor(tensor))];
}

Span<double> MeanShifts::shifts_of(int32_t tensor) const {
  return {shifts_.data + first_[static_cast<size_t>(tensor)], channels_of(int8_.tensor(tensor))};
}

void MeanShifts::shift_sum(int32_t n, size_t channel, double shift) {
  const NodeInfo node = int8_.node(n);
  const OpDef* const def = find_op(int8_ops(), int8_, node);
  const auto residual = static_cast<size_t>(def->quant.residual_input);
  if (def->quant.residual_input >= 0 && residual < node.inputs.size && node.inputs[residual] >= 0)
    shift += of(node.inputs[residual], channel);
  shifts_of(node.outputs[0])[channel] = slope(n, channel, node.inputs[0]) * shift;
}

bool MeanShifts::is_moved(int32_t tensor) const {
  const int32_t writer = writer_of(int8_, tensor);
  return writer >= 0 && nodes_[static_cast<size_t>(writer)].way == Way::kMoved;
}

// What the moves up to node `n` begin with.
int32_t MeanShifts::origin_of(int32_t n) const {
  const int32_t input = int8_.node(n).inputs[0];
  return is_moved(input) ? origin_of(writer_of(int8_, input)) : input;
}

void MeanShifts::run_moves(Session& session, int32_t n) const {
  const int32_t input = int8_.node(n).inputs[0];
  if (is_moved(input)) run_moves(session, writer_of(int8_, input));
  session.run_nodes(n, n + 1);
}

// The moves run on the numbers of the channels, byte by byte. Where a place of the last axis gets several of them nobody but another
// move reads it, or a mean of its shifts is not known.
void MeanShifts::move(Session& session, int32_t n) const {
  const int32_t origin = origin_of(n), out = int8_.node(n).outputs[0];
  const size_t channels = channels_of(int8_.tensor(origin));
  const auto from = static_cast<size_t>(int8_.tensor(origin).shape.elements()),
             to = static_cast<size_t>(int8_.tensor(out).shape.elements());
  const Span<double> shifts = shifts_of(out);  // first the numbers
  for (double& shift : shifts) shift = 0.0;
  bool is_known = true;
  size_t unit = 1;
  for (; unit < channels && is_known; unit *= 256) {
    auto* const numbers = static_cast<uint8_t*>(session.tensor(origin).data);
    for (size_t i = 0; i < from; ++i) numbers[i] = static_cast<uint8_t>(i % channels / unit);
    run_moves(session, n);
    const auto* const moved = static_cast<const uint8_t*>(session.tensor(out).data);
    for (size_t i = 0; i < to; ++i) is_known = is_known && moved[i] == moved[i % shifts.size];
    for (size_t c = 0; c < shifts.size; ++c) shifts[c] += static_cast<double>(moved[c] * unit);
  }
  for (double& shift : shifts) shift = is_known ? of(origin, static_cast<size_t>(shift)) : 0.0;
}

void MeanShifts::pass(Session& session, int32_t n) {
  const Node& own = nodes_[static_cast<size_t>(n)];
  if (own.way == Way::kMoved) return move(session, n);
  const NodeInfo node = int8_.node(n);
  const int32_t out = node.outputs[0];
  if (own.way == Way::kNone || first_[static_cast<size_t>(out)] < 0) return;
  const Span<double> shifts = shifts_of(out);
  size_t joined = 0;
  for (size_t i = 0; i < node.inputs.size; ++i) {
    const int32_t input = node.inputs[i];
    if (input < 0 || int8_.tensor(input).is_constant() ||
        first_[static_cast<size_t>(input)] == first_[static_cast<size_t>(out)])
      continue;
    const size_t channels = own.way == Way::kJoined ? channels_of(int8_.tensor(input)) : shifts.size;
    for (size_t c = 0; c < channels; ++c)
      shifts[joined + c] +=
          of(input, c) * slope(n, own.way == Way::kProduct ? i * shifts.size + c : c, input);
    if (own.way == Way::kJoined) joined += channels;
  }
}

}  // namespace intaglio

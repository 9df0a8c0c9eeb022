#include "intaglio/step_model.h"

#include "calibrator/bake/model_writer.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

bool holds(Span<const int32_t> list, int32_t tensor) {
  for (const int32_t other : list)
    if (other == tensor) return true;
  return false;
}

// How a node hands the values of its inputs on.
enum class Carry : uint8_t { kNot, kMoves, kCalculates };

Carry carry_of(const Model& model, const NodeInfo& node) {
  const OpDef* const def = find_op(float_ops(), model, node);
  if (def == nullptr) return Carry::kNot;
  const QuantRule& rule = def->quant;
  if (rule.output == OutputRule::kSameAsInput || rule.inputs_as_output) return Carry::kMoves;
  const bool calculates =
      rule.output == OutputRule::kObserved && rule.weight_input < 0 && rule.table == TableRule::kNone;
  return calculates ? Carry::kCalculates : Carry::kNot;
}

// Bits of a node's mark.
constexpr int32_t kBehind = 1, kBefore = 2;  // it is reached from the state, and it reaches the next value

class CarriedState {
 public:
  CarriedState(const Model& model, Span<int32_t> marks) : model_(model), marks_(marks) {}

  void find(const StateInfo& state) {
    for (int32_t n = 0; n < model_.node_count(); ++n) marks(n) &= ~(kBehind | kBefore);
    for (int32_t n = 0; n < model_.node_count(); ++n) {
      const NodeInfo node = model_.node(n);
      if (carry_of(model_, node) == Carry::kNot) continue;
      for (const int32_t input : node.inputs)
        if (input == state.input || is_marked_writer(input, n, kBehind)) marks(n) |= kBehind;
    }
    bool calculates = false;
    for (int32_t n = model_.node_count() - 1; n >= 0; --n) {
      const NodeInfo node = model_.node(n);
      const Carry carry = carry_of(model_, node);
      if (carry == Carry::kNot) continue;
      if (holds(node.outputs, state.output) || is_read_by_marked(node, n)) marks(n) |= kBefore;
      calculates = calculates || (on_the_way(n) && carry == Carry::kCalculates);
    }
    for (int32_t n = 0; calculates && n < model_.node_count(); ++n)
      if (on_the_way(n)) marks(n) |= kFound;
  }
  bool is_found(int32_t n) { return (marks(n) & kFound) != 0; }

 private:
  static constexpr int32_t kFound = 4;

  int32_t& marks(int32_t n) { return marks_[static_cast<size_t>(n)]; }
  bool on_the_way(int32_t n) { return (marks(n) & (kBehind | kBefore)) == (kBehind | kBefore); }
  bool is_marked_writer(int32_t tensor, int32_t before, int32_t mark) {
    for (int32_t n = 0; n < before; ++n)
      if ((marks(n) & mark) != 0 && holds(model_.node_outputs(n), tensor)) return true;
    return false;
  }
  bool is_read_by_marked(const NodeInfo& node, int32_t behind) {
    for (int32_t n = behind + 1; n < model_.node_count(); ++n) {
      if ((marks(n) & kBefore) == 0) continue;
      for (const int32_t output : node.outputs)
        if (holds(model_.node_inputs(n), output)) return true;
    }
    return false;
  }

  const Model& model_;
  Span<int32_t> marks_;
};

}  // namespace

size_t step_model_bytes(const Model& model) {
  constexpr size_t kTensorBytes = 1024, kNodeBytes = 2048, kSlack = 16384;
  return model.bytes().size + kTensorBytes * static_cast<size_t>(model.tensor_count()) +
         kNodeBytes * static_cast<size_t>(model.node_count()) + kSlack;
}

Result<Span<const uint8_t>> make_step_model(const Model& model, Span<uint8_t> memory) {
  if (model.state_count() == 0) return Error{Status::kBadState};
  const Error too_small{Status::kOutOfMemory, -1, -1, static_cast<int64_t>(memory.size),
                        static_cast<int64_t>(step_model_bytes(model))};
  if (memory.size < step_model_bytes(model)) return too_small;
  Arena arena(memory);
  Graph graph = graph_of(model, arena);
  for (const StateInfo& state : graph.states) {
    graph.inputs.push(arena, state.input);
    if (!holds(model.outputs(), state.output)) graph.outputs.push(arena, state.output);
  }
  graph.states = {};
  if (arena.exhausted()) return too_small;
  const auto written = finish_model(graph, float_ops(), arena);
  if (arena.exhausted()) return too_small;
  return written;
}

Span<const int32_t> find_state_nodes(const Model& model, Span<int32_t> nodes) {
  for (int32_t& mark : nodes) mark = 0;
  CarriedState carried(model, nodes);
  for (int32_t i = 0; i < model.state_count(); ++i) carried.find(model.state(i));
  size_t count = 0;
  for (int32_t n = 0; n < model.node_count(); ++n)
    if (carried.is_found(n)) nodes[count++] = n;  // no mark behind n is lost
  return {nodes.data, count};
}

}  // namespace intaglio

// Random graphs for what places activations and what checks it: sizes that differ, several outputs, absent and
// constant inputs, states, tensors that nobody reads, and operators of every rule of being made in place.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "runtime/op.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"

namespace intaglio::test {

// Reshape stands on input 0, Sub on input 1, Softmax on none; Tanh is in no list.
inline OpList plan_ops() {
  const auto op = [](Op code, int8_t alias) {
    OpDef def;
    def.op = code;
    def.dtype = DType::kF32;
    def.alias_input = alias;
    return def;
  };
  static const OpDef kOnFirst = op(Op::kReshape, 0), kOnSecond = op(Op::kSub, 1),
                     kOnNone = op(Op::kSoftmax, -1);
  static const OpDef* const kOps[] = {&kOnFirst, &kOnSecond, &kOnNone};
  return {kOps, 3};
}

// Which input an operator of this list may stand on; -1: none.
inline int32_t alias_of(Op op) { return op == Op::kReshape ? 0 : op == Op::kSub ? 1 : -1; }

inline void fill_plan_graph(ModelBuilder& b, Random& random, int32_t nodes) {
  const int32_t widths[] = {random.between(1, 60), random.between(1, 60), random.between(1, 200)};
  int32_t count = 0;
  const auto activation = [&] {
    return b.tensor("t" + std::to_string(count++), DType::kF32, {widths[random.between(0, 2)]});
  };
  std::vector<int32_t> made;
  for (int32_t i = random.between(1, 2); i > 0; --i) {
    made.push_back(activation());
    b.input(made.back());
  }
  const bool has_state = random.one_in(3);
  int32_t state = -1;
  if (has_state) {
    state = b.tensor("state", DType::kF32, {widths[0]});
    made.push_back(state);
  }
  const int32_t constant = b.constant<float>("constant", DType::kF32, {2}, {1.0f, 2.0f});
  const auto pick = [&] {
    return random.one_in(2)
               ? made.back()
               : made[static_cast<size_t>(random.between(0, static_cast<int32_t>(made.size()) - 1))];
  };
  constexpr Op kOps[] = {Op::kReshape, Op::kSub, Op::kSoftmax, Op::kReshape, Op::kSub, Op::kTanh};
  std::vector<int32_t> written;
  for (int32_t n = 0; n < nodes; ++n) {
    std::vector<int32_t> inputs = {random.one_in(12) ? constant : pick()}, outputs;
    for (int32_t more = random.between(0, 2); more > 0; --more)
      inputs.push_back(random.one_in(10) ? -1 : random.one_in(10) ? constant : pick());
    for (int32_t i = random.one_in(4) ? 2 : 1; i > 0; --i) outputs.push_back(activation());
    b.node(kOps[random.between(0, 5)], inputs, outputs);
    made.insert(made.end(), outputs.begin(), outputs.end());
    written.insert(written.end(), outputs.begin(), outputs.end());
  }
  b.output(written.back());
  if (written.size() > 1 && random.one_in(3)) b.output(written[0]);
  if (has_state) {
    const int32_t next = b.tensor("next", DType::kF32, {widths[0]});
    b.node(Op::kSoftmax, {pick()}, {next});
    b.graph().states.push(b.arena(), {state, next, {}});
  }
}

// First and last node that need a tensor: -1 and up for what the model is given, up to the count of nodes for
// what leaves it.
struct Life {
  int32_t first, last;
};

// The life of each activation, by the definition.
inline std::map<int32_t, Life> lives_of(const Graph& graph) {
  std::map<int32_t, Life> lives;
  for (const int32_t input : graph.inputs) lives[input] = {-1, -1};
  for (const StateInfo& state : graph.states) lives[state.input] = {-1, -1};
  const auto nodes = static_cast<int32_t>(graph.nodes.size());
  for (int32_t n = 0; n < nodes; ++n) {
    for (const int32_t input : graph.nodes[static_cast<size_t>(n)].inputs)
      if (lives.count(input) > 0) lives[input].last = n;
    for (const int32_t output : graph.nodes[static_cast<size_t>(n)].outputs) lives[output] = {n, n};
  }
  for (const int32_t output : graph.outputs) lives[output].last = nodes;
  for (const StateInfo& state : graph.states) lives[state.output].last = nodes;
  return lives;
}

// Whether the first output of node `n` may stand where `input` stands, as far as lives and sizes go.
inline bool may_stand(const Graph& graph, const std::map<int32_t, Life>& lives, int32_t n, int32_t tensor,
                      int32_t input) {
  const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
  const int32_t alias = alias_of(node.op);
  // Without a first input an operator's form is not known.
  if (alias < 0 || static_cast<size_t>(alias) >= node.inputs.size || node.inputs[0] < 0) return false;
  return node.outputs[0] == tensor && node.inputs[static_cast<size_t>(alias)] == input &&
         lives.count(input) > 0 && lives.at(input).last == n &&
         std::count(node.inputs.begin(), node.inputs.end(), input) == 1 &&
         graph.tensors[static_cast<size_t>(tensor)].bytes() ==
             graph.tensors[static_cast<size_t>(input)].bytes();
}

}  // namespace intaglio::test

// The end of an import.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "calibrator/bake/graph.h"
#include "importers/draft/draft.h"
#include "importers/draft/names.h"
#include "importers/draft/op_traits.h"

namespace intaglio::importers {
namespace {

template <typename T>
Span<const T> span(const std::vector<T>& values) {
  return {values.data(), values.size()};
}

void check_operators(const Draft& draft, Problems& problems) {
  for (const DraftNode& node : draft.nodes) {
    if (node.op == kBatchNorm) {
      problems.add(label(node) +
                   ": does not follow a convolution or fully connected node that could take it, and " +
                   shape_text(draft.tensor(node.input()).shape) + " is no picture");
    }
  }
}

// Which channel of a constant an element belongs to, for a message.
int64_t channel_of(const Draft& draft, const DraftNode& node, size_t input, size_t element) {
  const Shape& shape = draft.tensor(node.inputs[input]).shape;
  const bool channels_last = input != 1 || node.op == Op::kDepthwiseConv2d || shape.size() < 2;
  const auto i = static_cast<int64_t>(element);
  return channels_last ? i % shape.back() : i / (elements(shape) / shape[0]);
}

// A comparison computes nothing of an infinity.
bool takes_infinity(Op op) { return op == Op::kEqual || op == Op::kLess || op == Op::kLessOrEqual; }

// Exporters mask with infinities. Operators that add, choose or move give the same of the number that stands for one.
bool may_mask(Op op) {
  return op == Op::kAdd || op == Op::kSub || op == Op::kWhere || op == Op::kMaximum || op == Op::kMinimum ||
         op == Op::kConcat || op == Op::kGather;
}

// Masks are added to one another: of two numbers beyond this the sum is an infinity, which no calibration takes.
constexpr float kMostSummand = 0x1p127f;

void bound_infinities(Draft& draft) {
  for (DraftNode& node : draft.nodes) {
    if (node.op == Op::kPad && std::isinf(node.options.as<PadOptions>().value)) {  // no MaxPool has taken it
      float& value = node.options.as<PadOptions>().value;
      value = std::copysign(kMasked, value);
      draft.notes.push_back(text(label(node), ": its padding of infinity is 1.3e30 here"));
    }
    for (const int32_t input : node.inputs) {
      if (input < 0 || !(may_mask(node.op) || node.op == Op::kMul)) continue;
      DraftTensor& tensor = draft.tensor(input);
      if (!tensor.constant || tensor.dtype != DType::kF32) continue;
      auto values = values_of<float>(tensor);
      bool has_infinities = false, has_larger = false;
      for (float& value : values) {
        const bool is_infinite = std::isinf(value) && may_mask(node.op),
                   is_larger =
                       std::isfinite(value) && std::abs(value) > kMostSummand && node.op != Op::kWhere;
        if (is_infinite || is_larger) value = std::copysign(kMasked, value);
        has_infinities |= is_infinite;
        has_larger |= is_larger;
      }
      if (!has_infinities && !has_larger) continue;
      set_values(tensor, values);
      draft.notes.push_back(text(label(node), ": ", has_infinities ? "infinities" : "numbers beyond 1.7e38",
                                 " of constant ", quoted(tensor.name), " are 1.3e30 here"));
    }
  }
}

void check_constants(const Draft& draft, Problems& problems) {
  std::vector<bool> seen(draft.tensors.size(), false);
  for (const DraftNode& node : draft.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int32_t index = node.inputs[i];
      if (index < 0 || seen[static_cast<size_t>(index)]) continue;
      seen[static_cast<size_t>(index)] = true;
      const DraftTensor& tensor = draft.tensor(index);
      if (!tensor.constant || tensor.dtype != DType::kF32) continue;
      const auto values = values_of<float>(tensor);
      for (size_t e = 0; e < values.size(); ++e) {
        if (std::isfinite(values[e]) || (std::isinf(values[e]) && takes_infinity(node.op))) continue;
        problems.add(text(label(node), ": constant ", quoted(tensor.name), " holds ", values[e],
                          " in channel ", channel_of(draft, node, i, e),
                          "; every value must be finite: export the model again"));
        break;
      }
    }
  }
}

// A constant operand comes second: a node that stands in place of its input takes the first.
void put_constants_second(Draft& draft) {
  for (DraftNode& node : draft.nodes)
    if (traits(node.op).is(kCommutes) && draft.tensor(node.inputs[0]).constant)
      std::swap(node.inputs[0], node.inputs[1]);
}

void check_counts(const Draft& draft, size_t tensors, Problems& problems) {
  if (draft.nodes.empty()) problems.add("no operator is left to run: the outputs are the inputs");
  if (draft.nodes.size() > static_cast<size_t>(kMaxNodes))
    problems.add(text(draft.nodes.size(), " nodes are too many (at most ", kMaxNodes, ")"));
  if (tensors > static_cast<size_t>(kMaxTensors))
    problems.add(text(tensors, " tensors are too many (at most ", kMaxTensors, ")"));
  for (const DraftState& state : draft.states) {
    const DraftTensor &from = draft.tensor(draft.inputs[state.input]),
                      &to = draft.tensor(draft.outputs[state.output]);
    if (from.dtype != to.dtype || from.shape != to.shape || !from.same_quantization(to))
      problems.add(text("state ", quoted(from.name), " ", shape_text(from.shape), " and its next value ",
                        quoted(to.name), " ", shape_text(to.shape), " differ in shape, type or scale"));
  }
  for (const int32_t output : draft.outputs)
    if (is_model_input(draft, output) || draft.tensor(output).constant)
      problems.add(
          text("output ", quoted(draft.tensor(output).name), " is an input or a constant, not a result"));
}

class Builder {
 public:
  Builder(const Draft& draft, Arena& arena)
      : draft_(draft), arena_(arena), numbers_(draft.tensors.size(), -1) {}

  Graph build() {
    // The model's own ends keep their names whatever stands between them.
    name_ends(draft_.inputs);
    name_ends(draft_.outputs);
    name_values();
    std::vector<bool> input_is_state(draft_.inputs.size(), false),
        output_is_state(draft_.outputs.size(), false);
    for (const DraftState& state : draft_.states)
      input_is_state[state.input] = output_is_state[state.output] = true;
    for (size_t i = 0; i < draft_.inputs.size(); ++i)
      if (!input_is_state[i]) graph_.inputs.push(arena_, number(draft_.inputs[i]));
    for (const DraftNode& node : draft_.nodes) add(node);
    for (size_t i = 0; i < draft_.outputs.size(); ++i)
      if (!output_is_state[i]) graph_.outputs.push(arena_, number(draft_.outputs[i]));
    for (const DraftState& state : draft_.states)
      graph_.states.push(arena_, {number(draft_.inputs[state.input]), number(draft_.outputs[state.output]),
                                  arena_.copy(span(state.initial))});
    for (const DraftNormStatistics& entry : draft_.norm_statistics) {
      const int32_t tensor = numbers_[static_cast<size_t>(entry.tensor)];
      if (tensor < 0) continue;
      graph_.norm_statistics.push(
          arena_, {tensor, arena_.copy(span(entry.mean)), arena_.copy(span(entry.deviation))});
    }
    return graph_;
  }
  size_t tensor_count() const { return graph_.tensors.size(); }

 private:
  void name_ends(const std::vector<int32_t>& tensors) {
    for (const int32_t tensor : tensors) number(tensor);
  }

  // A value of the file has its name. Steps on the way to it that are called so, too, are numbered. So is a step of another size where the
  // value itself went into another node: who looks for it by its name would find the step.
  void name_values() {
    std::unordered_map<int32_t, int32_t> moved;  // what a tensor of the same name is a move of
    for (const DraftNode& node : draft_.nodes)
      if (node.op == Op::kReshape || node.op == Op::kTranspose) moved[node.outputs[0]] = node.inputs[0];
    for (const DraftNode& node : draft_.nodes)
      for (const int32_t output : node.outputs) {
        if (output < 0 || !draft_.tensor(output).is_of_file) continue;
        int32_t value = output;
        for (auto from = moved.find(value); from != moved.end(); from = moved.find(value)) {
          if (draft_.tensor(from->second).name != draft_.tensor(value).name) break;
          value = from->second;
        }
        if (numbers_[static_cast<size_t>(value)] < 0 && names_.count(value) == 0)
          names_[value] = tensor_names_.take(draft_.tensor(value).name);
      }
    std::unordered_map<std::string, int32_t> steps;  // a tensor of the name that is no value of the file
    for (const DraftNode& node : draft_.nodes)
      for (const int32_t output : node.outputs)
        if (output >= 0 && !draft_.tensor(output).is_of_file)
          steps.emplace(draft_.tensor(output).name, output);
    for (const auto& [tensor, name] : names_) steps.erase(draft_.tensor(tensor).name);
    for (const DraftTensor& value : draft_.tensors) {
      const auto step = value.is_of_file ? steps.find(value.name) : steps.end();
      if (step == steps.end() || elements(draft_.tensor(step->second).shape) == elements(value.shape))
        continue;
      tensor_names_.take(value.name);
      steps.erase(step);
    }
  }

  int32_t number(int32_t index) {
    if (index < 0) return -1;
    int32_t& number = numbers_[static_cast<size_t>(index)];
    if (number >= 0) return number;
    const DraftTensor& tensor = draft_.tensor(index);
    const auto named = names_.find(index);
    const std::string name = named == names_.end() ? tensor_names_.take(tensor.name) : named->second;
    number = tensor.constant ? add_constant(graph_, arena_, name.c_str(), tensor.dtype, span(tensor.shape),
                                            span(tensor.data))
                             : add_tensor(graph_, arena_, name.c_str(), tensor.dtype, span(tensor.shape));
    if (tensor.dtype == DType::kF32) return number;
    Quantization& quantization = graph_.tensors[static_cast<size_t>(number)].quantization;
    quantization.scales = arena_.copy(span(tensor.scales));
    quantization.zero_point = tensor.zero_point;
    quantization.axis = tensor.axis;
    return number;
  }

  void add(const DraftNode& node) {
    std::vector<int32_t> inputs, outputs;
    for (const int32_t input : node.inputs) inputs.push_back(number(input));
    for (const int32_t output : node.outputs) outputs.push_back(number(output));
    while (!inputs.empty() && inputs.back() < 0) inputs.pop_back();
    const std::string name = node_names_.take(node.name);
    GraphNode& made = add_node(graph_, arena_, node.op, name.c_str(), span(inputs), span(outputs));
    made.options = copy_options(node.options, arena_);
  }

  const Draft& draft_;
  Arena& arena_;
  Graph graph_;
  std::vector<int32_t> numbers_;  // in the graph, of each tensor of the draft
  UniqueNames tensor_names_, node_names_;
  std::unordered_map<int32_t, std::string> names_;  // of tensors that are not in the graph yet
};

}  // namespace

// The graph, and the model that is written of it. Its plan compares each tensor with those that live beside it.
static void spend(const Draft& draft) {
  constexpr uint64_t kGraphAndModel = 2;
  uint64_t bytes = 0;
  for (const DraftTensor& tensor : draft.tensors)
    bytes += sizeof(TensorInfo) + tensor.name.size() + tensor.data.size();
  for (const DraftNode& node : draft.nodes) bytes += sizeof(GraphNode) + node.name.size();
  draft.budget->spend_memory(kGraphAndModel * bytes, "the model");
  const uint64_t nodes = draft.nodes.size();
  draft.budget->spend_work(nodes * nodes, "the plan of its memory");
}

Graph draft_to_graph(Draft& draft, Arena& arena, Problems& problems) {
  check_operators(draft, problems);
  bound_infinities(draft);
  check_constants(draft, problems);
  put_constants_second(draft);
  spend(draft);
  if (!problems.empty()) return {};
  Builder builder(draft, arena);
  Graph graph = builder.build();
  check_counts(draft, builder.tensor_count(), problems);
  if (arena.exhausted()) problems.add("out of memory");
  return graph;
}

}  // namespace intaglio::importers

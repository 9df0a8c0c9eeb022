// Functions that a file defines itself: a node that calls one stands for the function's own nodes.
#include <functional>
#include <map>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "importers/onnx/onnx_operators.h"
#include "importers/onnx/onnx_reader.h"

namespace intaglio::importers {

namespace {

using onnx_file::AttributeProto;
using onnx_file::FunctionProto;
using onnx_file::GraphProto;
using onnx_file::NodeProto;

constexpr int kMostDepth = 16;  // of graphs in attributes

// Names and attributes of one call in place of the function's.
class Call {
 public:
  Call(const FunctionProto& function, const NodeProto& node, const std::string& prefix)
      : node_(node), defaults_(function.attribute_proto), prefix_(prefix) {
    if (node.input.count() > function.input.count() || node.output.count() > function.output.count())
      fail("it has ", node.input.count(), " inputs and ", node.output.count(), " outputs; its function ",
           quoted(function.name), " has ", function.input.count(), " and ", function.output.count());
    for (int i = 0; i < function.input.count(); ++i)
      names_[function.input[i]] = i < node.input.count() ? node.input[i] : std::string();
    for (int i = 0; i < node.output.count(); ++i)
      if (!node.output[i].empty()) names_[function.output[i]] = node.output[i];
  }

  NodeProto renamed(const NodeProto& from, int depth = 0) const {
    if (depth > kMostDepth) fail("its function's graphs are nested more than ", kMostDepth, " deep");
    NodeProto made = from;
    made.name = prefix_ + from.name;
    for (std::string& name : made.input) name = name_of(name);
    for (std::string& name : made.output) name = name_of(name);
    made.attribute.clear();
    for (const AttributeProto& attribute : from.attribute) {
      if (!attribute.ref_attr_name.empty()) {
        add_given(attribute, made);
        continue;
      }
      AttributeProto& copy = made.attribute.add();
      copy = attribute;
      if (copy.g.has()) rename(copy.g.make(), depth);
    }
    return made;
  }

  // Memory of the node's copy. It takes attributes of the call: a large one may be referred to often.
  uint64_t copy_bytes(const NodeProto& from, int depth = 0) const {
    uint64_t bytes =
        depth == 0 ? memory_size(from) + prefix_.size() * (1 + from.input.size() + from.output.size()) : 0;
    for (const AttributeProto& attribute : from.attribute) {
      const bool is_given = !attribute.ref_attr_name.empty();
      if (const AttributeProto* const own = is_given ? given(attribute) : nullptr) bytes += memory_size(*own);
      if (is_given || depth == kMostDepth) continue;
      for (const NodeProto& inner : attribute.g->node) bytes += copy_bytes(inner, depth + 1);
    }
    return bytes;
  }

 private:
  std::string name_of(const std::string& name) const {
    const auto known = names_.find(name);
    return name.empty() ? name : known != names_.end() ? known->second : prefix_ + name;
  }

  // The call's value of the attribute that the function's node refers to; else the function's own value, or none.
  const AttributeProto* given(const AttributeProto& reference) const {
    const auto find_in = [&](const auto& attributes) -> const AttributeProto* {
      for (const AttributeProto& attribute : attributes)
        if (attribute.name == reference.ref_attr_name) return &attribute;
      return nullptr;
    };
    const AttributeProto* const own = find_in(node_.attribute);
    return own != nullptr ? own : find_in(defaults_);
  }

  void add_given(const AttributeProto& reference, NodeProto& made) const {
    const AttributeProto* const attribute = given(reference);
    if (attribute == nullptr) return;
    AttributeProto& copy = made.attribute.add();
    copy = *attribute;
    copy.name = reference.name;
  }

  void rename(GraphProto& graph, int depth) const {
    for (NodeProto& node : graph.node) node = renamed(node, depth + 1);
    for (auto& constant : graph.initializer) constant.name = name_of(constant.name);
    for (auto& input : graph.input) input.name = name_of(input.name);
    for (auto& output : graph.output) output.name = name_of(output.name);
  }

  const NodeProto& node_;
  const onnx_file::Messages<AttributeProto>& defaults_;
  std::string prefix_;
  std::map<std::string, std::string> names_;
};

}  // namespace

const FunctionProto* find_onnx_function(const onnx_file::ModelProto& model, const NodeProto& node) {
  for (const FunctionProto& function : model.functions)
    if (function.name == node.op_type && function.domain == node.domain) return &function;
  return nullptr;
}

std::unique_ptr<GraphProto> called_onnx_function(const FunctionProto& function, const NodeProto& node,
                                                 const std::string& prefix, ImportBudget& budget) {
  const Call call(function, node, prefix);
  for (const NodeProto& inner : function.node)
    budget.spend_memory(call.copy_bytes(inner), "a copy of its function");
  auto graph = std::make_unique<GraphProto>();
  for (const NodeProto& inner : function.node) graph->node.add() = call.renamed(inner);
  return graph;
}

namespace {

using NameSet = std::unordered_set<std::string>;

// Branches read the names of the graph around them.
void want_inputs(const onnx_file::NodeProto& node, NameSet& wanted) {
  wanted.insert(node.input.begin(), node.input.end());
  for (const auto& attribute : node.attribute) {
    for (const auto& inner : attribute.g->node) want_inputs(inner, wanted);
    for (const auto& output : attribute.g->output) wanted.insert(output.name);
  }
}

// Among nodes that can run next, the first in the file comes first.
std::vector<int> run_order(const onnx_file::GraphProto& graph) {
  const auto count = static_cast<size_t>(graph.node.count());
  std::unordered_map<std::string, int> writers;
  for (int i = 0; i < graph.node.count(); ++i)
    for (const std::string& output : graph.node[i].output)
      if (!output.empty()) writers.emplace(output, i);
  std::vector<std::vector<int>> readers(count);
  std::vector<size_t> missing(count, 0);
  for (int i = 0; i < graph.node.count(); ++i) {
    NameSet names;
    want_inputs(graph.node[i], names);
    for (const std::string& name : names) {
      const auto writer = writers.find(name);
      if (writer == writers.end() || writer->second == i) continue;
      readers[static_cast<size_t>(writer->second)].push_back(i);
      ++missing[static_cast<size_t>(i)];
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < graph.node.count(); ++i)
    if (missing[static_cast<size_t>(i)] == 0) ready.push(i);
  std::vector<int> order;
  while (!ready.empty()) {
    const int next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const int reader : readers[static_cast<size_t>(next)])
      if (--missing[static_cast<size_t>(reader)] == 0) ready.push(reader);
  }
  for (int i = 0; i < graph.node.count(); ++i)
    if (missing[static_cast<size_t>(i)] != 0) order.push_back(i);
  return order;
}

}  // namespace

std::vector<int> needed_in_order(const onnx_file::GraphProto& graph,
                                 const std::vector<std::string>& outputs) {
  NameSet wanted(outputs.begin(), outputs.end());
  const std::vector<int> order = run_order(graph);
  std::vector<bool> needed(order.size(), false);
  for (size_t place = order.size(); place-- > 0;) {
    const onnx_file::NodeProto& node = graph.node[order[place]];
    for (const std::string& output : node.output) needed[place] = needed[place] || wanted.count(output) != 0;
    if (needed[place]) want_inputs(node, wanted);
  }
  std::vector<int> list;
  for (size_t place = 0; place < order.size(); ++place)
    if (needed[place]) list.push_back(order[place]);
  return list;
}

}  // namespace intaglio::importers

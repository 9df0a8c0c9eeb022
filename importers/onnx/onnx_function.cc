// Functions that a file defines itself: a node that calls one stands for the function's own nodes.
#include <map>

#include "importers/onnx/onnx_operators.h"

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

  // What the call says for the attribute that the function's node refers to; else the function's own value, or none.
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

}  // namespace intaglio::importers

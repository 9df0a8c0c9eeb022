#include "exporters/onnx/onnx_graph.h"

#include <algorithm>

#include "importers/draft/import_error.h"

namespace intaglio::exporters {

using importers::fail;
using importers::quoted;
using onnx_file::AttributeProto;

OnnxGraph::OnnxGraph(onnx_file::GraphProto& graph) : graph_(graph) {
  for (const auto& input : graph.input) {
    names_.insert(input.name);
    inputs_.insert(input.name);
  }
  for (const auto& output : graph.output) outputs_.insert(output.name);
}

std::vector<OnnxNode*> OnnxGraph::nodes() {
  std::vector<OnnxNode*> list;
  for (OnnxNode& node : nodes_)
    if (removed_.count(&node) == 0) list.push_back(&node);
  return list;
}

OnnxNode* OnnxGraph::writer(const std::string& value) const {
  const auto found = writers_.find(value);
  return found == writers_.end() ? nullptr : found->second;
}

std::vector<OnnxUse> OnnxGraph::uses(const std::string& value) const {
  const auto found = uses_.find(value);
  return found == uses_.end() ? std::vector<OnnxUse>() : found->second;
}

const OnnxTensor* OnnxGraph::constant(const std::string& value) const {
  const auto found = constant_of_.find(value);
  return found == constant_of_.end() ? nullptr : found->second;
}

std::string OnnxGraph::unused_name(const std::string& wanted) {
  std::string name = wanted;
  for (int number = 2; is_known(name); ++number) name = wanted + "_" + std::to_string(number);
  return name;
}

OnnxNode& OnnxGraph::add_node(const std::string& op, const std::string& name,
                              const std::vector<std::string>& inputs, const std::string& output) {
  nodes_.emplace_back();
  OnnxNode& node = nodes_.back();
  node.op_type = op;
  node.name = name;
  for (const std::string& input : inputs) {
    uses_[input].push_back({&node, node.input.count()});
    node.input.push_back(input);
  }
  add_output(node, output);
  return node;
}

void OnnxGraph::add_output(OnnxNode& node, const std::string& output) {
  node.output.push_back(output);
  writers_[output] = &node;
  names_.insert(output);
}

void OnnxGraph::add_constant(const std::string& name, OnnxTensor::DataType type,
                             const std::vector<int64_t>& dims, const void* data, size_t bytes) {
  constants_.emplace_back();
  OnnxTensor& tensor = constants_.back();
  tensor.name = name;
  tensor.data_type = type;
  for (const int64_t dim : dims) tensor.dims.push_back(dim);
  tensor.raw_data.set(data, bytes);
  constant_of_[name] = &tensor;
  names_.insert(name);
}

void OnnxGraph::set_input(OnnxNode& node, int input, const std::string& value) {
  while (node.input.count() <= input) {
    node.input.push_back("");
    uses_[""].push_back({&node, node.input.count() - 1});
  }
  auto& before = uses_[node.input[input]];
  before.erase(std::remove_if(before.begin(), before.end(),
                              [&](const OnnxUse& use) { return use.node == &node && use.input == input; }),
               before.end());
  node.input[input] = value;
  uses_[value].push_back({&node, input});
}

// `value` is a copy: the node's own output may be given.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void OnnxGraph::rename_output(OnnxNode& writer, std::string value, const std::string& name) {
  for (std::string& output : writer.output)
    if (output == value) output = name;
  writers_.erase(value);
  names_.erase(value);
  writers_[name] = &writer;
  names_.insert(name);
}

void OnnxGraph::remove(OnnxNode& node) {
  for (int i = 0; i < node.input.count(); ++i) {
    auto& list = uses_[node.input[i]];
    list.erase(
        std::remove_if(list.begin(), list.end(), [&](const OnnxUse& use) { return use.node == &node; }),
        list.end());
  }
  for (const std::string& output : node.output) {
    const auto found = writers_.find(output);
    if (found == writers_.end() || found->second != &node) continue;
    writers_.erase(found);
    names_.erase(output);
  }
  removed_.insert(&node);
}

void OnnxGraph::remove_dead() {
  std::vector<OnnxNode*> open = nodes();  // to be looked at, those again whose readers have gone
  while (!open.empty()) {
    OnnxNode* const node = open.back();
    open.pop_back();
    const bool needed = std::any_of(node->output.begin(), node->output.end(), [&](const std::string& output) {
      return !output.empty() && (is_output(output) || !uses(output).empty());
    });
    if (needed || removed_.count(node) != 0) continue;
    const std::vector<std::string> inputs(node->input.begin(), node->input.end());
    remove(*node);
    for (const std::string& input : inputs)
      if (OnnxNode* const before = writer(input)) open.push_back(before);
  }
}

std::vector<OnnxNode*> OnnxGraph::sorted() {
  std::vector<OnnxNode*> list, waiting;
  std::unordered_set<const OnnxNode*> placed, open;  // open: what they read is being placed
  // Depth first, so that what was written in order stays so; without recursion, since graphs are deep.
  for (OnnxNode* const root : nodes()) {
    waiting.push_back(root);
    while (!waiting.empty()) {
      OnnxNode* const node = waiting.back();
      if (placed.count(node) != 0) {
        waiting.pop_back();
        continue;
      }
      bool ready = true;
      for (const std::string& input : node->input) {
        OnnxNode* const before = writer(input);
        if (before == nullptr || placed.count(before) != 0) continue;
        if (before == node || open.count(before) != 0)
          fail("node ", quoted(before->name), " (", before->op_type, ") reads what follows from it");
        waiting.push_back(before);
        ready = false;
      }
      open.insert(node);
      if (!ready) continue;
      open.erase(node);
      waiting.pop_back();
      placed.insert(node);
      list.push_back(node);
    }
  }
  return list;
}

void OnnxGraph::finish() {
  remove_dead();
  std::unordered_set<std::string> taken;  // onnxruntime refuses two nodes of one name
  for (OnnxNode* const node : sorted()) {
    const std::string wanted = node->name;
    for (int number = 2; !taken.insert(node->name).second; ++number)
      node->name = wanted + "_" + std::to_string(number);
    graph_.node.add() = *node;
  }
  for (const OnnxTensor& tensor : constants_)
    if (!uses(tensor.name).empty() || is_output(tensor.name)) graph_.initializer.add() = tensor;
}

static AttributeProto& new_attribute(OnnxNode& node, const std::string& name,
                                     AttributeProto::AttributeType type) {
  auto& list = node.attribute;
  list.erase(
      std::remove_if(list.begin(), list.end(), [&](const AttributeProto& a) { return a.name == name; }),
      list.end());
  AttributeProto& attribute = list.add();
  attribute.name = name;
  attribute.type = type;
  return attribute;
}

void set_attribute(OnnxNode& node, const std::string& name, int64_t value) {
  new_attribute(node, name, AttributeProto::INT).i = value;
}

void set_attribute(OnnxNode& node, const std::string& name, const std::vector<int64_t>& values) {
  AttributeProto& attribute = new_attribute(node, name, AttributeProto::INTS);
  for (const int64_t value : values) attribute.ints.push_back(value);
}

void set_real(OnnxNode& node, const std::string& name, float value) {
  new_attribute(node, name, AttributeProto::FLOAT).f = value;
}

void set_words(OnnxNode& node, const std::string& name, const std::string& words) {
  new_attribute(node, name, AttributeProto::STRING).s = words;
}

}  // namespace intaglio::exporters

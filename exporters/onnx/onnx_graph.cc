#include "exporters/onnx/onnx_graph.h"

#include <algorithm>
#include <array>

#include "importers/draft/import_error.h"
#include "importers/onnx/onnx_stored.h"

namespace intaglio::exporters {

using importers::fail;
using importers::quoted;

using onnx_file::AttributeProto;

namespace {

// All that the nodes of a graph read, and those of their graphs.
void add_reads(const onnx_file::GraphProto& graph, std::vector<std::string>& names) {
  for (const OnnxNode& node : graph.node) {
    names.insert(names.end(), node.input.begin(), node.input.end());
    for (const AttributeProto& attribute : node.attribute)
      if (attribute.g.has()) add_reads(*attribute.g, names);
  }
  for (const auto& output : graph.output) names.push_back(output.name);
}

}  // namespace

OnnxGraph::OnnxGraph(onnx_file::GraphProto& graph) : graph_(graph) {
  for (auto& tensor : graph.initializer) {
    names_.insert(tensor.name);
    constants_.push_back(std::move(tensor));
    constant_of_[constants_.back().name] = &constants_.back();
  }
  for (const auto& input : graph.input) {
    names_.insert(input.name);
    if (constant_of_.count(input.name) == 0) inputs_.insert(input.name);  // old files list their weights here
  }
  for (const auto& output : graph.output) outputs_.insert(output.name);
  for (auto& node : graph.node) {
    nodes_.push_back(std::move(node));
    OnnxNode& own = nodes_.back();
    for (int i = 0; i < own.input.count(); ++i) uses_[own.input[i]].push_back({&own, i});
    for (const AttributeProto& attribute : own.attribute)
      if (attribute.g.has()) add_reads(*attribute.g, captured_[&own]);
    for (const std::string& output : own.output) {
      if (!writers_.emplace(output, &own).second && !output.empty())
        fail("the value ", quoted(output), " is written by two nodes");
      names_.insert(output);
    }
  }
  for (const auto& [node, names] : captured_) outputs_.insert(names.begin(), names.end());
  graph.node.clear();
  graph.initializer.clear();
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
  if (found != constant_of_.end()) return found->second;
  const OnnxNode* const node = writer(value);
  if (node == nullptr || node->op_type != "Constant") return nullptr;
  const AttributeProto* const attribute = find_attribute(*node, "value");
  return attribute != nullptr && attribute->t.has() ? &*attribute->t : nullptr;
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

void OnnxGraph::release_constant(const std::string& value) {
  if (!uses(value).empty() || is_output(value)) return;
  if (constant_of_.erase(value) != 0) names_.erase(value);
  OnnxNode* const node = writer(value);
  if (node != nullptr && node->op_type == "Constant") remove(*node);
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
      std::vector<std::string> inputs(node->input.begin(), node->input.end());
      if (const auto found = captured_.find(node); found != captured_.end())
        inputs.insert(inputs.end(), found->second.begin(), found->second.end());
      for (const std::string& input : inputs) {
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
  for (OnnxNode* const node : sorted()) graph_.node.add() = *node;
  for (const OnnxTensor& tensor : constants_) {
    const auto found = constant_of_.find(tensor.name);
    if (found == constant_of_.end() || found->second != &tensor) continue;
    if (!uses(tensor.name).empty() || is_output(tensor.name)) graph_.initializer.add() = tensor;
  }
  onnx_file::Messages<onnx_file::ValueInfoProto> kept;
  for (const auto& input : graph_.input)
    if (inputs_.count(input.name) != 0) kept.add(input);
  graph_.input = std::move(kept);
  // Shapes of values between the ends, as the exporter of the network noted them: runtimes infer them anew.
  graph_.value_info.clear();
}

const AttributeProto* find_attribute(const OnnxNode& node, const std::string& name) {
  for (const AttributeProto& attribute : node.attribute)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

void remove_attribute(OnnxNode& node, const std::string& name) {
  auto& list = node.attribute;
  list.erase(
      std::remove_if(list.begin(), list.end(), [&](const AttributeProto& a) { return a.name == name; }),
      list.end());
}

// The node's only attribute of this name.
static AttributeProto& new_attribute(OnnxNode& node, const std::string& name,
                                     AttributeProto::AttributeType type) {
  remove_attribute(node, name);
  AttributeProto& attribute = node.attribute.add();
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

namespace {

using importers::fail;
using importers::quoted;
using onnx_file::AttributeProto;

// The first opset whose form is the one of opset 13, of operators that changed after opset 7 in a way that is not
// rewritten here. All others kept theirs, or got only more.
struct Changed {
  const char* op;
  int64_t since;
};
constexpr Changed kChanged[] = {
    {"Scan", 11}, {"NonMaxSuppression", 10}, {"Mod", 10}, {"Loop", 13}, {"If", 13}};

void number_to_input(OnnxGraph& graph, OnnxNode& node, const std::string& name, int input, float value) {
  const std::string made = graph.unused_name(node.output[0] + "/" + name);
  graph.add_constant(made, OnnxTensor::FLOAT, {}, &value, sizeof value);
  graph.set_input(node, input, made);
  remove_attribute(node, name);
}

// A list of integers, or an integer as a list of one.
void attribute_to_input(OnnxGraph& graph, OnnxNode& node, const char* name, int input) {
  const AttributeProto* const given = find_attribute(node, name);
  if (given == nullptr || node.input.count() > input) return;
  std::vector<int64_t> values(given->ints.begin(), given->ints.end());
  if (given->i) values = {*given->i};
  const std::string made = graph.unused_name(node.output[0] + "/" + name);
  graph.add_constant(made, OnnxTensor::INT64, {static_cast<int64_t>(values.size())}, values.data(),
                     values.size() * sizeof(int64_t));
  graph.set_input(node, input, made);
  remove_attribute(node, name);
}

// Upsample, and Resize of opset 10: pixel y is pixel floor(y / scale), or lies at y / scale. Where Resize-10 makes a picture smaller,
// runtimes differ.
void to_resize(OnnxGraph& graph, OnnxNode& node) {
  const bool is_upsample = node.op_type == "Upsample";
  std::string scales = node.input.count() > 1 ? node.input[1] : "";
  if (const AttributeProto* const given = find_attribute(node, "scales");
      given != nullptr && scales.empty()) {
    const std::vector<float> values(given->floats.begin(), given->floats.end());
    scales = graph.unused_name(node.output[0] + "/scales");
    graph.add_constant(scales, OnnxTensor::FLOAT, {static_cast<int64_t>(values.size())}, values.data(),
                       values.size() * sizeof(float));
    remove_attribute(node, "scales");
  }
  const OnnxTensor* const constant = graph.constant(scales);
  bool grows = is_upsample;
  if (constant != nullptr && constant->data_type == OnnxTensor::FLOAT) {
    const importers::Shape shape = importers::stored_onnx_shape(*constant);
    const std::vector<float> values =
        importers::stored_onnx_floats(*constant, shape, shape.empty() ? 1 : static_cast<uint64_t>(shape[0]))
            .values;
    grows = std::all_of(values.begin(), values.end(), [](float scale) { return scale >= 1.0f; });
  }
  if (!grows)
    fail(
        "node ", quoted(node.name), " (", node.op_type,
        "): it makes a picture smaller in the form of an old opset; convert the network with onnx.version_converter first");
  const AttributeProto* const mode = find_attribute(node, "mode");
  if (mode == nullptr || mode->s.value_or("nearest") == "nearest") set_words(node, "nearest_mode", "floor");
  set_words(node, "coordinate_transformation_mode", "asymmetric");
  node.op_type = "Resize";
  graph.set_input(node, 2, scales);
  graph.set_input(node, 1, "");
}

void bounds_to_inputs(OnnxGraph& graph, OnnxNode& node) {
  constexpr std::array<const char*, 2> kBounds{"min", "max"};
  for (size_t i = 0; i < kBounds.size(); ++i)
    if (const AttributeProto* const bound = find_attribute(node, kBounds[i]))
      number_to_input(graph, node, kBounds[i], static_cast<int>(i) + 1, bound->f.value_or(0.0f));
}

void pads_to_inputs(OnnxGraph& graph, OnnxNode& node) {
  attribute_to_input(graph, node, "pads", 1);
  const AttributeProto* const value = find_attribute(node, "value");
  number_to_input(graph, node, "value", 2, value == nullptr ? 0.0f : value->f.value_or(0.0f));
}

// The rank of a value where its writer alone says it; -1 elsewhere.
int64_t rank_of(const OnnxGraph& graph, const std::string& value) {
  const OnnxNode* const node = graph.writer(value);
  if (node == nullptr) return -1;
  const std::string& op = node->op_type;
  if (op == "Gemm" || op == "Flatten") return 2;
  if (op == "Transpose") {
    const AttributeProto* const order = find_attribute(*node, "perm");
    return order == nullptr ? -1 : order->ints.count();
  }
  if (op != "Reshape" || node->input.count() < 2) return -1;
  const OnnxTensor* const shape = graph.constant(node->input[1]);
  return shape == nullptr || shape->dims.count() != 1 ? -1 : shape->dims[0];
}

// Before opset 13 all axes from `axis` on, by default 1, count as one. Where that is not the last axis for sure, the
// value is made flat first, and gets its shape back.
void set_softmax_axis(OnnxGraph& graph, OnnxNode& node) {
  const AttributeProto* const given = find_attribute(node, "axis");
  const int64_t axis = given == nullptr ? 1 : given->i.value_or(0);
  const std::string x = node.input[0], y = node.output[0];
  set_attribute(node, "axis", -1);
  if (axis == -1 || axis == rank_of(graph, x) - 1) return;
  const std::string flat = graph.unused_name(y + "/flat"), shape = graph.unused_name(y + "/shape"),
                    result = graph.unused_name(y + "/flat_result");
  set_attribute(graph.add_node("Flatten", flat, {x}, flat), "axis", axis);
  graph.add_node("Shape", shape, {x}, shape);
  graph.set_input(node, 0, flat);
  graph.rename_output(node, y, result);
  graph.add_node("Reshape", y + "/reshape", {result, shape}, y);
}

}  // namespace

void raise_opset(OnnxGraph& graph, int64_t from) {
  if (from >= kQuantizedOpset) return;
  if (from < 7)
    fail("opset ", from,
         " is too old to be written; convert the network to opset 13 with onnx.version_converter");
  for (OnnxNode* const node : graph.nodes()) {
    const std::string& op = node->op_type;
    if (node->input.count() == 0 || node->output.count() == 0) continue;  // nothing needs it
    for (const Changed& changed : kChanged)
      if (op == changed.op && from < changed.since)
        fail("node ", quoted(node->name), " (", op, "): its form of opset ", from,
             " is not that of opset 13; convert the network with onnx.version_converter first");
    if (op == "Squeeze" || op == "Unsqueeze" || op == "ReduceSum")
      attribute_to_input(graph, *node, "axes", 1);
    if (op == "Split") attribute_to_input(graph, *node, "split", 1);
    if (op == "TopK" && from < 10) attribute_to_input(graph, *node, "k", 1);
    if (op == "Slice" && from < 10) {
      attribute_to_input(graph, *node, "starts", 1);
      attribute_to_input(graph, *node, "ends", 2);
      attribute_to_input(graph, *node, "axes", 3);
    }
    if (op == "Pad" && from < 11) pads_to_inputs(graph, *node);
    if (op == "Upsample" || (op == "Resize" && from < 11)) to_resize(graph, *node);
    if (op == "Dropout" && from < 12) remove_attribute(*node, "ratio");
    if (op == "BatchNormalization" && from < 9) remove_attribute(*node, "spatial");
    if (op == "Clip" && from < 11) bounds_to_inputs(graph, *node);
    if (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") set_softmax_axis(graph, *node);
  }
}

}  // namespace intaglio::exporters

#include "exporters/onnx/onnx_steps.h"

#include <algorithm>
#include <unordered_set>

#include "importers/onnx/onnx_stored.h"

namespace intaglio::exporters {
namespace {

using onnx_file::AttributeProto;
using onnx_file::GraphProto;
using onnx_file::NodeProto;
using onnx_file::TensorProto;

// ---- If

const GraphProto* branch_taken(const NodeProto& node, const importers::OnnxConstants& known,
                               const GraphProto& graph) {
  if (node.op_type != "If" || node.input.count() != 1) return nullptr;
  const TensorProto* condition = nullptr;
  if (const auto found = known.find(node.input[0]); found != known.end()) condition = &found->second;
  for (const TensorProto& tensor : graph.initializer)
    if (tensor.name == node.input[0]) condition = &tensor;
  if (condition == nullptr) return nullptr;
  const importers::Shape shape = importers::stored_onnx_shape(*condition);
  const auto values = importers::stored_onnx_integers(*condition, shape, 1).values;
  const char* const wanted = values.at(0) != 0 ? "then_branch" : "else_branch";
  for (const AttributeProto& attribute : node.attribute)
    if (attribute.name == wanted && attribute.g.has()) return &*attribute.g;
  return nullptr;
}

// Whether there was one.
bool put_branches(GraphProto& graph, const importers::OnnxConstants& known) {
  onnx_file::Messages<NodeProto> nodes;
  bool found = false;
  for (NodeProto& node : graph.node) {
    const GraphProto* const branch = branch_taken(node, known, graph);
    if (branch == nullptr || branch->output.count() != node.output.count()) {
      nodes.add(std::move(node));
      continue;
    }
    found = true;
    for (const TensorProto& tensor : branch->initializer) graph.initializer.add() = tensor;
    for (const NodeProto& own : branch->node) nodes.add() = own;
    for (int i = 0; i < node.output.count(); ++i) {
      NodeProto& same = nodes.add();
      same.op_type = "Identity";
      same.input.push_back(branch->output[i].name);
      same.output.push_back(node.output[i]);
    }
  }
  graph.node = std::move(nodes);
  return found;
}

// ---- constants

// Subgraphs are not looked at: a node with one stays.
bool has_graph(const NodeProto& node) {
  return std::any_of(node.attribute.begin(), node.attribute.end(), [](const AttributeProto& attribute) {
    return attribute.g.has() || attribute.graphs.count() > 0;
  });
}

void put_constants(GraphProto& graph, const importers::OnnxConstants& known) {
  std::unordered_set<std::string> constants;
  for (const TensorProto& tensor : graph.initializer) constants.insert(tensor.name);
  std::unordered_set<std::string> outputs;
  for (const auto& output : graph.output) outputs.insert(output.name);
  onnx_file::Messages<NodeProto> nodes;
  for (NodeProto& node : graph.node) {
    if (node.op_type == "Constant") constants.insert(node.output.begin(), node.output.end());
    const bool is_kept =
        node.input.empty() || has_graph(node) || node.op_type == "DequantizeLinear" ||
        std::any_of(node.input.begin(), node.input.end(),
                    [&](const std::string& x) { return !x.empty() && constants.count(x) == 0; }) ||
        std::any_of(node.output.begin(), node.output.end(), [&](const std::string& y) {
          return !y.empty() && (known.count(y) == 0 || outputs.count(y) != 0);
        });
    if (is_kept) {
      nodes.add(std::move(node));
      continue;
    }
    for (const std::string& output : node.output) {
      if (output.empty()) continue;
      TensorProto& made = graph.initializer.add();
      made = known.at(output);
      made.name = output;
      constants.insert(output);
    }
  }
  graph.node = std::move(nodes);
}

// ---- FP32

bool is_other_real(int64_t type) {
  return type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16 || type == TensorProto::DOUBLE;
}

bool to_f32(TensorProto& tensor) {
  if (!is_other_real(tensor.data_type)) return false;
  const importers::Shape shape = importers::stored_onnx_shape(tensor);
  uint64_t count = 1;
  for (const int32_t side : shape) count *= static_cast<uint64_t>(side);
  const std::vector<float> values = importers::stored_onnx_floats(tensor, shape, count).values;
  TensorProto made;
  made.name = tensor.name;
  made.dims = tensor.dims;
  made.data_type = TensorProto::FLOAT;
  made.raw_data.set(values.data(), values.size() * sizeof(float));
  tensor = std::move(made);
  return true;
}

bool is_other_real(const onnx_file::ValueInfoProto& value) {
  return value.type.has() && value.type->tensor_type.has() &&
         is_other_real(value.type->tensor_type->elem_type);
}

void to_f32(onnx_file::Messages<onnx_file::ValueInfoProto>& values) {
  for (auto& value : values)
    if (is_other_real(value)) value.type.make().tensor_type.make().elem_type = TensorProto::FLOAT;
}

// Whoever reads or writes the value `from`, in the graph and in those of its nodes.
void rename(GraphProto& graph, const std::string& from, const std::string& to) {
  for (NodeProto& node : graph.node) {
    for (auto* const names : {&node.input, &node.output})
      std::replace(names->begin(), names->end(), from, to);
    for (AttributeProto& attribute : node.attribute)
      if (attribute.g.has()) rename(attribute.g.make(), from, to);
  }
}

void add_cast(GraphProto& graph, const std::string& from, const std::string& to, int64_t type) {
  NodeProto& cast = graph.node.add();
  cast.op_type = "Cast";
  cast.name = from + "/cast";
  cast.input.push_back(from);
  cast.output.push_back(to);
  AttributeProto& attribute = cast.attribute.add();
  attribute.name = "to";
  attribute.type = AttributeProto::INT;
  attribute.i = type;
}

// The ends keep their types, behind and before a Cast.
void cast_ends(GraphProto& graph) {
  std::unordered_set<std::string> constants;
  for (const TensorProto& tensor : graph.initializer) constants.insert(tensor.name);
  for (const auto& input : graph.input) {
    if (!is_other_real(input) || constants.count(input.name) != 0) continue;
    rename(graph, input.name, name_in_f32(input));
    add_cast(graph, input.name, name_in_f32(input), TensorProto::FLOAT);
  }
  for (const auto& output : graph.output) {
    if (!is_other_real(output)) continue;
    rename(graph, output.name, name_in_f32(output));
    add_cast(graph, name_in_f32(output), output.name, output.type->tensor_type->elem_type);
  }
}

bool to_f32(GraphProto& graph) {
  bool found = false;
  to_f32(graph.value_info);
  for (TensorProto& tensor : graph.initializer) found |= to_f32(tensor);
  for (NodeProto& node : graph.node)
    for (AttributeProto& attribute : node.attribute) {
      if (attribute.t.has()) found |= to_f32(attribute.t.make());
      if (attribute.g.has()) {
        GraphProto& body = attribute.g.make();
        for (auto* const values : {&body.input, &body.output}) to_f32(*values);
        found |= to_f32(body);
      }
      const bool is_type = attribute.name == "to" || attribute.name == "dtype";
      if (!is_type || !attribute.i.has_value() || !is_other_real(*attribute.i)) continue;
      attribute.i = TensorProto::FLOAT;
      found = true;
    }
  return found;
}

}  // namespace

std::string name_in_f32(const onnx_file::ValueInfoProto& end) {
  return is_other_real(end) ? end.name + "/f32" : end.name;
}

void make_plain(GraphProto& graph, const importers::OnnxConstants& known, std::vector<std::string>& notes) {
  constexpr int kMostNested = 32;
  for (int i = 0; i < kMostNested && put_branches(graph, known); ++i) {
  }
  put_constants(graph, known);
  const bool has_others = to_f32(graph);
  cast_ends(graph);
  if (has_others)
    notes.emplace_back("numbers of FP16, BF16 and FP64 within the network are FP32 in the file");
}

}  // namespace intaglio::exporters

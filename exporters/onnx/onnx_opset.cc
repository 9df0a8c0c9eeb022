#include "exporters/onnx/onnx_opset.h"

#include <array>

#include "importers/draft/import_error.h"

namespace intaglio::exporters {
namespace {

using importers::fail;
using importers::quoted;
using onnx_file::AttributeProto;

// The first opset whose form is the one of opset 13, of operators that changed after opset 9 in a way that is not
// rewritten here. All others kept theirs, or got only more.
struct Changed {
  const char* op;
  int64_t since;
};
constexpr Changed kChanged[] = {
    {"Resize", 11}, {"Upsample", 100},         {"Slice", 10},   {"TopK", 11}, {"Pad", 11},
    {"Scan", 11},   {"NonMaxSuppression", 10}, {"Dropout", 12}, {"Mod", 10},  {"Loop", 13},
    {"If", 13}};

void axes_to_input(OnnxGraph& graph, OnnxNode& node, const char* attribute_name) {
  const AttributeProto* const axes = find_attribute(node, attribute_name);
  if (axes == nullptr || node.input.count() > 1) return;
  const std::vector<int64_t> values(axes->ints.begin(), axes->ints.end());
  const std::string name = graph.unused_name(node.output[0] + "/" + attribute_name);
  graph.add_constant(name, OnnxTensor::INT64, {static_cast<int64_t>(values.size())}, values.data(),
                     values.size() * sizeof(int64_t));
  graph.set_input(node, 1, name);
  remove_attribute(node, attribute_name);
}

void bounds_to_inputs(OnnxGraph& graph, OnnxNode& node) {
  constexpr std::array<const char*, 2> kBounds{"min", "max"};
  for (size_t i = 0; i < kBounds.size(); ++i) {
    const AttributeProto* const bound = find_attribute(node, kBounds[i]);
    if (bound == nullptr) continue;
    const float value = bound->f.value_or(0.0f);
    const std::string name = graph.unused_name(node.output[0] + "/" + kBounds[i]);
    graph.add_constant(name, OnnxTensor::FLOAT, {}, &value, sizeof value);
    graph.set_input(node, static_cast<int>(i) + 1, name);
    remove_attribute(node, kBounds[i]);
  }
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
  if (from < 9)
    fail("opset ", from,
         " is too old to be written; convert the network to opset 13 with onnx.version_converter");
  for (OnnxNode* const node : graph.nodes()) {
    const std::string& op = node->op_type;
    if (node->input.count() == 0 || node->output.count() == 0) continue;  // nothing needs it
    for (const Changed& changed : kChanged)
      if (op == changed.op && from < changed.since)
        fail("node ", quoted(node->name), " (", op, "): its form of opset ", from,
             " is not that of opset 13; convert the network with onnx.version_converter first");
    if (op == "Squeeze" || op == "Unsqueeze" || op == "ReduceSum") axes_to_input(graph, *node, "axes");
    if (op == "Split") axes_to_input(graph, *node, "split");
    if (op == "Clip" && from < 11) bounds_to_inputs(graph, *node);
    if (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") set_softmax_axis(graph, *node);
  }
}

}  // namespace intaglio::exporters

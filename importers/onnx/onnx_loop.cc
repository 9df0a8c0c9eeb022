// Copies of the body of a Loop or a Scan, one for each time that it runs: nodes with names of their own.
#include <algorithm>

#include "importers/onnx/onnx_loop.h"

#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

using Names = std::unordered_map<std::string, std::string>;

constexpr int kMostDepth = 16;  // of graphs in attributes

// What a graph writes itself gets another name; others are those of the graph around it.
void name_own(const onnx_file::GraphProto& graph, const std::string& constants, const std::string& prefix,
              Names& names, int depth) {
  if (depth > kMostDepth) fail("its graphs are nested more than ", kMostDepth, " deep");
  const auto add = [&](const std::string& name) {
    if (!name.empty()) names.emplace(name, prefix + name);
  };
  for (const auto& input : graph.input()) add(input.name());
  for (const auto& constant : graph.initializer())
    names.emplace(constant.name(), (depth == 0 ? constants : prefix) + constant.name());
  for (const auto& node : graph.node()) {
    for (const std::string& output : node.output()) add(output);
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) name_own(attribute.g(), constants, prefix, names, depth + 1);
  }
}

void rename(onnx_file::GraphProto& graph, const std::string& prefix, const Names& names) {
  const auto of = [&](const std::string& name) {
    const auto known = names.find(name);
    return known == names.end() ? name : known->second;
  };
  for (auto& input : *graph.mutable_input()) input.set_name(of(input.name()));
  for (auto& constant : *graph.mutable_initializer()) constant.set_name(of(constant.name()));
  for (auto& output : *graph.mutable_output()) output.set_name(of(output.name()));
  for (auto& node : *graph.mutable_node()) {
    node.set_name(prefix + node.name());
    for (std::string& name : *node.mutable_input()) name = of(name);
    for (std::string& name : *node.mutable_output()) name = of(name);
    for (auto& attribute : *node.mutable_attribute())
      if (attribute.has_g()) rename(*attribute.mutable_g(), prefix, names);
  }
}

// One entry of each attribute for each of `count` inputs or outputs; 0 where it is absent.
std::vector<OnnxScan::Slices> slices(const OnnxOp& op, const char* axes, const char* directions, int count) {
  const auto each = [&](const char* attribute) {
    std::vector<int64_t> values = op.OnnxNodeAttributes::integers(attribute);
    if (values.empty()) values.resize(static_cast<size_t>(count));
    if (values.size() != static_cast<size_t>(count))
      fail("its attribute ", attribute, " has ", values.size(), " numbers where ", count, " are expected");
    return values;
  };
  const std::vector<int64_t> along = each(axes), back = each(directions);
  std::vector<OnnxScan::Slices> made;
  for (size_t i = 0; i < along.size(); ++i) made.push_back({along[i], back[i] != 0});
  return made;
}

}  // namespace

OnnxScan read_onnx_scan(const OnnxOp& op, const OnnxDecomposer& node, const onnx_file::GraphProto& body) {
  if (op.opset() < 9) fail("it has one more axis and input before opset 9, which is not supported");
  const auto sliced = static_cast<int>(std::clamp<int64_t>(op.integer("num_scan_inputs", 0), 0, INT32_MAX));
  OnnxScan scan;
  scan.states = op.input_count() - sliced;
  const int stacked = body.output_size() - scan.states;
  if (sliced < 1 || scan.states < 0 || stacked < 0 || body.input_size() != op.input_count() ||
      op.output_count() > body.output_size())
    fail("its body has ", body.input_size(), " inputs and ", body.output_size(),
         " outputs, which do not fit its ", op.input_count(), " inputs, ", sliced, " of them in slices");
  scan.inputs = slices(op, "scan_input_axes", "scan_input_directions", sliced);
  scan.outputs = slices(op, "scan_output_axes", "scan_output_directions", stacked);
  for (int i = 0; i < sliced; ++i) {
    const Shape shape = node.shape(scan.states + i);
    OnnxScan::Slices& input = scan.inputs[static_cast<size_t>(i)];
    input.axis = normal_axis(input.axis, shape.size());
    const int32_t count = shape[static_cast<size_t>(input.axis)];
    if (i > 0 && count != scan.runs) fail("its inputs have ", scan.runs, " and ", count, " slices");
    scan.runs = count;
  }
  return scan;
}

std::unique_ptr<onnx_file::GraphProto> onnx_loop_body(const onnx_file::GraphProto& body,
                                                      const std::vector<std::string>& inputs,
                                                      const std::string& constants,
                                                      const std::string& prefix) {
  Names names;
  for (int i = 0; i < body.input_size(); ++i)
    names.emplace(body.input(i).name(), inputs[static_cast<size_t>(i)]);
  name_own(body, constants, prefix, names, 0);
  auto made = std::make_unique<onnx_file::GraphProto>();
  *made->mutable_node() = body.node();
  *made->mutable_output() = body.output();
  rename(*made, prefix, names);
  return made;
}

}  // namespace intaglio::importers

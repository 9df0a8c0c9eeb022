// Copies of a Loop's body, one for each time that it runs: nodes with names of their own.
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

}  // namespace

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

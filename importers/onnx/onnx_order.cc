#include "importers/onnx/onnx_order.h"

#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace intaglio::importers {
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

// Of those that can run next, the first in the file comes first.
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

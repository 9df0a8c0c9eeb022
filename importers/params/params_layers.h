// The layers of a parameter file: its lines, the names that it gives to layers, and what it says of each.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "importers/params/params_table.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {

// Tables of words in lines, and the names in them.
struct ParamsLine {
  size_t number = 0;  // from 1
  std::string_view text;
  std::vector<std::string_view> words;  // never empty

  std::string place() const { return "line " + std::to_string(number); }
  // The text before one of the words, without the spaces between them.
  std::string_view before(std::string_view word) const {
    const char* end = word.data();
    while (end > words[0].data() && (end[-1] == ' ' || end[-1] == '\t')) --end;
    return {words[0].data(), static_cast<size_t>(end - words[0].data())};
  }
  // For a message: not all of a long line.
  std::string shown() const {
    constexpr size_t kMost = 60;
    return std::string(text.substr(0, kMost)) + (text.size() > kMost ? "..." : "");
  }
};

// Lines that hold a word; line ends of any system.
std::vector<ParamsLine> lines_of(std::string_view text);

// Finding a model's layers by names that other tools give them.

// Something, and `end` behind it.
bool ends_with(std::string_view text, std::string_view end);

// The PyTorch module of a node that torch.onnx.export named: "/layer1/layer1.0/conv1/Conv" is layer1.0.conv1. Empty for
// other names.
std::string module_of_node(const std::string& name);
// The layer of weights: "layer1.0.conv1.weight" are those of layer1.0.conv1. Empty for other names.
std::string module_of_weights(const std::string& name);

// Names, each of one thing; what two things have is nobody's.
class NameIndex {
 public:
  void add(const std::string& name, int32_t thing);
  // By the name itself; or the one thing whose name ends with ".name", or is the end of `name` behind a dot, as with
  // "module.conv1" of a wrapped network. -1: none, or more than one.
  int32_t find(const std::string& name) const;

 private:
  std::map<std::string, int32_t> things_;  // -1: of more than one
};

// The `count` of `names` that take the fewest edits to become `name`, the nearest first.
std::vector<std::string> nearest_names(const std::string& name, const std::vector<std::string>& names,
                                       size_t count);

// The layers of a model: nodes with weights, found by the names that tools give them.

// nullptr: the node has no weights, or none of these operators runs it.
const QuantRule* layer_rule(const Model& model, OpList ops, const NodeInfo& node);
TensorInfo weights_of(const Model& model, const NodeInfo& node, const QuantRule& rule);
// Whether a node has its rule's input: -1 is none.
bool has_input(const NodeInfo& node, int32_t input);
// The scales of a layer's bias: those of its weights, times that of what it reads.
std::vector<float> bias_scales(const TensorInfo& in, const TensorInfo& weights);

// The least and the greatest code that a node was told to write, as far as the bounds of its reals do not explain them; of a
// table those that it has.
std::pair<int32_t, int32_t> codes_written(const Model& model, const NodeInfo& node);

// The layers of an FP32 model, which outlives it.
class LayerNames {
 public:
  explicit LayerNames(const Model& model);

  // By the node's name, that of its weights, of its output, or of its PyTorch module (params_layers.h). -1: none.
  int32_t find(const std::string& name) const;
  // By the name of its weights alone. -1: none.
  int32_t find_by_weights(const std::string& name) const;
  // The number of a node, by its own name or its output's. -1: none.
  int32_t find_node(const std::string& name) const;
  // The same, or by its PyTorch module.
  int32_t find_any(const std::string& name) const;
  // The names that are most like it, with commas between them.
  std::string nearest(const std::string& name) const;
  // FP32, of a layer.
  const QuantRule& rule(int32_t layer) const { return *layer_rule(model_, float_ops(), model_.node(layer)); }

 private:
  const Model& model_;
  std::map<std::string, int32_t> nodes_, layers_;
  NameIndex modules_, node_modules_;  // of layers, of all nodes
  std::vector<std::string> names_;
};

}  // namespace intaglio

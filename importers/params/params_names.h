// Finding a model's layers by names that other tools give them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace intaglio {

// Something, and `end` behind it.
bool ends_with(std::string_view text, std::string_view end);

// The PyTorch module of a node that torch.onnx.export named: "/layer1/layer1.0/conv1/Conv" is layer1.0.conv1. Empty for
// other names.
std::string module_of_node(const std::string& name);
// Of its weights: "layer1.0.conv1.weight" are those of layer1.0.conv1. Empty for other names.
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

}  // namespace intaglio

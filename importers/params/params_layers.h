// The layers of a model: nodes with weights, found by the names that tools give them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "importers/params/params_names.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {

// nullptr: the node has no weights, or none of these operators runs it.
const QuantRule* layer_rule(const Model& model, OpList ops, const NodeInfo& node);
const char* weights_of(const Model& model, const NodeInfo& node, const QuantRule& rule);

// The layers of an FP32 model, which outlives it.
class LayerNames {
 public:
  explicit LayerNames(const Model& model);

  // By the node's name, that of its weights, of its output, or of its PyTorch module (params_names.h). -1: none.
  int32_t find(const std::string& name) const;
  // By the name of its weights alone. -1: none.
  int32_t find_by_weights(const std::string& name) const;
  // Of any node, by its own name or its output's. -1: none.
  int32_t find_node(const std::string& name) const;
  // The names that are most like it, with commas between them.
  std::string nearest(const std::string& name) const;
  // FP32, of a layer.
  const QuantRule& rule(int32_t layer) const { return *layer_rule(model_, float_ops(), model_.node(layer)); }

 private:
  const Model& model_;
  std::map<std::string, int32_t> nodes_, layers_;
  NameIndex modules_;
  std::vector<std::string> names_;
};

}  // namespace intaglio

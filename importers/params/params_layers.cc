#include "importers/params/params_layers.h"

namespace intaglio {

const QuantRule* layer_rule(const Model& model, OpList ops, const NodeInfo& node) {
  const int32_t index =
      find_op_index(ops, {node.op, model.tensor(node.inputs[0]).dtype, model.tensor(node.outputs[0]).dtype});
  if (index == kNoOp) return nullptr;
  const QuantRule& rule = ops[static_cast<size_t>(index)]->quant;
  return rule.weight_input < 0 ? nullptr : &rule;
}

const char* weights_of(const Model& model, const NodeInfo& node, const QuantRule& rule) {
  return model.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]).name;
}

LayerNames::LayerNames(const Model& model) : model_(model) {
  for (int32_t n = model.node_count() - 1; n >= 0; --n)
    nodes_[model.tensor(model.node(n).outputs[0]).name] = n;
  for (int32_t n = model.node_count() - 1; n >= 0; --n)
    if (model.node(n).name[0] != '\0') nodes_[model.node(n).name] = n;
  for (int32_t n = 0; n < model.node_count(); ++n)
    if (const QuantRule* const rule = layer_rule(model, float_ops(), model.node(n))) {
      const std::string weights = weights_of(model, model.node(n), *rule), node = model.node(n).name;
      layers_[weights] = n;
      for (const std::string& module : {module_of_node(node), module_of_weights(weights)}) {
        modules_.add(module, n);
        if (!module.empty()) names_.push_back(module);
      }
      names_.push_back(node.empty() ? weights : node);
    }
}

int32_t LayerNames::find(const std::string& name) const {
  for (const auto* const list : {&layers_, &nodes_}) {
    const auto found = list->find(name);
    if (found != list->end() && layer_rule(model_, float_ops(), model_.node(found->second)) != nullptr)
      return found->second;
  }
  return modules_.find(name);
}

int32_t LayerNames::find_by_weights(const std::string& name) const {
  const auto found = layers_.find(name);
  return found == layers_.end() ? -1 : found->second;
}

int32_t LayerNames::find_node(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? -1 : found->second;
}

std::string LayerNames::nearest(const std::string& name) const {
  std::string list;
  for (const std::string& near : nearest_names(name, names_, 2)) list += (list.empty() ? "" : ", ") + near;
  return list;
}

}  // namespace intaglio

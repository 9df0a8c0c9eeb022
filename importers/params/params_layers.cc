#include "importers/params/params_layers.h"

#include <algorithm>
#include <numeric>

#include "importers/params/params_table.h"

namespace intaglio {

const QuantRule* layer_rule(const Model& model, OpList ops, const NodeInfo& node) {
  const int32_t index =
      find_op_index(ops, {node.op, model.tensor(node.inputs[0]).dtype, model.tensor(node.outputs[0]).dtype});
  if (index == kNoOp) return nullptr;
  const QuantRule& rule = ops[static_cast<size_t>(index)]->quant;
  return rule.weight_input < 0 ? nullptr : &rule;
}

TensorInfo weights_of(const Model& model, const NodeInfo& node, const QuantRule& rule) {
  return model.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]);
}

bool has_input(const NodeInfo& node, int32_t input) {
  const auto i = static_cast<size_t>(input);
  return input >= 0 && i < node.inputs.size && node.inputs[i] >= 0;
}

std::vector<float> bias_scales(const TensorInfo& in, const TensorInfo& weights) {
  std::vector<float> scales;
  for (const float scale : weights.quantization.scales) scales.push_back(scale * in.quantization.scales[0]);
  return scales;
}

LayerNames::LayerNames(const Model& model) : model_(model) {
  for (int32_t n = model.node_count() - 1; n >= 0; --n)
    nodes_[model.tensor(model.node(n).outputs[0]).name] = n;
  for (int32_t n = model.node_count() - 1; n >= 0; --n)
    if (model.node(n).name[0] != '\0') {
      nodes_[model.node(n).name] = n;
      node_modules_.add(module_of_node(model.node(n).name), n);
    }
  for (int32_t n = 0; n < model.node_count(); ++n)
    if (const QuantRule* const rule = layer_rule(model, float_ops(), model.node(n))) {
      const std::string weights = weights_of(model, model.node(n), *rule).name, node = model.node(n).name;
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

int32_t LayerNames::find_any(const std::string& name) const {
  const int32_t node = find_node(name);
  return node >= 0 ? node : node_modules_.find(name);
}

std::string LayerNames::nearest(const std::string& name) const {
  std::string list;
  for (const std::string& near : nearest_names(name, names_, 2)) list += (list.empty() ? "" : ", ") + near;
  return list;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

namespace {

size_t edits(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t corner = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = corner + (a[i] == b[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, corner + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string module_of_node(const std::string& name) {
  const size_t last = name.rfind('/');
  if (name.empty() || name[0] != '/' || last == 0) return "";
  std::string path, before;
  for (size_t at = 1; at <= last;) {
    const size_t end = name.find('/', at);
    const std::string part = name.substr(at, end - at);
    // A child of a Sequential carries its parent's name.
    if (!before.empty() && part.compare(0, before.size() + 1, before + ".") == 0)
      path.resize(path.size() - before.size());
    else if (!path.empty())
      path += '.';
    path += part;
    before = part;
    at = end + 1;
  }
  return path;
}

std::string module_of_weights(const std::string& name) {
  constexpr char kEnd[] = ".weight";
  return ends_with(name, kEnd) ? name.substr(0, name.size() - (sizeof kEnd - 1)) : "";
}

void NameIndex::add(const std::string& name, int32_t thing) {
  if (name.empty()) return;
  const auto [place, is_new] = things_.emplace(name, thing);
  if (!is_new && place->second != thing) place->second = -1;
}

int32_t NameIndex::find(const std::string& name) const {
  if (const auto same = things_.find(name); same != things_.end()) return same->second;
  int32_t found = -1;
  for (const auto& [known, thing] : things_) {
    if (!ends_with(known, "." + name) && !ends_with(name, "." + known)) continue;
    if (thing < 0 || (found >= 0 && found != thing)) return -1;
    found = thing;
  }
  return found;
}

std::vector<std::string> nearest_names(const std::string& name, const std::vector<std::string>& names,
                                       size_t count) {
  std::vector<std::pair<size_t, std::string>> list;
  for (const std::string& known : names) list.emplace_back(edits(name, known), known);
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  if (list.size() > count) list.resize(count);
  std::vector<std::string> nearest;
  for (auto& entry : list) nearest.push_back(std::move(entry.second));
  return nearest;
}

Outcome<ParamsNameMap> read_name_map(const std::string& path, std::string_view text) {
  ParamsNameMap names;
  int32_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string where = path + " line " + std::to_string(++number);
    const char* const blanks = " \t\r";
    if (line.find_first_not_of(blanks) == std::string_view::npos) continue;
    line.remove_prefix(line.find_first_not_of(blanks));
    line = line.substr(0, line.find_last_not_of(blanks) + 1);
    if (line.front() == '#') continue;
    const char between = line.find('\t') == std::string_view::npos ? ' ' : '\t';
    const size_t gap = line.find(between),
                 second = line.find_first_not_of(between, std::min(gap, line.size()));
    if (gap == std::string_view::npos || line.find(between, second) != std::string_view::npos)
      return Failure{
          where + ": write two names, the file's and the model's, with a blank between them, or with a tab"};
    const std::string from(line.substr(0, gap));
    if (!names.emplace(from, std::string(line.substr(second))).second)
      return Failure{where + ": " + from + " stands there already; delete one of them"};
  }
  return names;
}

void rename_entries(ParamsTable& table, const ParamsNameMap& names, const std::string& path) {
  ParamsTable renamed;
  std::map<std::string, bool> used;
  for (ParamsEntry& entry : table.entries) {
    if (const auto found = names.find(entry.name); found != names.end()) {
      used[entry.name] = true;
      entry.name = found->second;
    }
    renamed.entries.push_back(std::move(entry));
  }
  for (PrunedLayer& layer : table.pruned)
    if (const auto found = names.find(layer.name); found != names.end()) {
      used[layer.name] = true;
      layer.name = found->second;
    }
  renamed.pruned = std::move(table.pruned);
  for (auto* const list : {&table.float_operators, &table.quantized_operators})
    for (std::string& name : *list)
      if (const auto found = names.find(name); found != names.end()) {
        used[name] = true;
        name = found->second;
      }
  renamed.float_operators = std::move(table.float_operators);
  renamed.quantized_operators = std::move(table.quantized_operators);
  renamed.names_all = table.names_all;
  renamed.provenance = std::move(table.provenance);
  renamed.notes = std::move(table.notes);
  for (const auto& [from, to] : names)
    if (used.count(from) == 0) renamed.notes.push_back(path + ": " + from + " is not among the parameters");
  table = std::move(renamed);
}

std::vector<ParamsLine> lines_of(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<ParamsLine> lines;
  size_t number = 0;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    ParamsLine line{++number, text.substr(start, end - start), {}};
    for (size_t at = line.text.find_first_not_of(kBlank); at != std::string_view::npos;) {
      const size_t stop = std::min(line.text.find_first_of(kBlank, at), line.text.size());
      line.words.push_back(line.text.substr(at, stop - at));
      at = line.text.find_first_not_of(kBlank, stop);
    }
    if (!line.words.empty()) lines.push_back(std::move(line));
    start = end + 1;
  }
  return lines;
}

}  // namespace intaglio

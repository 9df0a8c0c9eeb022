// Parameters out of an int8 model.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "calibrator/quantization/scales.h"
#include "importers/params/params_layers.h"
#include "importers/params/params_table.h"

namespace intaglio {
namespace {

constexpr char kRequantized[] = "/requantized", kWidened[] = "/s16_";

class ModelParams {
 public:
  explicit ModelParams(const Model& model) : model_(model) {
    for (int32_t n = 0; n < model.node_count(); ++n) ++names_[model.node(n).name];
    for (int32_t t = 0; t < model.tensor_count(); ++t) tensors_.emplace(model.tensor(t).name, t);
  }

  ParamsTable read() {
    for (int32_t n = 0; n < model_.node_count(); ++n) {
      const NodeInfo node = model_.node(n);
      if (const QuantRule* const rule = layer_rule(model_, int8_ops(), node)) add_layer(node, *rule);
      for (const int32_t input : node.inputs)
        if (input >= 0) add_tensor(input, node, {-128, 127});
      for (const int32_t output : node.outputs) {
        const auto [lo, hi] = codes_written(model_, node);
        add_tensor(output, node, {std::min(lo, -1), hi});  // so that no format takes them for unsigned ones
      }
      add_reads(node);
    }
    const CalibrationInfo info = model_.calibration();
    if (info.samples_digest.size == sizeof(ParamsProvenance::digest)) {
      ParamsProvenance from{info.library_version, info.method, info.options, info.samples, {}};
      std::memcpy(from.digest.data(), info.samples_digest.data, from.digest.size());
      table_.provenance = std::move(from);
    }
    return std::move(table_);
  }

 private:
  // Nodes need no name, and not one of their own.
  std::string operator_name(const NodeInfo& node) const {
    const bool own = node.name[0] != '\0' && names_.at(node.name) == 1;
    return own ? node.name : model_.tensor(node.outputs[0]).name;
  }
  std::string layer_name(const NodeInfo& node, const QuantRule& rule) const {
    const bool own = node.name[0] != '\0' && names_.at(node.name) == 1;
    return own ? node.name : weights_of(model_, node, rule).name;
  }

  void add_layer(const NodeInfo& node, const QuantRule& rule) {
    const std::string layer = layer_name(node, rule);
    const Quantization& in = model_.tensor(node.inputs[0]).quantization;
    const TensorInfo weights = weights_of(model_, node, rule);
    ParamsEntry read{ParamsOf::kLayerInput, layer, {in.scales[0]}, in.zero_point, {}, {}};
    if (model_.tensor(node.inputs[0]).dtype == DType::kS16) read.lo = -kMostWideCode, read.hi = kMostWideCode;
    table_.entries.push_back(std::move(read));
    table_.entries.push_back({ParamsOf::kLayerWeights,
                              layer,
                              {weights.quantization.scales.begin(), weights.quantization.scales.end()},
                              0,
                              weights.name,
                              {},
                              false,
                              -greatest_code(weights),
                              greatest_code(weights)});
    if (has_input(node, rule.bias_input)) {
      const int32_t bias = node.inputs[static_cast<size_t>(rule.bias_input)];
      table_.readers.push_back({operator_name(node), model_.tensor(bias).name,
                                bias_scales(model_.tensor(node.inputs[0]), weights)});
    }
    if (has_input(node, rule.residual_input))
      table_.entries.push_back({ParamsOf::kTensor,
                                layer + kSumSuffix,
                                {node.options.as<Intermediate>().scale},
                                node.options.as<Intermediate>().zero_point,
                                operator_name(node),
                                {}});
  }

  // Under the FP32 model's name. What was added at a border, or for one reader alone, is not the tensor's
  // own.
  void add_tensor(int32_t tensor, const NodeInfo& node, std::pair<int32_t, int32_t> codes) {
    const TensorInfo info = model_.tensor(tensor);
    const bool is_wide = info.dtype == DType::kS16;
    if (info.is_constant() || (info.dtype != DType::kS8 && !is_wide) || !seen_.insert(tensor).second) return;
    if (is_wide) codes = {-kMostWideCode, kMostWideCode};
    std::string name = info.name;
    if (name.find(kRequantized) != std::string::npos) {
      made_for_[tensor] = {name.substr(0, name.find(kRequantized)), codes};
      return;
    }
    if (name.find(kWidened) != std::string::npos) return;
    for (const char* const end : {"/s8", "/s16", "/8bit"}) {
      if (!ends_with(name, end)) continue;
      const std::string own = name.substr(0, name.size() - std::strlen(end));
      const auto whole = tensors_.find(own);
      if (whole == tensors_.end()) continue;
      if (end[1] == '8' || model_.tensor(whole->second).dtype != DType::kF32) return;
      name = own;
    }
    own_names_[tensor] = name;
    table_.entries.push_back({ParamsOf::kTensor,
                              name,
                              {info.quantization.scales[0]},
                              info.quantization.zero_point,
                              operator_name(node),
                              {},
                              false,
                              codes.first,
                              codes.second});
  }

  // A tensor that the calibrator has quantized again for a node is that node's own. A Concat's operands follow its output.
  void add_reads(const NodeInfo& node) {
    for (const int32_t input : node.inputs) {
      const auto own = own_names_.find(input);
      if (own != own_names_.end()) table_.readers.push_back({operator_name(node), own->second, {}});
      const auto made = made_for_.find(input);
      if (made == made_for_.end() || node.op == Op::kConcat) continue;
      const Quantization& q = model_.tensor(input).quantization;
      const auto& [name, codes] = made->second;
      ParamsEntry entry{ParamsOf::kReader,   name, {q.scales[0]}, q.zero_point,
                        operator_name(node), {},   false,         codes.first,
                        codes.second};
      if (table_.find_same(entry) == nullptr) table_.entries.push_back(std::move(entry));
    }
  }

  // The fewest bits that hold the codes of weights.
  static int32_t greatest_code(const TensorInfo& weights) {
    int32_t greatest = 1;
    for (const uint8_t byte : weights.constant)
      greatest = std::max(greatest, std::abs(static_cast<int32_t>(static_cast<int8_t>(byte))));
    int32_t whole = 1;  // of so many bits
    while (whole < greatest) whole = 2 * whole + 1;
    return std::min(whole, 127);
  }

  const Model& model_;
  std::map<std::string, int32_t> names_;  // of nodes, how often
  std::map<std::string, int32_t> tensors_;
  std::set<int32_t> seen_;
  std::map<int32_t, std::string> own_names_;  // of tensors with entries
  std::map<int32_t, std::pair<std::string, std::pair<int32_t, int32_t>>>
      made_for_;  // of those made for a reader
  ParamsTable table_;
};

}  // namespace

std::pair<int32_t, int32_t> codes_written(const Model& model, const NodeInfo& node) {
  const TensorInfo out = model.tensor(node.outputs[0]);
  if (out.dtype != DType::kS8 || out.is_constant()) return {-128, 127};
  int32_t lo = -128, hi = 127;
  if (const auto* const clamp = node.options.get<Clamp>()) {
    const QuantParams whole{out.quantization.scales[0], out.quantization.zero_point};
    if (clamp->hi < quantize_value(clamp->max, whole)) hi = clamp->hi;
    if (clamp->lo > quantize_value(clamp->min, whole)) lo = clamp->lo;
    // A bound that stands where the codes begin hides their beginning.
    if (hi < 127 && lo == -128 && clamp->lo >= -hi - 1) lo = -hi - 1;
  } else if (node.op == Op::kLookup) {
    int32_t least = 127, greatest = -128;
    for (const uint8_t byte : model.tensor(node.inputs[1]).constant) {
      least = std::min(least, static_cast<int32_t>(static_cast<int8_t>(byte)));
      greatest = std::max(greatest, static_cast<int32_t>(static_cast<int8_t>(byte)));
    }
    if (greatest - least < 128 && greatest > 0) lo = least, hi = greatest;
  }
  return {lo, hi};
}

Outcome<ParamsTable> params_of_model(const Model& model, const std::string& path) {
  ParamsTable table = ModelParams(model).read();
  if (table.entries.empty())
    return Failure{
        path + ": holds no int8 tensor, so it has no parameters; 'intaglio calibrate' makes an int8 model"};
  return table;
}

}  // namespace intaglio

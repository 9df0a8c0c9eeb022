// Parameters out of a model, and into one.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "calibrator/calibration.h"
#include "calibrator/host/system/files.h"
#include "importers/params/params_layers.h"
#include "importers/params/params_table.h"

namespace intaglio {
namespace {

// ---- out of an int8 model

class ModelParams {
 public:
  explicit ModelParams(const Model& model) : model_(model) {
    for (int32_t n = 0; n < model.node_count(); ++n) ++names_[model.node(n).name];
    for (int32_t t = 0; t < model.tensor_count(); ++t) tensors_.insert(model.tensor(t).name);
  }

  ParamsTable read() {
    for (int32_t n = 0; n < model_.node_count(); ++n) {
      const NodeInfo node = model_.node(n);
      if (const QuantRule* const rule = layer_rule(model_, int8_ops(), node)) add_layer(node, *rule);
      for (const int32_t input : node.inputs)
        if (input >= 0) add_tensor(input, node);
      for (const int32_t output : node.outputs) add_tensor(output, node);
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
    return own ? node.name : weights_of(model_, node, rule);
  }

  void add_layer(const NodeInfo& node, const QuantRule& rule) {
    const std::string layer = layer_name(node, rule);
    const Quantization& in = model_.tensor(node.inputs[0]).quantization;
    const TensorInfo weights = model_.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]);
    table_.entries.push_back({ParamsOf::kLayerInput, layer, {in.scales[0]}, in.zero_point, {}, {}});
    table_.entries.push_back({ParamsOf::kLayerWeights,
                              layer,
                              {weights.quantization.scales.begin(), weights.quantization.scales.end()},
                              0,
                              weights.name,
                              {}});
    const auto residual = static_cast<size_t>(rule.residual_input);
    if (rule.residual_input >= 0 && residual < node.inputs.size && node.inputs[residual] >= 0)
      table_.entries.push_back({ParamsOf::kTensor,
                                layer + kSumSuffix,
                                {node.options.as<Intermediate>().scale},
                                node.options.as<Intermediate>().zero_point,
                                operator_name(node),
                                {}});
  }

  // Under the FP32 model's name. What was added at a border, or for one reader alone, is not the tensor's
  // own.
  void add_tensor(int32_t tensor, const NodeInfo& node) {
    const TensorInfo info = model_.tensor(tensor);
    if (info.is_constant() || info.dtype != DType::kS8 || !seen_.insert(tensor).second) return;
    std::string name = info.name;
    if (name.find("/requantized") != std::string::npos) return;
    for (const char* const end : {"/s8", "/8bit"}) {
      if (!ends_with(name, end)) continue;
      const std::string own = name.substr(0, name.size() - std::strlen(end));
      if (tensors_.count(own) == 0) continue;
      if (end[1] == '8') return;
      name = own;
    }
    table_.entries.push_back({ParamsOf::kTensor,
                              name,
                              {info.quantization.scales[0]},
                              info.quantization.zero_point,
                              operator_name(node),
                              {}});
  }

  const Model& model_;
  std::map<std::string, int32_t> names_;  // of nodes, how often
  std::set<std::string> tensors_;
  std::set<int32_t> seen_;
  ParamsTable table_;
};

// ---- into an FP32 model

constexpr size_t kMostSuggested = 20;  // unknown names that get the nearest ones beside them

class Resolver {
 public:
  Resolver(const ParamsTable& table, const Model& model, const std::string& path)
      : table_(table), model_(model), path_(path), layers_(model) {
    for (int32_t t = 0; t < model.tensor_count(); ++t) tensors_[model.tensor(t).name] = t;
  }

  Outcome<ResolvedParams> resolve() {
    for (const ParamsEntry& entry : table_.entries)
      if (auto step = add(entry); !step) return step.failure();
    return std::move(resolved_);
  }

 private:
  // The tensor that an entry is about; -1: none of this model.
  int32_t tensor_of(const ParamsEntry& entry) const {
    if (entry.of == ParamsOf::kTensor) {
      const auto tensor = tensors_.find(entry.name);
      if (tensor != tensors_.end()) return tensor->second;
      if (!ends_with(entry.name, kSumSuffix)) return -1;
      const int32_t layer = layers_.find(entry.name.substr(0, entry.name.size() - std::strlen(kSumSuffix)));
      return layer < 0 ? -1 : model_.node(layer).outputs[0];
    }
    const int32_t layer = layers_.find(entry.name);
    if (layer < 0) return -1;
    const NodeInfo node = model_.node(layer);
    const QuantRule& rule = layers_.rule(layer);
    return node.inputs[entry.of == ParamsOf::kLayerInput ? 0 : static_cast<size_t>(rule.weight_input)];
  }

  std::string where(const ParamsEntry& entry) const {
    return path_ + (entry.place.empty() ? "" : " " + entry.place) + ", " + entry.name;
  }

  Outcome<Done> add(const ParamsEntry& entry) {
    const int32_t tensor = tensor_of(entry);
    if (tensor < 0) {
      if (!unknown_.insert(entry.name).second) return Done{};
      resolved_.unknown.push_back(entry.name);
      resolved_.nearest.push_back(unknown_.size() <= kMostSuggested ? layers_.nearest(entry.name)
                                                                    : std::string());
      return Done{};
    }
    const TensorInfo info = model_.tensor(tensor);
    const int32_t layer = layers_.find_by_weights(info.name);
    if (info.is_constant() && layer < 0) return Done{};  // its values say its range
    const auto count = info.is_constant() ? static_cast<size_t>(channels_of(layer)) : 1;
    if (entry.scales.size() != 1 && entry.scales.size() != count)
      return Failure{where(entry) + ": " + std::to_string(entry.scales.size()) + " scales, and " + info.name +
                     " takes " + (count == 1 ? "one" : "one or " + std::to_string(count)) +
                     "; is the file of another model?"};
    if (info.is_constant() && entry.zero_point != 0)
      return Failure{where(entry) + ": weights with the zero point " + std::to_string(entry.zero_point) +
                     ", and kernels take symmetric ones"};
    if (entry.is_unfused)
      if (auto step = check_unfused(entry, layer); !step) return step;
    const auto [before, is_new] = from_.emplace(tensor, &entry);
    if (!is_new) {
      if (before->second->scales == entry.scales && before->second->zero_point == entry.zero_point)
        return Done{};
      return Failure{where(entry) + ": " + info.name + " has another scale or zero point at " +
                     where(*before->second) + "; a tensor has one quantization here"};
    }
    KnownParams known{tensor, entry.scales[0], entry.zero_point, {}};
    if (info.is_constant()) known.channel_scales = {entry.scales.data(), entry.scales.size()};
    ++(info.is_constant() ? resolved_.weight_layers : resolved_.activations);
    resolved_.known.push_back(known);
    return Done{};
  }

  // Batch normalization is in the weights here. Scales of the weights before it serve where it changed little.
  Outcome<Done> check_unfused(const ParamsEntry& entry, int32_t layer) const {
    constexpr float kLeast = 0.8f, kMost = 1.25f;
    const NodeInfo node = model_.node(layer);
    const QuantRule& rule = layers_.rule(layer);
    const TensorInfo weights = model_.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]);
    const auto* const values = reinterpret_cast<const float*>(weights.constant.data);
    const auto channels = static_cast<size_t>(weights.shape[rule.weight_axis]);
    const auto count = static_cast<size_t>(weights.shape.elements());
    const auto behind = static_cast<size_t>(weights.shape.elements(rule.weight_axis + 1, weights.shape.rank));
    std::vector<float> largest(channels, 0.0f);
    for (size_t i = 0; i < count; ++i) {
      float& most = largest[i / behind % channels];
      most = std::max(most, std::fabs(values[i]));
    }
    for (size_t c = 0; c < channels; ++c) {
      const float codes = largest[c] / entry.scales[entry.scales.size() == 1 ? 0 : c];
      const bool is_one = entry.scales.size() == 1;  // then other channels may have fewer codes
      if (codes > kMost * 127 || (!is_one && codes < kLeast * 127 && largest[c] > 0.0f))
        return Failure{
            where(entry) +
            ": skip_fusion is true, so its scale_w are of weights before batch normalization, which "
            "is in the weights here: channel " +
            std::to_string(c) + " would have " + std::to_string(std::lround(codes)) +
            " codes instead of 127; make the record with fusion, or delete scale_w"};
    }
    return Done{};
  }

  int32_t channels_of(int32_t layer) const {
    const NodeInfo node = model_.node(layer);
    const QuantRule& rule = layers_.rule(layer);
    return model_.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]).shape[rule.weight_axis];
  }

  const ParamsTable& table_;
  const Model& model_;
  const std::string& path_;
  LayerNames layers_;
  std::map<std::string, int32_t> tensors_;
  std::set<std::string> unknown_;
  std::map<int32_t, const ParamsEntry*> from_;
  ResolvedParams resolved_;
};

}  // namespace

Outcome<ParamsTable> params_of_model(const Model& model, const std::string& path) {
  ParamsTable table = ModelParams(model).read();
  if (table.entries.empty())
    return Failure{
        path + ": holds no int8 tensor, so it has no parameters; 'intaglio calibrate' makes an int8 model"};
  return table;
}

Outcome<ResolvedParams> resolve_params(const ParamsTable& table, const Model& model,
                                       const std::string& path) {
  if (table.entries.empty())
    return Failure{path +
                   ": holds no scales; channels that a prune_record takes out go by 'intaglio params prune'"};
  auto resolved = Resolver(table, model, path).resolve();
  if (resolved && resolved->known.empty())
    return Failure{path + ": names no tensor and no layer of the model (first of " +
                   std::to_string(resolved->unknown.size()) + ": " + resolved->unknown.front() +
                   "); 'intaglio inspect --ops' shows its names"};
  return resolved;
}

Outcome<std::vector<int32_t>> missing_params(const Model& model, CalibratorOptions options) {
  std::vector<KnownParams> known(options.known.begin(), options.known.end());
  std::vector<int32_t> missing;
  known.reserve(known.size() + static_cast<size_t>(model.tensor_count()));
  const auto needs = Calibrator::measure(model, options);
  if (!needs) return Failure{"the model cannot be calibrated"};
  FileBytes memory(needs->total());
  auto calibrator = Calibrator::create(model, {memory.data(), memory.size()}, options);
  if (!calibrator) return Failure{"the model cannot be calibrated"};
  Calibration& calibration = Calibration::of(*calibrator);
  options = calibration.options;
  // Each one that is found is given some scale, and the next one sought.
  for (Error error; static_cast<size_t>(model.tensor_count()) >= missing.size();) {
    options.known = {known.data(), known.size()};
    error = choose_params({calibration.fp32, options, calibration.observing, calibration.seen},
                          options.method, kBothHalves, calibration.slots);
    if (error.status != Status::kQuantizationMissing) break;
    missing.push_back(error.tensor);
    known.push_back({error.tensor, 1.0f, 0, {}});
  }
  return missing;
}

}  // namespace intaglio

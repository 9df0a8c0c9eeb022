// Parameters out of a model, and into one.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "calibrator/calibration.h"
#include "calibrator/host/system/files.h"
#include "calibrator/quantization/scales.h"
#include "importers/params/params_layers.h"
#include "importers/params/params_table.h"

namespace intaglio {
namespace {

// ---- out of an int8 model

constexpr char kRequantized[] = "/requantized";

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
        if (input >= 0) add_tensor(input, node, {-128, 127});
      for (const int32_t output : node.outputs) add_tensor(output, node, codes_written(node));
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
                              {},
                              false,
                              -greatest_code(weights),
                              greatest_code(weights)});
    const auto bias = static_cast<size_t>(rule.bias_input);
    if (bias < node.inputs.size && node.inputs[bias] >= 0) {
      ParamsReader reader{operator_name(node), model_.tensor(node.inputs[bias]).name, {}};
      for (const float scale : weights.quantization.scales)
        reader.bias_scales.push_back(scale * in.scales[0]);
      table_.readers.push_back(std::move(reader));
    }
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
  void add_tensor(int32_t tensor, const NodeInfo& node, std::pair<int32_t, int32_t> codes) {
    const TensorInfo info = model_.tensor(tensor);
    if (info.is_constant() || info.dtype != DType::kS8 || !seen_.insert(tensor).second) return;
    std::string name = info.name;
    if (name.find(kRequantized) != std::string::npos) {
      made_for_[tensor] = {name.substr(0, name.find(kRequantized)), codes};
      return;
    }
    for (const char* const end : {"/s8", "/8bit"}) {
      if (!ends_with(name, end)) continue;
      const std::string own = name.substr(0, name.size() - std::strlen(end));
      if (tensors_.count(own) == 0) continue;
      if (end[1] == '8') return;
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

  // What the calibrator has quantized again for a node is that node's own. A Concat's operands follow its output.
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

  // Of the fewest bits that hold the codes of weights.
  static int32_t greatest_code(const TensorInfo& weights) {
    int32_t greatest = 1;
    for (const uint8_t byte : weights.constant)
      greatest = std::max(greatest, std::abs(static_cast<int32_t>(static_cast<int8_t>(byte))));
    int32_t whole = 1;  // of so many bits
    while (whole < greatest) whole = 2 * whole + 1;
    return std::min(whole, 127);
  }

  // The codes that a node was told to write, as far as the bounds of its reals do not explain them; of a table those that
  // it has. They begin below 0, so that no format takes them for unsigned ones.
  std::pair<int32_t, int32_t> codes_written(const NodeInfo& node) const {
    const TensorInfo out = model_.tensor(node.outputs[0]);
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
      for (const uint8_t byte : model_.tensor(node.inputs[1]).constant) {
        least = std::min(least, static_cast<int32_t>(static_cast<int8_t>(byte)));
        greatest = std::max(greatest, static_cast<int32_t>(static_cast<int8_t>(byte)));
      }
      if (greatest - least < 128 && greatest > 0) lo = least, hi = greatest;
    }
    return {std::min(lo, -1), hi};
  }

  const Model& model_;
  std::map<std::string, int32_t> names_;  // of nodes, how often
  std::set<std::string> tensors_;
  std::set<int32_t> seen_;
  std::map<int32_t, std::string> own_names_;  // of tensors with entries
  std::map<int32_t, std::pair<std::string, std::pair<int32_t, int32_t>>>
      made_for_;  // of those made for a reader
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
      if (auto step = entry.of == ParamsOf::kReader ? add_reader(entry) : add(entry); !step)
        return step.failure();
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
      add_unknown(entry.name);
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
      if (entry.of != ParamsOf::kLayerInput)
        return Failure{where(entry) + ": " + info.name + " has another scale or zero point at " +
                       where(*before->second) + "; only a layer's input may have its own"};
      KnownParams own = known_of(entry, tensor);
      own.node = layers_.find(entry.name);
      own.input = 0;
      resolved_.known.push_back(own);
      ++resolved_.activations;
      return Done{};
    }
    KnownParams known = known_of(entry, tensor);
    if (info.is_constant()) {
      known.channel_scales = {entry.scales.data(), entry.scales.size()};
      known.hi = entry.hi < 127 ? entry.hi : 0;  // an entry of a tensor may be of weights, too
      known.lo = -known.hi;
    }
    ++(info.is_constant() ? resolved_.weight_layers : resolved_.activations);
    resolved_.known.push_back(known);
    return Done{};
  }

  static KnownParams known_of(const ParamsEntry& entry, int32_t tensor) {
    KnownParams known{tensor, entry.scales[0], entry.zero_point, {}, -1, -1, 0, 0};
    if (entry.has_limits()) known.lo = entry.lo, known.hi = entry.hi;
    return known;
  }

  void add_unknown(const std::string& name) {
    if (!unknown_.insert(name).second) return;
    resolved_.unknown.push_back(name);
    resolved_.nearest.push_back(unknown_.size() <= kMostSuggested ? layers_.nearest(name) : std::string());
  }

  // A tensor that one operator reads in its own way.
  Outcome<Done> add_reader(const ParamsEntry& entry) {
    const auto tensor = tensors_.find(entry.name);
    const int32_t n = layers_.find_node(entry.node);
    if (tensor == tensors_.end() || n < 0) {
      add_unknown(tensor == tensors_.end() ? entry.name : entry.node);
      return Done{};
    }
    const NodeInfo node = model_.node(n);
    if (entry.scales.size() != 1 || model_.tensor(tensor->second).is_constant())
      return Failure{where(entry) + ": has other parameters than " +
                     where(*table_.find(ParamsOf::kTensor, entry.name)) +
                     "; a constant, and a scale for each channel, have one quantization"};
    KnownParams known = known_of(entry, tensor->second);
    for (size_t i = 0; i < node.inputs.size; ++i) {
      if (node.inputs[i] != tensor->second) continue;
      known.node = n;
      known.input = static_cast<int32_t>(i);
      resolved_.known.push_back(known);
    }
    if (known.node < 0)
      return Failure{where(entry) + ": " + entry.node + " does not read it, and it has other parameters at " +
                     where(*table_.find(ParamsOf::kTensor, entry.name)) + "; is the file of another model?"};
    ++resolved_.activations;
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
  // Each one that is found is given some scale, and the next one sought: of the tensor first, then of the nodes that read
  // it in their own way.
  std::set<std::tuple<int32_t, int32_t, int32_t>> given;
  for (size_t tries = 0; tries <= slot_count(model); ++tries) {
    options.known = {known.data(), known.size()};
    const Error error = choose_params({calibration.fp32, options, calibration.observing, calibration.seen},
                                      options.method, kBothHalves, calibration.slots);
    if (error.status != Status::kQuantizationMissing) break;
    if (std::find(missing.begin(), missing.end(), error.tensor) == missing.end())
      missing.push_back(error.tensor);
    KnownParams some{error.tensor, 1.0f, 0, {}, -1, -1, 0, 0};
    for (int32_t n = -1;
         !given.insert({error.tensor, some.node, some.input}).second && n + 1 < model.node_count();) {
      const NodeInfo node = model.node(++n);
      for (size_t i = 0; i < node.inputs.size; ++i)
        if (node.inputs[i] == error.tensor) some.node = n, some.input = static_cast<int32_t>(i);
    }
    known.push_back(some);
  }
  return missing;
}

}  // namespace intaglio

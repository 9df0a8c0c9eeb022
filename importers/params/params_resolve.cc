// Parameters into an FP32 model: the tensors that a table is about, and those that it lacks.
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "calibrator/host/system/files.h"
#include "calibrator/quantization/scales.h"
#include "importers/params/params_json.h"
#include "importers/params/params_layers.h"

namespace intaglio {
namespace {

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
    for (const auto& [entry, output] : inner_)
      if (auto step = add_inner(*entry, output); !step) return step.failure();
    inner_slots_.note(
        resolved_.notes, path_,
        "are of results before a function that is fused with its layer here, and are left out: what "
        "the function gives has parameters of its own");
    wide_weights_.note(resolved_.notes, path_, kWideWeights);
    find_float_nodes();
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
    if (entry.of == ParamsOf::kLayerInput) {
      const auto [node, input] = reader_of(entry.name);
      return node < 0 ? -1 : model_.node(node).inputs[static_cast<size_t>(input)];
    }
    if (layer < 0) return -1;
    return model_.node(layer).inputs[static_cast<size_t>(layers_.rule(layer).weight_input)];
  }

  // The node and its input that "NODE" or "NODE:INPUT" names; -1: none.
  std::pair<int32_t, int32_t> reader_of(const std::string& name) const {
    const auto found = [&](const std::string& node) {
      const int32_t layer = layers_.find(node);
      return layer >= 0 ? layer : layers_.find_any(node);
    };
    if (const int32_t node = found(name); node >= 0) return {node, 0};
    const size_t colon = name.rfind(':');
    if (colon == std::string::npos) return {-1, 0};
    const auto input = number_of(std::string_view(name).substr(colon + 1));
    const int32_t node = found(name.substr(0, colon));
    if (node < 0 || !input || !(*input >= 0) || *input != std::floor(*input)) return {-1, 0};
    const Span<const int32_t> inputs = model_.node_inputs(node);
    if (*input >= static_cast<double>(inputs.size)) return {-1, 0};
    const auto i = static_cast<int32_t>(*input);
    const int32_t tensor = inputs[static_cast<size_t>(i)];
    const bool is_activation = tensor >= 0 && !model_.tensor(tensor).is_constant();
    return {is_activation ? node : -1, i};
  }

  // Layers that the file keeps in FP32, and layers that are not among its operators.
  void find_float_nodes() {
    std::set<int32_t> nodes = layers_of_wide_;
    for (const std::string& name : table_.float_operators)
      for (const int32_t node : {layers_.find_any(name), layers_.find(name)})
        if (node >= 0) nodes.insert(node);
    std::set<int32_t> listed;
    for (const std::string& name : table_.quantized_operators)
      for (const int32_t node : {layers_.find_any(name), layers_.find(name)}) listed.insert(node);
    for (const KnownParams& known : resolved_.known)  // a layer may be known by its weights
      if (model_.tensor(known.tensor).is_constant())
        listed.insert(layers_.find_by_weights(model_.tensor(known.tensor).name));
    for (int32_t n = 0; !table_.quantized_operators.empty() && n < model_.node_count(); ++n)
      if (layer_rule(model_, float_ops(), model_.node(n)) != nullptr && listed.count(n) == 0) nodes.insert(n);
    resolved_.float_nodes.assign(nodes.begin(), nodes.end());
  }

  std::string where(const ParamsEntry& entry) const {
    return path_ + (entry.place.empty() ? "" : " " + entry.place) + ", " + entry.name;
  }

  Outcome<Done> add(const ParamsEntry& entry) {
    const int32_t tensor = tensor_of(entry);
    if (tensor >= 0) return add(entry, tensor);
    if (const int32_t weights = weights_of_slot(entry); weights >= 0) return add(entry, weights);
    const int32_t writer = entry.is_result ? layers_.find_node(entry.node) : -1;
    if (tensors_.count(entry.follows) != 0) return Done{};  // it was only moved, or goes into what follows it
    if (writer >= 0)
      inner_.emplace_back(&entry, model_.node(writer).outputs[0]);
    else
      add_unknown(entry.name);
    return Done{};
  }

  // PPQ gives weights that it has folded something into a name of its own: the slot's place tells what they are. -1: no layer of
  // the model has weights there.
  int32_t weights_of_slot(const ParamsEntry& entry) const {
    const int32_t layer = entry.input < 0 ? -1 : layers_.find_node(entry.node);
    const QuantRule* const rule = layer < 0 ? nullptr : layer_rule(model_, float_ops(), model_.node(layer));
    const bool are_weights = rule != nullptr && rule->weight_input == entry.input && !entry.is_result;
    return are_weights ? model_.node_inputs(layer)[static_cast<size_t>(entry.input)] : -1;
  }

  // A layer's result before a function that the model has fused with it. The codes are those of what the function gives, unless
  // the file has others for that.
  Outcome<Done> add_inner(const ParamsEntry& entry, int32_t output) {
    const auto known = from_.find(output);
    if (known == from_.end()) return add(entry, output);
    if (known->second->scales != entry.scales || known->second->zero_point != entry.zero_point)
      inner_slots_.add(entry.place);
    return Done{};
  }

  Outcome<Done> add(const ParamsEntry& entry, int32_t tensor) {
    const TensorInfo info = model_.tensor(tensor);
    const int32_t layer = layers_.find_by_weights(info.name);
    if (info.is_constant() && layer < 0) return Done{};  // its values say its range
    if (info.is_constant() && entry.is_wide()) {
      wide_weights_.add(where(entry));
      layers_of_wide_.insert(layer);
      return Done{};
    }
    const auto count = info.is_constant() ? static_cast<size_t>(channels_of(layer)) : 1;
    const bool is_of_inputs = is_along_inputs(entry, info, count);
    if (entry.scales.size() != 1 && entry.scales.size() != count && !is_of_inputs)
      return Failure{where(entry) + ": " + std::to_string(entry.scales.size()) + " scales, and " + info.name +
                     " takes " + (count == 1 ? "one" : "one or " + std::to_string(count)) +
                     "; is the file of another model?"};
    if (entry.is_unfused)
      if (auto step = check_unfused(entry, layer); !step) return step;
    const auto [before, is_new] = from_.emplace(tensor, &entry);
    if (!is_new) {
      const ParamsEntry& first = *before->second;
      const bool has_same_limits = first.hi == entry.hi && (info.is_constant() || first.lo == entry.lo);
      if (first.scales == entry.scales && first.zero_point == entry.zero_point && has_same_limits)
        return Done{};
      if (entry.of != ParamsOf::kLayerInput)
        return Failure{where(entry) + ": " + info.name + " has another scale, zero point or limits at " +
                       where(first) + "; only a layer's input may have its own"};
      KnownParams own = known_of(entry, tensor);
      std::tie(own.node, own.input) = reader_of(entry.name);
      resolved_.known.push_back(own);
      ++resolved_.activations;
      return Done{};
    }
    KnownParams known = known_of(entry, tensor);
    if (info.is_constant()) {
      const bool is_symmetric = entry.zero_point == 0,
                 has_lowest = entry.of == ParamsOf::kTensor && entry.lo == -128;
      known.zero_point = 0;
      known.channel_scales = is_of_inputs ? scales_of_largest(entry, layer)
                             : is_symmetric && !has_lowest
                                 ? Span<const float>{entry.scales.data(), entry.scales.size()}
                                 : scales_of_codes(entry, layer);
      const int32_t hi =
          is_symmetric ? entry.hi : std::max(entry.hi - entry.zero_point, entry.zero_point - entry.lo);
      known.hi = hi < 127 ? hi : has_lowest ? 127 : 0;  // an entry of a tensor may be of weights, too
      known.lo = hi < 127 || !has_lowest ? -known.hi : -128;
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

  // Kernels take weights without a zero point: their codes less it keep the scale.
  Span<const float> scales_of_codes(const ParamsEntry& entry, int32_t layer) {
    std::vector<float>& scales = resolved_.made_scales.emplace_back();
    bool is_wide = false;
    for (const std::vector<float>& weights : weights_by_channel(layer)) {
      const float own = own_scale(entry, scales.size());
      std::vector<double> codes;
      for (const float weight : weights) codes.push_back(code_of(entry, weight, own));
      const auto is_beyond = [](double code) { return code < -128.0 || code > 127.0; };
      const bool fits = std::none_of(codes.begin(), codes.end(), is_beyond);
      is_wide |= !fits;
      scales.push_back(fits ? scale_of_same_codes(own, weights, codes) : own);
    }
    if (is_wide) add_wide(entry, layer);
    return {scales.data(), scales.size()};
  }
  static float own_scale(const ParamsEntry& entry, size_t channel) {
    return entry.scales[entry.scales.size() == 1 ? 0 : channel];
  }
  static double code_of(const ParamsEntry& entry, float weight, float scale) {
    constexpr int32_t kMost = 255;  // each channel may have its zero point
    const bool has_zero = entry.zero_point != 0;
    return std::clamp<double>(std::nearbyint(double{weight / scale}), has_zero ? -kMost : entry.lo,
                              has_zero ? kMost : entry.hi);
  }

  void add_wide(const ParamsEntry& entry, int32_t layer) {
    OtherWeights wide{layer, index_of(entry), {}, {}};
    for_each_weight(layer, [&](size_t channel, float weight) {
      wide.codes.push_back(static_cast<int32_t>(code_of(entry, weight, own_scale(entry, channel))));
    });
    resolved_.other.push_back(std::move(wide));
  }

  // PPQ gives a matrix [in, out] a scale a row.
  static bool is_along_inputs(const ParamsEntry& entry, const TensorInfo& info, size_t channels) {
    return info.is_constant() && info.shape.rank == 2 && entry.of == ParamsOf::kTensor &&
           entry.scales.size() != channels &&
           entry.scales.size() * channels == static_cast<size_t>(info.shape.elements());
  }
  Span<const float> scales_of_largest(const ParamsEntry& entry, int32_t layer) {
    const std::vector<std::vector<float>> channels = weights_by_channel(layer);
    OtherWeights other{layer, index_of(entry), {}, {}};
    std::vector<float>& scales = resolved_.made_scales.emplace_back();
    for (const std::vector<float>& weights : channels) {
      float largest = 0.0f;
      for (size_t i = 0; i < weights.size(); ++i) {
        other.numbers.push_back(
            static_cast<float>(code_of(entry, weights[i], entry.scales[i]) * double{entry.scales[i]}));
        largest = std::max(largest, std::fabs(other.numbers.back()));
      }
      scales.push_back(std::max(largest / 127.0f, 0x1p-40f));
    }
    resolved_.other.push_back(std::move(other));
    return {scales.data(), scales.size()};
  }
  size_t index_of(const ParamsEntry& entry) const {
    return static_cast<size_t>(&entry - table_.entries.data());
  }

  // Tools divide in float, and the calibrator in double. A weight that is half a step from the last code gets the tool's with a
  // scale that differs in its last bit.
  static float scale_of_same_codes(float own, const std::vector<float>& weights,
                                   const std::vector<double>& codes) {
    for (const float scale : {own, std::nextafter(own, 0.0f), std::nextafter(own, INFINITY)}) {
      bool is_same = true;
      for (size_t i = 0; i < weights.size(); ++i)
        is_same &= std::clamp(std::nearbyint(double{weights[i]} / scale), -128.0, 127.0) == codes[i];
      if (is_same) return scale;
    }
    return own;
  }

  // Calls body(output channel, weight) for each, in the order in which they lie.
  template <typename Body>
  void for_each_weight(int32_t layer, Body body) const {
    const int32_t axis = layers_.rule(layer).weight_axis;
    const TensorInfo weights = weights_of(layer);
    const auto* const values = reinterpret_cast<const float*>(weights.constant.data);
    const auto count = static_cast<size_t>(weights.shape.elements()),
               behind = static_cast<size_t>(weights.shape.elements(axis + 1, weights.shape.rank)),
               channels = static_cast<size_t>(weights.shape[axis]);
    for (size_t i = 0; i < count; ++i) body(i / behind % channels, values[i]);
  }
  // The weights of each output channel.
  std::vector<std::vector<float>> weights_by_channel(int32_t layer) const {
    std::vector<std::vector<float>> channels(static_cast<size_t>(channels_of(layer)));
    for_each_weight(layer, [&](size_t channel, float weight) { channels[channel].push_back(weight); });
    return channels;
  }

  // Batch normalization is in the weights here. Scales of the weights before it serve where it changed little.
  Outcome<Done> check_unfused(const ParamsEntry& entry, int32_t layer) const {
    constexpr float kLeast = 0.8f, kMost = 1.25f;
    const std::vector<std::vector<float>> channels = weights_by_channel(layer);
    for (size_t c = 0; c < channels.size(); ++c) {
      float largest = 0.0f;
      for (const float weight : channels[c]) largest = std::max(largest, std::fabs(weight));
      const float codes = largest / entry.scales[entry.scales.size() == 1 ? 0 : c];
      const bool is_one = entry.scales.size() == 1;  // then other channels may have fewer codes
      if (codes > kMost * 127 || (!is_one && codes < kLeast * 127 && largest > 0.0f))
        return Failure{
            where(entry) +
            ": skip_fusion is true, so its scale_w are of weights before batch normalization went into them. Of "
            "the weights here channel " +
            std::to_string(c) + " would have " + std::to_string(std::lround(codes)) +
            " codes instead of 127; make the record with fusion, or delete scale_w"};
    }
    return Done{};
  }

  int32_t channels_of(int32_t layer) const {
    return weights_of(layer).shape[layers_.rule(layer).weight_axis];
  }
  TensorInfo weights_of(int32_t layer) const {
    return intaglio::weights_of(model_, model_.node(layer), layers_.rule(layer));
  }

  const ParamsTable& table_;
  const Model& model_;
  const std::string& path_;
  LayerNames layers_;
  std::map<std::string, int32_t> tensors_;
  std::set<std::string> unknown_;
  std::map<int32_t, const ParamsEntry*> from_;
  ResolvedParams resolved_;
  ParamsSlots wide_weights_, inner_slots_;
  std::set<int32_t> layers_of_wide_;
  std::vector<std::pair<const ParamsEntry*, int32_t>> inner_;  // and what their layer gives
};

}  // namespace

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

}  // namespace intaglio

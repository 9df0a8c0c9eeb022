// Ascend AMCT's record, protobuf text: of each layer its input (scale_d, offset_d) and its weights (scale_w).
// Offsets are those of int8 codes, as here. Of a field that stands twice the last one counts, as it does for
// AMCT.
#include <algorithm>
#include <map>
#include <set>

#include "importers/params/amct_record.h"
#include "importers/params/params_table.h"

namespace intaglio {
namespace {

// For symmetric weights.
std::optional<int32_t> greatest_weight_code(const std::string& type) {
  for (const int32_t bits : {4, 6, 7, 8})
    if (type == "INT" + std::to_string(bits)) return (1 << (bits - 1)) - 1;
  return std::nullopt;
}

Outcome<Done> add_layer(ParamsTable& table, const amct::Entry& record, const std::string& path) {
  const amct::Layer layer = record.value.value_or(amct::Layer());
  const std::string key = record.key.value_or(""), where = path + ", " + key;
  if (key.empty()) return Failure{path + ": a record has no key; it must name a layer"};
  if (layer.dst_type && *layer.dst_type != "INT8")
    return Failure{where + ": dst_type " + *layer.dst_type + " is not INT8, which is what there is"};
  const std::string act_type = layer.act_type.value_or("INT8"), wts_type = layer.wts_type.value_or("INT8");
  const auto greatest = greatest_weight_code(wts_type);
  if (!greatest) return Failure{where + ": wts_type " + wts_type + " is none of INT4, INT6, INT7 and INT8"};
  const bool is_wide = act_type == "INT16";
  if (!is_wide && act_type != "INT8")
    return Failure{where + ": act_type " + act_type + " is neither INT8 nor INT16"};
  if (!layer.scale_r.empty() || layer.scale_h)
    table.notes.push_back(where + ": scale_h and scale_r of a recurrent layer are left out");
  if (record.kv_cache_value) table.notes.push_back(where + ": kv_cache_value is left out");
  if (!layer.tensor_balance_factor.empty())
    return Failure{where +
                   ": tensor_balance_factor scales channels of the FP32 model, which is not done here; make "
                   "the record without it, or use 'intaglio calibrate --recover eq'"};
  if (std::any_of(layer.shift_bit.begin(), layer.shift_bit.end(), [](uint32_t n) { return n != 0; }))
    table.notes.push_back(where + ": shift_bit is left out, since sums have 32 bits here");
  for (const int32_t offset : layer.offset_w)
    if (offset != 0)
      return Failure{where + ": offset_w " + std::to_string(offset) + " is not 0: weights are symmetric"};
  const size_t weights = layer.scale_w.size();
  if (!layer.offset_w.empty() && layer.offset_w.size() != weights)
    return Failure{where + ": " + std::to_string(layer.offset_w.size()) + " offset_w for " +
                   std::to_string(weights) + " scale_w"};
  if (layer.offset_d && !layer.scale_d) return Failure{where + ": offset_d without a scale_d"};
  // A tensor's own record names the layer that reads it, and which input it is: "add:1".
  const bool is_tensor = layer.is_tensor_quantize.value_or(false) && key.find(':') == std::string::npos;
  const ParamsOf of = is_tensor ? ParamsOf::kTensor : ParamsOf::kLayerInput;
  if (layer.scale_d) {
    const int32_t offset = layer.offset_d.value_or(0);
    if (offset < -128 || offset > 127)
      return Failure{where + ": offset_d " + std::to_string(offset) + " is outside -128 to 127"};
    if (is_wide && offset != 0)
      return Failure{where + ": offset_d " + std::to_string(offset) +
                     " of INT16, whose codes have the zero point 0"};
    const auto scale = checked_scale(static_cast<double>(*layer.scale_d), where + ": scale_d");
    if (!scale) return scale.failure();
    ParamsEntry read{of, key, {*scale}, offset, {}, {}, false};
    if (is_wide) read.lo = -kMostWideCode, read.hi = kMostWideCode;
    if (auto step = add_entry(table, std::move(read), path); !step) return step.failure();
  }
  if (weights == 0) return Done{};
  ParamsEntry entry{ParamsOf::kLayerWeights, key, {}, 0, {}, {}, layer.skip_fusion.value_or(false)};
  entry.lo = -*greatest;
  entry.hi = *greatest;
  for (const float w : layer.scale_w) {
    const auto scale = checked_scale(static_cast<double>(w), where + ": scale_w");
    if (!scale) return scale.failure();
    entry.scales.push_back(*scale);
  }
  return add_entry(table, std::move(entry), path);
}

// ---- channels that go

const amct::Attribute* attribute_of(const amct::PrunedNode& node, const char* name) {
  const auto found =
      std::find_if(node.attr.begin(), node.attr.end(),
                   [name](const amct::Attribute& attribute) { return attribute.name == name; });
  return found == node.attr.end() ? nullptr : &*found;
}

// `ends`: of each producer, behind its last channel as the record knows it.
Outcome<Done> add_pruned(ParamsTable& table, const amct::PrunedNode& node, bool is_producer,
                         const std::string& path, std::map<std::string, int64_t>& ends) {
  constexpr int64_t kMostChannels = INT32_MAX;
  const std::string name = node.name.value_or(""), where = path + ", prune_record of " + name;
  const amct::Attribute* const index = attribute_of(node, "prune_index");
  const amct::Attribute *const begin = attribute_of(node, "begin"), *const end = attribute_of(node, "end");
  if (index == nullptr || index->ints.empty()) return Done{};
  if (name.empty()) return Failure{path + ": a prune_record has a node without a name"};
  const int64_t first = begin == nullptr ? 0 : begin->i.value_or(0),
                last = end == nullptr ? kMostChannels : end->i.value_or(0);
  PrunedLayer layer{name, is_producer, {}};
  for (const int64_t channel : index->ints) {
    if (channel < 0 || channel < first || channel >= last || channel >= kMostChannels)
      return Failure{where + ": prune_index " + std::to_string(channel) + " is outside its channels, " +
                     std::to_string(first) + " to " + std::to_string(last - 1)};
    layer.channels.push_back(static_cast<int32_t>(channel));
  }
  std::sort(layer.channels.begin(), layer.channels.end());
  layer.channels.erase(std::unique(layer.channels.begin(), layer.channels.end()), layer.channels.end());
  if (is_producer && end != nullptr) ends[name] = std::max(ends[name], last);
  table.pruned.push_back(std::move(layer));
  return Done{};
}

// A layer's scales of all channels that it had lose those of the channels that go.
void drop_pruned_scales(ParamsTable& table, const std::map<std::string, int64_t>& ends,
                        const std::string& path) {
  for (ParamsEntry& entry : table.entries) {
    const auto end = ends.find(entry.name);
    if (entry.of != ParamsOf::kLayerWeights || end == ends.end() || entry.scales.size() < 2 ||
        entry.scales.size() != static_cast<uint64_t>(end->second))
      continue;
    std::set<int32_t> gone;
    for (const PrunedLayer& layer : table.pruned)
      if (layer.is_producer && layer.name == entry.name)
        gone.insert(layer.channels.begin(), layer.channels.end());
    std::vector<float> kept;
    for (size_t c = 0; c < entry.scales.size(); ++c)
      if (gone.count(static_cast<int32_t>(c)) == 0) kept.push_back(entry.scales[c]);
    entry.scales = std::move(kept);
    table.notes.push_back(path + ", " + entry.name + ": scale_w of the " + std::to_string(gone.size()) +
                          " channels that prune_record takes out are left out");
  }
}

Outcome<Done> add_prune_records(ParamsTable& table, const amct::Record& file, const std::string& path) {
  std::map<std::string, int64_t> ends;
  for (const amct::Prune& record : file.prune_record) {
    if (record.selective_prune)
      table.notes.push_back(path + ": selective_prune of " + record.selective_prune->name.value_or("") +
                            " is left out, since zeros among weights save nothing here");
    for (const auto& producer : record.producer)
      if (auto step = add_pruned(table, producer, true, path, ends); !step) return step;
    for (const auto& consumer : record.consumer)
      if (auto step = add_pruned(table, consumer, false, path, ends); !step) return step;
  }
  drop_pruned_scales(table, ends, path);
  return Done{};
}

}  // namespace

Outcome<ParamsTable> read_amct(const std::string& path, std::string_view text) {
  std::string stands_twice;
  const auto file = amct::read_record(text, stands_twice);
  if (!file) return Failure{path + " " + file.message() + "; is it a record of AMCT's, in its text form?"};
  ParamsTable table;
  table.names_all = false;
  if (!stands_twice.empty()) table.notes.push_back(path + " " + stands_twice + " The last one counts.");
  for (const amct::Entry& record : file->record)
    if (auto step = add_layer(table, record, path); !step) return step.failure();
  if (auto step = add_prune_records(table, *file, path); !step) return step.failure();
  const bool prunes = std::any_of(table.pruned.begin(), table.pruned.end(),
                                  [](const PrunedLayer& layer) { return layer.is_producer; });
  if (table.entries.empty() && !prunes)
    return Failure{
        path + (!file->prune_record.empty()
                    ? ": its prune_record says which layers belong together, and no prune_index says which "
                      "channels go; there are no scales either"
                    : ": holds no scales; is it a record of AMCT's?")};
  return table;
}

Outcome<std::string> write_amct(const ParamsTable& table) {
  std::string text;
  const auto add = [&text](const char* name, const std::string& value) {
    text += std::string("    ") + name + ": " + value + "\n";
  };
  for (const ParamsEntry& entry : table.entries) {
    if (entry.of != ParamsOf::kLayerInput) continue;
    text += "record {\n  key: " + amct::quoted_text(entry.name) + "\n  value {\n";
    add("scale_d", amct::number_text(entry.scales[0]));
    add("offset_d", std::to_string(entry.zero_point));
    if (const ParamsEntry* const weights = table.find(ParamsOf::kLayerWeights, entry.name)) {
      for (const float scale : weights->scales) add("scale_w", amct::number_text(scale));
      for (size_t i = 0; i < weights->scales.size(); ++i) add("offset_w", "0");
      // AMCT's own reader asks for it. Sums are not shifted here.
      for (size_t i = 0; i < weights->scales.size(); ++i) add("shift_bit", "0");
    }
    add("dst_type", amct::quoted_text("INT8"));
    text += "  }\n}\n";
  }
  if (text.empty()) return Failure{"there is no layer with weights, and AMCT's record has nothing else"};
  return text;
}

}  // namespace intaglio

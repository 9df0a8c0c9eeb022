// Ascend AMCT's record, protobuf text: of each layer its input (scale_d, offset_d) and its weights (scale_w).
// Offsets are those of int8 codes, as here. Of a field that stands twice the last one counts, as it does for
// AMCT.
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>
#include <set>

#include "importers/params/amct_record.pb.h"
#include "importers/params/params_table.h"

namespace intaglio {
namespace {

constexpr int kMaxRecordDepth = 16;

// Keeps the first error.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text.empty())
      text = "line " + std::to_string(line + 1) + " column " + std::to_string(column + 1) + ": " + message;
  }
  void AddWarning(int, int, const std::string&) override {}
  std::string text;
};

Outcome<Done> add_layer(ParamsTable& table, const amct_file::Entry& record, const std::string& path) {
  const amct_file::Layer& layer = record.value();
  const std::string where = path + ", " + record.key();
  if (record.key().empty()) return Failure{path + ": a record has no key; it must name a layer"};
  const std::pair<const char*, const std::string*> types[] = {
      {"dst_type", layer.has_dst_type() ? &layer.dst_type() : nullptr},
      {"act_type", layer.has_act_type() ? &layer.act_type() : nullptr},
      {"wts_type", layer.has_wts_type() ? &layer.wts_type() : nullptr}};
  for (const auto& [name, type] : types)
    if (type != nullptr && *type != "INT8")
      return Failure{where + ": " + name + " " + *type + " is not INT8, which is what there is"};
  if (layer.scale_r_size() > 0 || layer.has_scale_h())
    table.notes.push_back(where + ": scale_h and scale_r of a recurrent layer are left out");
  if (record.has_kv_cache_value()) table.notes.push_back(where + ": kv_cache_value is left out");
  if (layer.tensor_balance_factor_size() > 0)
    return Failure{where +
                   ": tensor_balance_factor scales channels of the FP32 model, which is not done here; make "
                   "the record without it, or use 'intaglio calibrate --recover eq'"};
  if (std::any_of(layer.shift_bit().begin(), layer.shift_bit().end(), [](uint32_t n) { return n != 0; }))
    table.notes.push_back(where + ": shift_bit is left out, since sums have 32 bits here");
  for (const int32_t offset : layer.offset_w())
    if (offset != 0)
      return Failure{where + ": offset_w " + std::to_string(offset) + " is not 0: weights are symmetric"};
  const int weights = layer.scale_w_size();
  if (layer.offset_w_size() != 0 && layer.offset_w_size() != weights)
    return Failure{where + ": " + std::to_string(layer.offset_w_size()) + " offset_w for " +
                   std::to_string(weights) + " scale_w"};
  if (layer.has_offset_d() && !layer.has_scale_d()) return Failure{where + ": offset_d without a scale_d"};
  const ParamsOf of = layer.is_tensor_quantize() ? ParamsOf::kTensor : ParamsOf::kLayerInput;
  if (layer.has_scale_d()) {
    if (layer.offset_d() < -128 || layer.offset_d() > 127)
      return Failure{where + ": offset_d " + std::to_string(layer.offset_d()) + " is outside -128 to 127"};
    const auto scale = checked_scale(static_cast<double>(layer.scale_d()), where + ": scale_d");
    if (!scale) return scale.failure();
    if (auto step = add_entry(table, {of, record.key(), {*scale}, layer.offset_d(), {}, {}, false}, path);
        !step)
      return step.failure();
  }
  if (weights == 0) return Done{};
  ParamsEntry entry{ParamsOf::kLayerWeights, record.key(), {}, 0, {}, {}, layer.skip_fusion()};
  for (const float w : layer.scale_w()) {
    const auto scale = checked_scale(static_cast<double>(w), where + ": scale_w");
    if (!scale) return scale.failure();
    entry.scales.push_back(*scale);
  }
  return add_entry(table, std::move(entry), path);
}

// ---- channels that go

const amct_file::Attribute* attribute_of(const amct_file::PrunedNode& node, const char* name) {
  const auto found =
      std::find_if(node.attr().begin(), node.attr().end(),
                   [name](const amct_file::Attribute& attribute) { return attribute.name() == name; });
  return found == node.attr().end() ? nullptr : &*found;
}

// `ends`: of each producer, behind its last channel as the record knows it.
Outcome<Done> add_pruned(ParamsTable& table, const amct_file::PrunedNode& node, bool is_producer,
                         const std::string& path, std::map<std::string, int64_t>& ends) {
  constexpr int64_t kMostChannels = INT32_MAX;
  const std::string where = path + ", prune_record of " + node.name();
  const amct_file::Attribute* const index = attribute_of(node, "prune_index");
  const amct_file::Attribute *const begin = attribute_of(node, "begin"), *const end =
                                                                             attribute_of(node, "end");
  if (index == nullptr || index->ints_size() == 0) return Done{};
  if (node.name().empty()) return Failure{path + ": a prune_record has a node without a name"};
  const int64_t first = begin == nullptr ? 0 : begin->i(), last = end == nullptr ? kMostChannels : end->i();
  PrunedLayer layer{node.name(), is_producer, {}};
  for (const int64_t channel : index->ints()) {
    if (channel < 0 || channel < first || channel >= last || channel >= kMostChannels)
      return Failure{where + ": prune_index " + std::to_string(channel) + " is outside its channels, " +
                     std::to_string(first) + " to " + std::to_string(last - 1)};
    layer.channels.push_back(static_cast<int32_t>(channel));
  }
  std::sort(layer.channels.begin(), layer.channels.end());
  layer.channels.erase(std::unique(layer.channels.begin(), layer.channels.end()), layer.channels.end());
  if (is_producer && end != nullptr) ends[node.name()] = std::max(ends[node.name()], last);
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

Outcome<Done> add_prune_records(ParamsTable& table, const amct_file::File& file, const std::string& path) {
  std::map<std::string, int64_t> ends;
  for (const amct_file::Prune& record : file.prune_record()) {
    if (record.has_selective_prune())
      table.notes.push_back(path + ": selective_prune of " + record.selective_prune().name() +
                            " is left out, since zeros among weights save nothing here");
    for (const auto& producer : record.producer())
      if (auto step = add_pruned(table, producer, true, path, ends); !step) return step;
    for (const auto& consumer : record.consumer())
      if (auto step = add_pruned(table, consumer, false, path, ends); !step) return step;
  }
  drop_pruned_scales(table, ends, path);
  return Done{};
}

}  // namespace

Outcome<ParamsTable> read_amct(const std::string& path, std::string_view text) {
  amct_file::File file;
  FirstError problem;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&problem);
  parser.SetRecursionLimit(kMaxRecordDepth);
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  if (!parser.Merge(&stream, &file))
    return Failure{path + " " + problem.text + "; is it a record of AMCT's, in its text form?"};
  ParamsTable table;
  // Parse() refuses what Merge() takes: a field that stands twice.
  FirstError twice;
  amct_file::File again;
  parser.RecordErrorsTo(&twice);
  google::protobuf::io::ArrayInputStream once_more(text.data(), static_cast<int>(text.size()));
  if (!parser.Parse(&once_more, &again))
    table.notes.push_back(path + " " + twice.text + " The last one counts.");
  for (const amct_file::Entry& record : file.record())
    if (auto step = add_layer(table, record, path); !step) return step.failure();
  if (auto step = add_prune_records(table, file, path); !step) return step.failure();
  const bool prunes = std::any_of(table.pruned.begin(), table.pruned.end(),
                                  [](const PrunedLayer& layer) { return layer.is_producer; });
  if (table.entries.empty() && !prunes)
    return Failure{
        path + (file.prune_record_size() > 0
                    ? ": its prune_record says which layers belong together, and no prune_index says which "
                      "channels go; there are no scales either"
                    : ": holds no scales; is it a record of AMCT's?")};
  return table;
}

Outcome<std::string> write_amct(const ParamsTable& table) {
  amct_file::File file;
  for (const ParamsEntry& entry : table.entries) {
    if (entry.of != ParamsOf::kLayerInput) continue;
    amct_file::Entry& record = *file.add_record();
    record.set_key(entry.name);
    amct_file::Layer& layer = *record.mutable_value();
    layer.set_scale_d(entry.scales[0]);
    layer.set_offset_d(entry.zero_point);
    if (const ParamsEntry* const weights = table.find(ParamsOf::kLayerWeights, entry.name)) {
      for (const float scale : weights->scales) {
        layer.add_scale_w(scale);
        layer.add_offset_w(0);
      }
    }
    layer.set_dst_type("INT8");
  }
  if (file.record_size() == 0)
    return Failure{"there is no layer with weights, and AMCT's record has nothing else"};
  std::string text;
  google::protobuf::TextFormat::Printer printer;
  if (!printer.PrintToString(file, &text)) return Failure{"the record could not be written"};
  return text;
}

}  // namespace intaglio

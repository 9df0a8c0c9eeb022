// Ascend AMCT's record, protobuf text: of each layer its input (scale_d, offset_d) and its weights (scale_w).
// Offsets are those of int8 codes, as here. Of a field that stands twice the last one counts, as it does for
// AMCT.
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdio>

#include "importers/params/amct_record.pb.h"
#include "importers/params/params_table.h"

namespace intaglio {
namespace {

constexpr int kMaxDepth = 16;

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

}  // namespace

Outcome<ParamsTable> read_amct(const std::string& path, std::string_view text) {
  amct_file::File file;
  FirstError problem;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&problem);
  parser.SetRecursionLimit(kMaxDepth);
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
  if (file.prune_record_size() > 0)
    table.notes.push_back(path + ": what it says of pruning is left out; prune before the model is imported");
  if (table.entries.empty()) return Failure{path + ": holds no scales; is it a record of AMCT's?"};
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

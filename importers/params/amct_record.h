// Ascend AMCT's record file ("scale_offset_record"), as far as it says how to quantize. Its text form is protobuf's.
//
// Tools number the fields differently; names alone are read. fields(message, visitor) calls the visitor with the name and the
// member of each field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrator/host/system/outcome.h"

namespace intaglio::amct {

struct Layer {
  std::optional<float> scale_d, scale_h;
  std::optional<int32_t> offset_d, offset_h;
  std::vector<float> scale_w, scale_r, tensor_balance_factor;
  std::vector<int32_t> offset_w, offset_r;
  std::vector<uint32_t> shift_bit;
  std::optional<bool> skip_fusion, is_tensor_quantize;
  std::optional<std::string> dst_type, act_type, wts_type, fakequant_precision_mode, op_data_type;
  std::optional<uint32_t> channels, height, width;
};
template <typename Visitor>
void fields(Layer& layer, Visitor& field) {
  field("scale_d", layer.scale_d);
  field("offset_d", layer.offset_d);
  field("scale_w", layer.scale_w);
  field("offset_w", layer.offset_w);
  field("shift_bit", layer.shift_bit);
  field("tensor_balance_factor", layer.tensor_balance_factor);
  field("skip_fusion", layer.skip_fusion);
  field("dst_type", layer.dst_type);
  field("act_type", layer.act_type);
  field("wts_type", layer.wts_type);
  field("fakequant_precision_mode", layer.fakequant_precision_mode);
  field("op_data_type", layer.op_data_type);
  field("is_tensor_quantize", layer.is_tensor_quantize);
  field("channels", layer.channels);
  field("height", layer.height);
  field("width", layer.width);
  field("scale_h", layer.scale_h);
  field("offset_h", layer.offset_h);
  field("scale_r", layer.scale_r);
  field("offset_r", layer.offset_r);
}

struct KvCache {
  std::vector<float> scale;
  std::vector<int32_t> offset;
};
template <typename Visitor>
void fields(KvCache& cache, Visitor& field) {
  field("scale", cache.scale);
  field("offset", cache.offset);
}

struct Entry {
  std::optional<std::string> key;
  std::optional<Layer> value;
  std::optional<KvCache> kv_cache_value;
};
template <typename Visitor>
void fields(Entry& entry, Visitor& field) {
  field("key", entry.key);
  field("value", entry.value);
  field("kv_cache_value", entry.kv_cache_value);
}

struct Attribute {
  enum class Type : int32_t { UNDEFINED, FLOAT, INT, STRING, FLOATS, INTS, STRINGS };
  static constexpr const char* kTypes[] = {"UNDEFINED", "FLOAT", "INT",    "STRING",
                                           "FLOATS",    "INTS",  "STRINGS"};

  std::optional<std::string> name, s;
  std::optional<Type> type;
  std::optional<float> f;
  std::optional<int64_t> i;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
};
template <typename Visitor>
void fields(Attribute& attribute, Visitor& field) {
  field("name", attribute.name);
  field("type", attribute.type);
  field("f", attribute.f);
  field("i", attribute.i);
  field("s", attribute.s);
  field("floats", attribute.floats);
  field("ints", attribute.ints);
  field("strings", attribute.strings);
}

struct PrunedNode {
  std::optional<std::string> name;
  std::vector<Attribute> attr;
};
template <typename Visitor>
void fields(PrunedNode& node, Visitor& field) {
  field("name", node.name);
  field("attr", node.attr);
}

struct Prune {
  std::vector<PrunedNode> producer, consumer;
  std::optional<PrunedNode> selective_prune;
};
template <typename Visitor>
void fields(Prune& prune, Visitor& field) {
  field("producer", prune.producer);
  field("consumer", prune.consumer);
  field("selective_prune", prune.selective_prune);
}

struct Record {
  std::vector<Entry> record;
  std::vector<Prune> prune_record;
};
template <typename Visitor>
void fields(Record& record, Visitor& field) {
  field("record", record.record);
  field("prune_record", record.prune_record);
}

// If a field stands twice, the last one counts, and `stands_twice` says where the first of these is. A failure begins with
// "line L column C: ".
Outcome<Record> read_record(std::string_view text, std::string& stands_twice);

// A string and a number as the text form has them.
std::string quoted_text(std::string_view words);
std::string number_text(float value);

}  // namespace intaglio::amct

// PPQ's JSON: configs[operator][tensor] says how, values[dominator] holds the scales. What PPQ does not know
// stands under "intaglio": where the parameters come from, with a digest, so that it holds for these values
// alone.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibrator/observe/digest.h"
#include "importers/params/params_json.h"

namespace intaglio {
namespace {

using Json = ParamsJson;

constexpr const char* kProperties[] = {"PER_TENSOR",  "PER_CHANNEL",  "LINEAR",    "EXPONENTIAL",
                                       "SYMMETRICAL", "ASYMMETRICAL", "POWER_OF_2"};
constexpr int32_t kBiasBits = 32, kMostBits = 16;
constexpr const char* kNotHeld[] = {"EXPONENTIAL", "FLOATING", "DYNAMIC"};
// Platforms that round the halves of activations up, by how their names begin, and their rounding of weights.
constexpr const char* kRoundsHalvesUp[][2] = {
    {"ESPDL_S3_", "half-up"}, {"ESPDL_C_", "half-up"}, {"NXP_", "half-far-from-zero"}};

std::string hex(const uint8_t* bytes, size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) text += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
  return text;
}

std::string digest_of(const Json& file) {
  const std::string text = file.at("configs").dump() + file.at("values").dump();
  Sha256 sha;
  sha.update(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  const Digest digest = sha.finish();
  return hex(digest.bytes, sizeof digest.bytes);
}

// ---- reading

class PpqReader {
 public:
  PpqReader(const std::string& path, const Json& file) : path_(path), file_(file) {}

  Outcome<ParamsTable> read() {
    const Json *const configs = json_member(file_, "configs"), *const values = json_member(file_, "values");
    if (configs == nullptr || !configs->is_object() || values == nullptr || !values->is_object())
      return Failure{path_ + ": has no objects 'configs' and 'values'; is it a file of PPQ's?"};
    for (const auto& [node, tensors] : configs->items())
      for (const auto& [tensor, config] : tensors.items())
        if (const auto hash = json_whole(json_member(config, "hash"));
            hash && hash == json_whole(json_member(config, "dominator")))
          leaders_.emplace(*hash, tensor);
    // Entries that only follow others come last: the others hold where they disagree.
    for (const bool passive : {false, true}) {
      for (const auto& [node, tensors] : configs->items()) {
        if (!tensors.is_object()) return Failure{path_ + ": configs/" + node + " is no object"};
        int32_t place = 0;
        for (const auto& [tensor, config] : tensors.items()) {
          const Slot slot{node, tensor, place++, &config == &tensors.back()};
          if (is_passive(config) == passive)
            if (auto step = add(slot, config, *values); !step) return step.failure();
        }
      }
    }
    if (auto step = read_operators(*configs); !step) return step.failure();
    wide_.note(table_.notes, path_, kWideSlots);
    second_.note(table_.notes, path_, "quantize a tensor a second time, in another way, and are left out");
    if (table_.entries.empty()) return Failure{path_ + ": holds no scales that can be taken"};
    read_provenance();
    return std::move(table_);
  }

 private:
  // PPQ gives the operands of sums this state, and biases.
  static bool is_passive(const Json& config) { return has_state(config, {"PASSIVE", "PASSIVE_BAKED"}); }
  // DEACTIVATED, or DEACTIVED as its newer form has it: the slot does not count.
  static bool is_unquantized(const Json& config) {
    return has_state(config, {"FP32", "DEACTIVATED", "DEACTIVED"});
  }
  static bool has_state(const Json& config, std::initializer_list<const char*> names) {
    const Json* const state = json_member(config, "state");
    return state != nullptr &&
           std::any_of(names.begin(), names.end(), [&](const char* name) { return *state == name; });
  }

  // Which operators stay in FP32: those that are dispatched so, and those whose slots all say it.
  Outcome<Done> read_operators(const Json& configs) {
    table_.names_all = false;
    std::set<std::string> in_float;
    for (const char* const name : {"dispatchings", "dispatching_table"}) {
      const Json* const dispatchings = json_member(file_, name);
      if (dispatchings == nullptr) continue;
      if (!dispatchings->is_object()) return Failure{path_ + ": " + name + " is no object"};
      for (const auto& [node, platform] : dispatchings->items()) {
        if (!platform.is_string()) return Failure{path_ + ": " + name + "/" + node + " is no text"};
        if (platform == "FP32") in_float.insert(node);
        for (const auto& [begin, of_weights] : kRoundsHalvesUp)
          if (platform.get<std::string>().rfind(begin, 0) == 0)
            rounding_ = {platform.get<std::string>(), of_weights};
      }
    }
    for (const auto& [node, tensors] : configs.items()) {
      const auto is_float = [](const Json& config) {
        return is_unquantized(config) || has_state(config, {"SOI"});
      };
      if (std::any_of(tensors.begin(), tensors.end(), is_unquantized) &&
          std::all_of(tensors.begin(), tensors.end(), is_float))
        in_float.insert(node);
      else if (in_float.count(node) == 0)
        table_.quantized_operators.push_back(node);
    }
    table_.float_operators.assign(in_float.begin(), in_float.end());
    if (!rounding_.first.empty())
      table_.notes.push_back(
          path_ + ": " + rounding_.first +
          " rounds halves up. Its weights can be rounded as there (--set weights:rounding=" +
          rounding_.second +
          "); activations round halves to even, and 'intaglio simulate --params FILE --set "
          "activations:rounding=half-up' shows what that changes");
    return Done{};
  }

  struct Slot {
    const std::string &node, &tensor;
    int32_t input;
    bool is_result;  // an operator's slots are its inputs, and then what it writes
    std::string place() const { return "configs/" + node + "/" + tensor; }
  };
  Outcome<Done> add(const Slot& slot, const Json& config, const Json& values) {
    const std::string place = slot.place(), where = path_ + ": " + place;
    const auto bits = json_whole(json_member(config, "bit_width")),
               lo = json_whole(json_member(config, "quant_min")),
               hi = json_whole(json_member(config, "quant_max")),
               dominator = json_whole(json_member(config, "dominator"));
    const Json* const state = json_member(config, "state");
    if (!bits || !lo || !hi || !dominator || state == nullptr || !state->is_string())
      return Failure{where +
                     ": bit_width, quant_min, quant_max, dominator or state is missing, or of another type"};
    const auto name = state->get<std::string>();
    const Json* const value = json_member(values, std::to_string(*dominator));
    const bool passive = is_passive(config);
    // A bias has its scale from its layer. What is not quantized has no values.
    if (is_unquantized(config) || name == "SOI" || (passive && (*bits > 16 || value == nullptr)))
      return Done{};
    if (*bits > kMostBits) {
      wide_.add(place + ", " + std::to_string(*bits) + " bits");
      return Done{};
    }
    if (*bits < 1) return Failure{where + ": a bit_width of " + std::to_string(*bits) + " holds no codes"};
    if (!passive && name != "ACTIVATED" && name != "OVERLAPPED" && name != "BAKED")
      return Failure{where + ": the state " + name +
                     " is unfinished; render the quantization before it is exported"};
    if (const Json* const policy = json_member(config, "policy"))
      for (const char* const property : kNotHeld)
        if (const Json* const is = json_member(*policy, property);
            is != nullptr && is->is_boolean() && is->get<bool>())
          return Failure{where + ": int8 does not hold the policy " + property + "; keep the node in float"};
    const int64_t middle = int64_t{1} << (*bits - 1);
    const bool is_whole = *lo == 0 && *hi == 2 * middle - 1;
    const auto half = static_cast<int32_t>(*bits <= 8 ? 128 : is_whole ? middle : 32768);
    const bool is_unsigned = *lo >= 0 && *hi >= half;  // codes that are lower by half here
    if (*lo >= *hi || *lo < -half || *hi >= (is_unsigned ? 2 * half : half))
      return Failure{where + ": codes of " + std::to_string(*lo) + " to " + std::to_string(*hi) +
                     " are not " + (*bits > 8 ? "16" : "8") + " bits"};
    if (value == nullptr)
      return Failure{where + ": its dominator " + std::to_string(*dominator) + " has no entry in values"};
    const int32_t shift = is_unsigned ? half : 0;
    ValueForm form{false, shift, static_cast<int32_t>(*lo) - shift, static_cast<int32_t>(*hi) - shift,
                   passive};
    form.is_wide = form.hi > 127 || form.lo < -128;
    if (form.is_wide && form.lo == -form.hi - 1) ++form.lo;  // the code that has no opposite
    if (form.is_wide && form.lo < -form.hi) {
      wide_.add(place + ", codes of " + std::to_string(*lo) + " to " + std::to_string(*hi));
      return Done{};
    }
    const auto leader = leaders_.find(*dominator);
    return add_value(slot, *value, form, leader == leaders_.end() ? slot.tensor : leader->second);
  }

  struct ValueForm {
    bool is_wide = false;
    int32_t shift = 0;            // of unsigned codes
    int32_t lo = -128, hi = 127;  // after it
    bool is_passive = false;
  };
  Outcome<Done> add_value(const Slot& slot, const Json& value, const ValueForm& form,
                          const std::string& leader) {
    const int32_t shift = form.shift;
    const std::string place = slot.place(), where = path_ + ": " + place;
    const Json *const scales = json_member(value, "scale"), *const zeros = json_member(value, "zero_point");
    if (scales == nullptr || zeros == nullptr) return Failure{where + ": scale or zero_point is missing"};
    ParamsEntry entry{ParamsOf::kTensor,
                      slot.tensor,
                      {},
                      0,
                      slot.node,
                      place,
                      false,
                      form.lo,
                      form.hi,
                      slot.is_result,
                      leader == slot.tensor ? std::string() : leader,
                      slot.input};
    if (auto step = add_json_scales(*scales, where, entry); !step) return step;
    const std::vector<const Json*> list = json_list(*zeros);
    if (entry.scales.empty() || (list.size() != 1 && list.size() != entry.scales.size()))
      return Failure{where + ": " + std::to_string(list.size()) + " zero points for " +
                     std::to_string(entry.scales.size()) + " scales"};
    for (const Json* const item : list) {
      const auto zero = json_whole(item);
      if (form.is_wide && zero && *zero != shift) {
        wide_.add(place + ", zero point " + item->dump());
        return Done{};
      }
      if (!zero || *zero - shift < form.lo || *zero - shift > form.hi)
        return Failure{where + ": the zero point " + item->dump() + " is no code"};
      if (entry.zero_point == 0) entry.zero_point = static_cast<int32_t>(*zero) - shift;
    }
    // A tensor stands under each operator that touches it: the first one writes it, and another that has other parameters
    // quantizes it a second time.
    if (const ParamsEntry* const known = table_.find(ParamsOf::kTensor, slot.tensor)) {
      if (known->scales == entry.scales && known->zero_point == entry.zero_point && known->lo >= entry.lo &&
          known->hi <= entry.hi)
        return Done{};
      if (form.is_passive) {
        second_.add(place);
        return Done{};
      }
      entry.of = ParamsOf::kReader;
    }
    return add_entry(table_, std::move(entry), path_);
  }

  void read_provenance() {
    const Json* const own = json_member(file_, "intaglio");
    if (own == nullptr) return;
    const Json* const digest = json_member(*own, "digest");
    const auto text = [own](const char* name) {
      const Json* const value = json_member(*own, name);
      return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
    };
    const auto samples = json_whole(json_member(*own, "samples"));
    const std::string of_samples = text("samples_digest");
    if (digest == nullptr || !digest->is_string() || digest->get<std::string>() != digest_of(file_) ||
        !samples || *samples < 0 || *samples > UINT32_MAX || of_samples.size() != 64) {
      table_.notes.push_back(
          path_ + ": was changed after it was exported: what it says of the calibration is left out");
      return;
    }
    ParamsProvenance provenance{
        text("library_version"), text("method"), text("options"), static_cast<uint32_t>(*samples), {}};
    for (size_t i = 0; i < provenance.digest.size(); ++i) {
      const auto nibble = [&of_samples](size_t at) {
        const char c = of_samples[at];
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
      };
      provenance.digest[i] = static_cast<uint8_t>(nibble(2 * i) * 16 + nibble(2 * i + 1));
    }
    table_.provenance = std::move(provenance);
  }

  const std::string& path_;
  const Json& file_;
  ParamsTable table_;
  std::map<int64_t, std::string> leaders_;  // tensors by the hash of their own config
  ParamsSlots wide_, second_;
  std::pair<std::string, std::string>
      rounding_;  // a platform that does not round halves to even, and how it rounds weights
};

// ---- writing

struct ConfigForm {
  int32_t bits = 8, lo = -128, hi = 127;
  bool is_per_channel = false, is_symmetric = false, is_power_of_two = false;
};

bool is_power_of_two(float scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5f;
}

ConfigForm form_of(const ParamsEntry& entry) {
  const int32_t lo = entry.of == ParamsOf::kLayerWeights ? -entry.hi : entry.lo;
  return {entry.bits(),
          lo,
          entry.hi,
          entry.scales.size() > 1,
          entry.of == ParamsOf::kLayerWeights || entry.zero_point == 0,
          std::all_of(entry.scales.begin(), entry.scales.end(), is_power_of_two)};
}

Json config_of(const ConfigForm& form, const char* state, size_t hash, size_t dominator) {
  Json policy;
  for (const char* const property : kProperties) policy[property] = false;
  policy[form.is_per_channel ? "PER_CHANNEL" : "PER_TENSOR"] = true;
  policy["LINEAR"] = true;
  policy[form.is_symmetric ? "SYMMETRICAL" : "ASYMMETRICAL"] = true;
  policy["POWER_OF_2"] = form.is_power_of_two;
  return {{"bit_width", form.bits}, {"policy", std::move(policy)}, {"state", state},
          {"quant_min", form.lo},   {"quant_max", form.hi},        {"hash", hash},
          {"dominator", dominator}};
}

Json value_of(const ParamsEntry& entry) {
  Json scale, zero;
  for (const float s : entry.scales) {
    scale.push_back(static_cast<double>(s));
    zero.push_back(entry.zero_point);
  }
  if (entry.scales.size() == 1) return {{"scale", scale[0]}, {"zero_point", zero[0]}};
  return {{"scale", std::move(scale)}, {"zero_point", std::move(zero)}};
}

}  // namespace

Outcome<ParamsTable> read_ppq(const std::string& path, std::string_view text) {
  const auto file = parse_params_json(path, text, "PPQ");
  if (!file) return file.failure();
  return PpqReader(path, *file).read();
}

Outcome<std::string> write_ppq(const ParamsTable& table) {
  Json configs = Json::object(), values = Json::object();
  std::map<std::string, size_t> written;  // of each tensor: its entry's hash
  std::map<std::string, ConfigForm> forms;
  size_t hash = 0;
  for (const ParamsEntry& entry : table.entries) {
    if (entry.of == ParamsOf::kLayerInput) continue;
    const bool weights = entry.of == ParamsOf::kLayerWeights;
    ++hash;
    const ConfigForm form = form_of(entry);
    const std::string& node = weights ? entry.name : entry.node;
    configs[node][weights ? entry.node : entry.name] = config_of(form, "ACTIVATED", hash, hash);
    values[std::to_string(hash)] = value_of(entry);
    if (entry.of != ParamsOf::kTensor) continue;
    written[entry.name] = hash;
    forms[entry.name] = form;
  }
  for (const ParamsReader& reader : table.readers) {
    Json& slots = configs[reader.node];
    if (slots.contains(reader.tensor)) continue;  // its own
    if (reader.bias_scales.empty()) {
      slots[reader.tensor] = config_of(forms[reader.tensor], "OVERLAPPED", ++hash, written[reader.tensor]);
      continue;
    }
    const ParamsEntry bias{
        ParamsOf::kTensor, reader.tensor, reader.bias_scales, 0, reader.node, {}, false, 0, 0};
    ++hash;
    slots[reader.tensor] = config_of({kBiasBits, INT32_MIN, INT32_MAX, bias.scales.size() > 1, true, false},
                                     "PASSIVE", hash, hash);
    values[std::to_string(hash)] = value_of(bias);
  }
  Json file{{"configs", std::move(configs)}, {"dispatchings", Json::object()}, {"values", std::move(values)}};
  if (table.provenance) {
    const ParamsProvenance& from = *table.provenance;
    file["intaglio"] = {{"library_version", from.library_version},
                        {"method", from.method},
                        {"options", from.options},
                        {"samples", from.samples},
                        {"samples_digest", hex(from.digest.data(), from.digest.size())},
                        {"digest", digest_of(file)}};
  }
  return params_json_text(file);
}

}  // namespace intaglio

// AIMET's encodings, JSON, by names of tensors: a number is (code + offset) * scale, with codes from 0 on. Version 0.6.1
// has a list of encodings under each name, a channel each; version 1.0.0 a list of encodings with names, whose scales are
// lists; version 2.0.0 one list of encodings with the fields of ONNX's QuantizeLinear. All are read, the first is written:
// Qualcomm's converters take it as quantization overrides. Read are encodings of the same use from other tools, too: SNPE's
// with a range alone, PPQ's for QNN, whose codes have a sign, and MQBench's clip ranges.
#include <charconv>
#include <cmath>

#include "importers/params/params_json.h"

namespace intaglio {
namespace {

constexpr int64_t kMostAimetBits = 16;
constexpr int64_t kAimetBiasBits = 32;  // a bias has its scale from its layer
// Where MQBench's clip ranges stand for each of its targets.
constexpr const char* kClipRanges[][2] = {{"tensorrt", "blob_range"}, {"ppl", ""}, {"vitis", ""}};

// The range that codes of `bits` stand for, with the scale where the file has it: then fewer codes than all may be in use, of
// which the last is the greatest.
struct CodeRange {
  int64_t bits = 8, offset = 0;
  double scale = 0.0;
  int32_t unused = 0;  // codes below the least
};
std::optional<CodeRange> code_range(int64_t bits, std::optional<double> scale, double least, double most) {
  if (!(std::isfinite(least) && std::isfinite(most) && most > least && scale.value_or(1.0) > 0.0))
    return std::nullopt;
  CodeRange range{bits, 0, scale.value_or(0.0), 0};
  if (!scale) {
    least = std::min(least, 0.0);
    most = std::max(most, 0.0);
    range.scale = (most - least) / static_cast<double>((int64_t{1} << bits) - 1);
  }
  const double below = std::nearbyint(-least / range.scale),
               steps = std::nearbyint((most - least) / range.scale);
  if (!(std::fabs(below) < 1e6 && steps < 1e6)) return std::nullopt;
  if (steps >= static_cast<double>(int64_t{1} << range.bits))
    ++range.bits;  // -127 to 127 of 8 bits are "7.99"
  range.unused = static_cast<int32_t>((int64_t{1} << range.bits) - 1 - static_cast<int64_t>(steps));
  range.offset = -static_cast<int64_t>(below) - range.unused;
  if (range.unused < 0) return std::nullopt;
  return range;
}

class AimetReader {
 public:
  AimetReader(const std::string& path, const ParamsJson& file) : path_(path), file_(file) {}

  Outcome<ParamsTable> read() {
    bool any = false;
    for (const char* const part : {"activation_encodings", "param_encodings"}) {
      const ParamsJson* const encodings = json_member(file_, part);
      if (encodings == nullptr) continue;
      any = true;
      if (auto step = read_part(part, *encodings); !step) return step.failure();
    }
    if (const ParamsJson* const encodings = json_member(file_, "encodings"); !any && encodings != nullptr) {
      if (!encodings->is_array()) return Failure{path_ + ": encodings is no list"};
      any = true;
      for (const ParamsJson& encoding : *encodings)
        if (auto step = add_like_node(encoding); !step) return step.failure();
    }
    for (const auto& [target, list] : kClipRanges) {
      const ParamsJson* const of_target = json_member(file_, target);
      const ParamsJson* const ranges =
          of_target == nullptr || *list == '\0' ? of_target : json_member(*of_target, list);
      if (ranges == nullptr) continue;
      any = true;
      if (!ranges->is_object()) return Failure{path_ + ": " + target + " is no object"};
      for (const auto& [name, range] : ranges->items())
        if (auto step = add_clip_range(target, name, range); !step) return step.failure();
    }
    if (!any)
      return Failure{
          path_ +
          ": has no activation_encodings, param_encodings or encodings, nor MQBench's tensorrt, ppl or "
          "vitis; is it a file of AIMET's?"};
    wide_.note(table_.notes, path_, kWideSlots);
    weights_.note(table_.notes, path_, kWideWeights);
    if (table_.entries.empty()) return Failure{path_ + ": holds no scales that can be taken"};
    return std::move(table_);
  }

 private:
  Outcome<Done> read_part(const std::string& part, const ParamsJson& encodings) {
    const bool is_weights = part == "param_encodings";
    if (encodings.is_array()) {
      for (const ParamsJson& encoding : encodings) {
        const ParamsJson* const name = json_member(encoding, "name");
        if (name == nullptr || !name->is_string())
          return Failure{path_ + ": " + part + " has an encoding without a name"};
        if (auto step = add(part, name->get<std::string>(), {&encoding}, is_weights); !step) return step;
      }
      return Done{};
    }
    if (!encodings.is_object()) return Failure{path_ + ": " + part + " is no list and no object"};
    for (const auto& [name, list] : encodings.items()) {
      if (!list.is_array())
        return Failure{
            path_ + ": " + part + "/" + name +
            " is no list; give the file whose names are of ONNX tensors, not that of PyTorch's modules"};
      if (auto step = add(part, name, json_list(list), is_weights); !step) return step;
    }
    return Done{};
  }

  // The greatest value, which has the code 127; a scale of symmetric codes; or an encoding, of weights too.
  Outcome<Done> add_clip_range(const std::string& part, const std::string& name, const ParamsJson& range) {
    ParamsJson encoding{{"bitwidth", 8}, {"offset", -128}};
    const ParamsJson *const scale = json_member(range, "scale"), *const bits = json_member(range, "bit"),
                            *const step = json_member(range, "step"), *const min = json_member(range, "min"),
                            *const max = json_member(range, "max");
    if (range.is_number())
      encoding["scale"] = range.get<double>() / 127.0;
    else if (scale != nullptr)
      encoding["scale"] = *scale;
    else if (bits != nullptr && step != nullptr && min != nullptr && max != nullptr)
      encoding = {{"bitwidth", *bits}, {"scale", *step}, {"min", *min}, {"max", *max}};
    else
      return Failure{path_ + ": " + part + "/" + name +
                     ": is no number, and has neither scale nor bit, step, min and max"};
    return add(part, name, {&encoding}, step != nullptr && step->is_array());
  }

  // An encoding with a range as AIMET has it, which the offset agrees with. Nothing: a range that is none.
  static std::optional<ParamsJson> in_aimet_fields(const ParamsJson& encoding, int64_t bits) {
    const ParamsJson *const min = json_member(encoding, "min"), *const max = json_member(encoding, "max"),
                            *const scale = json_member(encoding, "scale"),
                            *const offset = json_member(encoding, "offset");
    if (min == nullptr || max == nullptr || bits > kMostAimetBits) return encoding;
    const auto mins = json_list(*min), maxima = json_list(*max);
    const auto scales = scale == nullptr ? std::vector<const ParamsJson*>() : json_list(*scale);
    const auto is_number = [](const ParamsJson* value) { return value->is_number(); };
    if (mins.size() != maxima.size() || (!scales.empty() && scales.size() != mins.size()) ||
        !std::all_of(mins.begin(), mins.end(), is_number) ||
        !std::all_of(maxima.begin(), maxima.end(), is_number) ||
        !std::all_of(scales.begin(), scales.end(), is_number))
      return std::nullopt;
    if (const auto own = json_whole(offset);
        own && scales.size() == 1 && *own <= 0 &&
        std::fabs(mins[0]->get<double>() - static_cast<double>(*own) * scales[0]->get<double>()) <=
            0.5 * scales[0]->get<double>())
      return encoding;
    if (offset != nullptr && scales.empty()) return encoding;
    ParamsJson made{{"scale", ParamsJson::array()}, {"offset", ParamsJson::array()}};
    for (size_t i = 0; i < mins.size(); ++i) {
      const auto range =
          code_range(bits, scales.empty() ? std::nullopt : std::optional<double>(scales[i]->get<double>()),
                     mins[i]->get<double>(), maxima[i]->get<double>());
      if (!range) return std::nullopt;
      made["scale"].push_back(range->scale);
      made["offset"].push_back(range->offset);
      made["bitwidth"] = made["bw"] = range->bits;
      made["unused"] = range->unused;
    }
    return made;
  }

  void add_wide(bool are_weights, const std::string& name, const std::string& place, int64_t bits) {
    (are_weights ? weights_ : wide_).add(place + ", " + std::to_string(bits) + " bits");
    if (are_weights) table_.float_operators.push_back(name);
  }

  // `list`: an encoding a channel, or one that has them all.
  Outcome<Done> add(const std::string& part, const std::string& name,
                    const std::vector<const ParamsJson*>& list, bool is_weights) {
    const std::string place = part + "/" + name, where = path_ + ": " + place;
    if (list.empty()) return Failure{where + ": has no encoding"};
    ParamsEntry entry{
        is_weights ? ParamsOf::kLayerWeights : ParamsOf::kTensor, name, {}, 0, is_weights ? name : "", place};
    for (const ParamsJson* const given : list) {
      const ParamsJson* const type = json_member(*given, "dtype");
      if (type != nullptr && type->is_string() && (*type == "float" || *type == "FLOAT")) return Done{};
      const auto long_bits = json_whole(json_member(*given, "bitwidth")),
                 short_bits = json_whole(json_member(*given, "bw"));
      std::optional<int64_t> bits = long_bits ? long_bits : short_bits;
      const auto encoding = bits && *bits >= 2 ? in_aimet_fields(*given, *bits) : std::nullopt;
      if (bits && *bits >= 2 && !encoding)
        return Failure{where + ": min, max and scale are no ranges of " + std::to_string(*bits) + " bits"};
      const ParamsJson *const scales = encoding ? json_member(*encoding, "scale") : nullptr,
                              *const offsets = encoding ? json_member(*encoding, "offset") : nullptr;
      if (scales == nullptr || offsets == nullptr)
        return Failure{where + ": bitwidth, scale or offset is missing, or of another type"};
      bits = json_whole(json_member(*encoding, long_bits ? "bitwidth" : "bw"));
      if (*bits > (is_weights ? 8 : kMostAimetBits)) {
        const bool is_bias = is_weights && *bits >= kAimetBiasBits;
        if (!is_bias) add_wide(is_weights, name, place, *bits);
        return Done{};
      }
      const auto middle =
          static_cast<int32_t>(int64_t{1} << (*bits - 1));  // codes from 0 on are ours plus this
      entry.hi = middle - 1;
      entry.lo = is_weights || entry.is_wide() ? -entry.hi : -middle;
      if (const auto unused = json_whole(json_member(*encoding, "unused")))
        entry.lo = std::max(entry.lo, static_cast<int32_t>(*unused) - middle);
      if (auto step = add_scales(where, *scales, *offsets, middle, entry); !step) return step;
      if (entry.is_wide() && entry.zero_point != 0) {
        wide_.add(place + ", offset " + offsets->dump());
        return Done{};
      }
    }
    if (!is_weights && entry.scales.size() != 1)
      return Failure{where + ": " + std::to_string(entry.scales.size()) +
                     " scales, and an activation has one here"};
    return add_entry(table_, std::move(entry), path_);
  }

  // As a QuantizeLinear has it: name, output_dtype "int8" or "uint8" and the like, y_scale and y_zero_point, which are
  // numbers, or lists of weights. Names are of activations and of weights alike.
  Outcome<Done> add_like_node(const ParamsJson& encoding) {
    const ParamsJson *const name = json_member(encoding, "name"),
                            *const type = json_member(encoding, "output_dtype"),
                            *const scales = json_member(encoding, "y_scale"),
                            *const zero_points = json_member(encoding, "y_zero_point");
    if (name == nullptr || !name->is_string()) return Failure{path_ + ": encodings has one without a name"};
    const std::string place = "encodings/" + name->get<std::string>(), where = path_ + ": " + place;
    if (type == nullptr || !type->is_string() || scales == nullptr)
      return Failure{where + ": output_dtype or y_scale is missing, or of another type"};
    const std::string word = type->get<std::string>();
    if (word.compare(0, 5, "float") == 0) return Done{};
    const bool is_unsigned = word.compare(0, 4, "uint") == 0;
    const auto bits = bits_of(word);
    if (!bits)
      return Failure{where + ": output_dtype " + type->dump() +
                     " is none of int2 to int32 and uint2 to uint32"};
    const bool is_weights = scales->is_array();
    if (*bits > (is_weights ? 8 : kMostAimetBits)) {
      if (*bits < kAimetBiasBits) add_wide(is_weights, name->get<std::string>(), place, *bits);
      return Done{};
    }
    const auto middle = static_cast<int32_t>(int64_t{1} << (*bits - 1));
    ParamsEntry entry{is_weights ? ParamsOf::kLayerWeights : ParamsOf::kTensor,
                      name->get<std::string>(),
                      {},
                      0,
                      is_weights ? name->get<std::string>() : "",
                      place};
    entry.hi = middle - 1;
    entry.lo = is_weights || entry.is_wide() ? -entry.hi : -middle;
    // Codes from 0 on, and the offset that is less than none of them.
    const auto offset_of = [&](int64_t zero_point) { return -(zero_point + (is_unsigned ? 0 : middle)); };
    ParamsJson offsets = ParamsJson::array();
    for (const ParamsJson* const item :
         zero_points == nullptr ? std::vector<const ParamsJson*>() : json_list(*zero_points)) {
      const auto zero_point = json_whole(item);
      if (!zero_point || *zero_point < -middle || *zero_point >= 2 * middle)
        return Failure{where + ": the zero point " + item->dump() + " is no code of " + word};
      offsets.push_back(offset_of(*zero_point));
    }
    if (zero_points == nullptr) offsets.push_back(offset_of(0));
    if (auto step = add_scales(where, *scales, offsets, middle, entry); !step) return step;
    if (entry.is_wide() && entry.zero_point != 0) {
      wide_.add(place + ", zero point " + std::to_string(entry.zero_point));
      return Done{};
    }
    return add_entry(table_, std::move(entry), path_);
  }

  // "int8", "uint16".
  static std::optional<int64_t> bits_of(const std::string& word) {
    const size_t digits = word.compare(0, 4, "uint") == 0  ? 4
                          : word.compare(0, 3, "int") == 0 ? 3
                                                           : word.size();
    int64_t bits = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data() + digits, end, bits);
    if (error != std::errc() || stop != end || bits < 2 || bits > kAimetBiasBits) return std::nullopt;
    return bits;
  }

  Outcome<Done> add_scales(const std::string& where, const ParamsJson& scales, const ParamsJson& offsets,
                           int64_t middle, ParamsEntry& entry) {
    const auto scale_list = json_list(scales), offset_list = json_list(offsets);
    if (scale_list.empty() || (offset_list.size() != 1 && offset_list.size() != scale_list.size()))
      return Failure{where + ": " + std::to_string(offset_list.size()) + " offsets for " +
                     std::to_string(scale_list.size()) + " scales"};
    if (auto step = add_json_scales(scales, where, entry); !step) return step;
    for (const ParamsJson* const item : offset_list) {
      const auto offset = json_whole(item);
      if (!offset || *offset <= -2 * middle || *offset > 0)
        return Failure{where + ": the offset " + item->dump() + " is not within " +
                       std::to_string(1 - 2 * middle) + " to 0"};
      if (entry.zero_point == 0) entry.zero_point = static_cast<int32_t>(-*offset - middle);
    }
    return Done{};
  }

  const std::string& path_;
  const ParamsJson& file_;
  ParamsTable table_;
  ParamsSlots wide_, weights_;
};

// The least code is -middle, so limits that are not those of its bits need more bits.
ParamsJson encoding_of(const ParamsEntry& entry, float scale) {
  int32_t bits = 2;
  while (entry.hi >= int32_t{1} << (bits - 1) || entry.lo < -(int32_t{1} << (bits - 1))) ++bits;
  const int32_t middle = int32_t{1} << (bits - 1);
  const auto real = [&](int32_t code) { return static_cast<double>(scale) * (code - entry.zero_point); };
  const bool is_symmetric = entry.of == ParamsOf::kLayerWeights || entry.is_wide();
  return {{"bitwidth", bits},
          {"dtype", "int"},
          {"is_symmetric", is_symmetric ? "True" : "False"},
          {"max", real(middle - 1)},
          {"min", real(-middle)},
          {"offset", -(entry.zero_point + middle)},
          {"scale", static_cast<double>(scale)}};
}

}  // namespace

Outcome<ParamsTable> read_aimet(const std::string& path, std::string_view text) {
  const auto file = parse_params_json(path, text, "AIMET");
  if (!file) return file.failure();
  return AimetReader(path, *file).read();
}

Outcome<std::string> write_aimet(const ParamsTable& table) {
  ParamsJson activations = ParamsJson::object(), parameters = ParamsJson::object();
  for (const ParamsEntry& entry : table.entries) {
    if (entry.of == ParamsOf::kLayerInput) continue;
    const bool is_weights = entry.of == ParamsOf::kLayerWeights;
    ParamsJson list = ParamsJson::array();
    for (const float scale : entry.scales) list.push_back(encoding_of(entry, scale));
    (is_weights ? parameters[entry.node] : activations[entry.name]) = std::move(list);
  }
  return params_json_text(ParamsJson{{"version", "0.6.1"},
                                     {"activation_encodings", std::move(activations)},
                                     {"param_encodings", std::move(parameters)}});
}

}  // namespace intaglio

// ncnn's table: "layer_param_0 m m ..." for a layer's weights, one m an output channel (or a group), and
// "layer m" for its input. m is the multiplier 127 / threshold, the inverse of a step. Lines that begin with
// # are left out, as those do who switch a layer off.
#include <cstdio>

#include "calibrator/host/system/real_text.h"
#include "importers/params/params_layers.h"

namespace intaglio {

namespace {

constexpr std::string_view kWeights = "_param_0";

std::string multiplier_text(float scale) { return " " + general_text(1.0 / static_cast<double>(scale), 12); }

}  // namespace

Outcome<ParamsTable> read_ncnn(const std::string& path, std::string_view text) {
  ParamsTable table;
  table.names_all = false;
  for (const ParamsLine& line : lines_of(text)) {
    const std::string_view key = line.words[0];
    if (key[0] == '#') continue;
    const std::string where = path + " " + line.place() + ", " + std::string(key);
    if (line.words.size() < 2) return Failure{where + ": has no multiplier; 'layer multiplier' was expected"};
    const bool weights = ends_with(key, kWeights);
    if (!weights && key.find("_param_") != std::string_view::npos) {
      table.notes.push_back(where + ": such parameters belong to layers that stay in float here");
      continue;
    }
    if (!weights && line.words.size() > 2)
      return Failure{where + ": has " + std::to_string(line.words.size() - 1) +
                     " multipliers, and a layer's input has one"};
    ParamsEntry entry{weights ? ParamsOf::kLayerWeights : ParamsOf::kLayerInput,
                      std::string(weights ? key.substr(0, key.size() - kWeights.size()) : key),
                      {},
                      0,
                      {},
                      line.place()};
    for (size_t i = 1; i < line.words.size(); ++i) {
      const std::string value(line.words[i]);
      // A channel without weights, 127 / 0: any scale does.
      const bool infinite = weights && (value == "inf" || value == "+inf");
      const auto multiplier = infinite ? std::optional<double>(1.0) : number_of(value);
      if (!multiplier || !(*multiplier > 0.0))
        return Failure{where + ": the multiplier '" + value + "' is no number above 0"};
      const auto scale = checked_scale(1.0 / *multiplier, where + ": the multiplier " + value);
      if (!scale) return scale.failure();
      entry.scales.push_back(*scale);
    }
    if (auto step = add_entry(table, std::move(entry), path); !step) return step.failure();
  }
  if (table.entries.empty()) return Failure{path + ": holds no scales; is it a table of ncnn's?"};
  return table;
}

Outcome<std::string> write_ncnn(const ParamsTable& table) {
  std::string weights, inputs;
  for (const ParamsEntry& entry : table.entries) {
    if (entry.of == ParamsOf::kTensor) continue;
    if (entry.name.find_first_of(" \t\r\n#") != std::string::npos)
      return Failure{"'" + entry.name +
                     "': ncnn's table cannot hold a name with a space or a #; rename the layer, or take "
                     "another format"};
    if (entry.zero_point != 0)
      return Failure{"the input of " + entry.name + " has the zero point " +
                     std::to_string(entry.zero_point) +
                     ", and ncnn has none; calibrate with --compat tengine, or take another format"};
    std::string& lines = entry.of == ParamsOf::kLayerWeights ? weights : inputs;
    lines += entry.name;
    if (entry.of == ParamsOf::kLayerWeights) lines += kWeights;
    for (const float scale : entry.scales) lines += multiplier_text(scale);
    lines += '\n';
  }
  if (weights.empty() && inputs.empty())
    return Failure{"there is no layer with weights, and ncnn's table has nothing else"};
  return weights + inputs;
}

// Tengine's table of activations: "name scale zero_point" a line, steps and not multipliers. Its reader takes
// a name up to the first space; names with spaces are read here all the same.

Outcome<ParamsTable> read_tengine(const std::string& path, std::string_view text, bool is_uint8) {
  ParamsTable table;
  const int32_t low = is_uint8 ? 0 : -128, high = is_uint8 ? 255 : 127;
  for (const ParamsLine& line : lines_of(text)) {
    const std::string where = path + " " + line.place();
    const std::vector<std::string_view>& words = line.words;
    if (words.size() < 3) return Failure{where + ": '" + line.shown() + "' is not 'name scale zero_point'"};
    const auto scale = number_of(words[words.size() - 2]), zero = number_of(words.back());
    // A name may hold spaces: it is what stands before the two numbers.
    const std::string name(line.before(words[words.size() - 2]));
    if (!scale || !zero)
      return Failure{where + ", " + name + ": '" + line.shown() +
                     "' does not end with a scale and a zero point"};
    if (*zero != static_cast<int32_t>(std::min(std::max(*zero, -1e6), 1e6)) || *zero < low || *zero > high)
      return Failure{where + ", " + name + ": the zero point " + std::string(words.back()) +
                     " is no code of " + std::to_string(low) + " to " + std::to_string(high) +
                     (is_uint8 ? "; is this a table of int8 (--format tengine)?"
                               : "; is this a table of the uint8 tool (--format tengine-uint8)?")};
    const auto checked = checked_scale(*scale, where + ": " + name);
    if (!checked) return checked.failure();
    const int32_t zero_point = static_cast<int32_t>(*zero) - (is_uint8 ? 128 : 0);
    if (auto step =
            add_entry(table, {ParamsOf::kTensor, name, {*checked}, zero_point, {}, line.place()}, path);
        !step)
      return step.failure();
  }
  if (table.entries.empty()) return Failure{path + ": holds no scales; is it a table of Tengine's?"};
  return table;
}

Outcome<std::string> write_tengine(const ParamsTable& table, bool is_uint8) {
  std::string text;
  for (const ParamsEntry& entry : table.entries) {
    if (entry.of != ParamsOf::kTensor) continue;
    if (entry.name.find_first_of(" \t\r\n") != std::string::npos)
      return Failure{"'" + entry.name +
                     "': Tengine's table cannot hold a name with a space; rename the tensor, or take "
                     "another format"};
    if (!is_uint8 && entry.zero_point != 0)
      return Failure{
          entry.name + " has the zero point " + std::to_string(entry.zero_point) +
          ", and Tengine's int8 has none; calibrate with --compat tengine, or take --format tengine-uint8"};
    text += entry.name + " " + general_text(static_cast<double>(entry.scales[0]), 9) + " " +
            std::to_string(entry.zero_point + (is_uint8 ? 128 : 0)) + "\n";
  }
  return text;
}

}  // namespace intaglio

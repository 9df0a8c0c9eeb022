// ncnn's table: "layer_param_0 m m ..." for a layer's weights, one m an output channel (or a group), and
// "layer m" for its input. m is the multiplier 127 / threshold, the inverse of a step. Lines that begin with
// # are left out, as those do who switch a layer off.
#include <cstdio>

#include "calibrator/host/system/real_text.h"
#include "importers/params/params_lines.h"
#include "importers/params/params_names.h"

namespace intaglio {
namespace {

constexpr std::string_view kWeights = "_param_0";

std::string multiplier_text(float scale) { return " " + general_text(1.0 / static_cast<double>(scale), 12); }

}  // namespace

Outcome<ParamsTable> read_ncnn(const std::string& path, std::string_view text) {
  ParamsTable table;
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

}  // namespace intaglio

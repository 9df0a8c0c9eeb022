// Tengine's table of activations: "name scale zero_point" a line, steps and not multipliers. Its reader takes
// a name up to the first space; names with spaces are read here all the same.
#include <cstdio>

#include "calibrator/host/system/real_text.h"
#include "importers/params/params_lines.h"

namespace intaglio {

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

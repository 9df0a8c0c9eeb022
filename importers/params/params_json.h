// Parts that the readers of JSON share.
#pragma once

#include <nlohmann/json.hpp>

#include "importers/params/params_table.h"

namespace intaglio {

using ParamsJson = nlohmann::ordered_json;

// Fails for what is no JSON, and for what is nested deeper than such a file of `tool` is.
Outcome<ParamsJson> parse_params_json(const std::string& path, std::string_view text,
                                      const std::string& tool);
// Its text; fails for a name that is no UTF-8.
Outcome<std::string> params_json_text(const ParamsJson& file);

// nullptr: none.
const ParamsJson* json_member(const ParamsJson& object, const std::string& name);
// A whole number, whatever its type there.
std::optional<int64_t> json_whole(const ParamsJson* value);
// One value, or the values of a list.
std::vector<const ParamsJson*> json_list(const ParamsJson& value);
// The numbers of a list, or the one number, go behind the entry's scales; `where` names them.
Outcome<Done> add_json_scales(const ParamsJson& list, const std::string& where, ParamsEntry& entry);

// Slots of a file that are not what int8 has, for a note.
struct ParamsSlots {
  size_t count = 0;
  std::string first;
  void add(const std::string& slot) {
    if (count++ == 0) first = slot;
  }
  // "PATH: 3 of its slots WHAT (the first: x)", where there are any.
  void note(std::vector<std::string>& notes, const std::string& path, const std::string& what) const;
};
inline constexpr char kWideWeights[] = "are of weights with more than 8 bits, whose layers stay in FP32";
inline constexpr char kWideSlots[] =
    "have more than 16 bits, or 9 to 16 with a zero point that is not their middle, and are left out; keep their "
    "nodes in float where int8 is too coarse";

}  // namespace intaglio

// Results as values with names: what --json prints, and what Python's reports hold.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/text.h"

namespace intaglio::tools {

using Json = nlohmann::ordered_json;

// null where the number is not finite: JSON has no infinity.
inline Json json_number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// As safe() makes them.
inline Json json_lines(const std::vector<std::string>& lines) {
  Json json = Json::array();
  for (const std::string& line : lines) json.push_back(safe(line));
  return json;
}

}  // namespace intaglio::tools

#include "importers/params/params_json.h"

namespace intaglio {
namespace {

constexpr int kMaxDepth = 16;

}  // namespace

Outcome<ParamsJson> parse_params_json(const std::string& path, std::string_view text,
                                      const std::string& tool) {
  int depth = 0;
  bool too_deep = false;
  std::string problem;
  ParamsJson file;
  try {
    file = ParamsJson::parse(text, [&](int at, ParamsJson::parse_event_t, ParamsJson&) {
      depth = at;
      too_deep = too_deep || depth > kMaxDepth;
      return !too_deep;
    });
  } catch (const nlohmann::json::exception& error) {
    problem = error.what();
  }
  if (!problem.empty()) return Failure{path + ": is no JSON: " + problem};
  if (too_deep) return Failure{path + ": is nested deeper than a file of " + tool + "'s"};
  return file;
}

Outcome<std::string> params_json_text(const ParamsJson& file) {
  try {
    return file.dump(1) + "\n";
  } catch (const nlohmann::json::exception&) {
    return Failure{"a name is no UTF-8, and JSON cannot hold it; rename it"};
  }
}

const ParamsJson* json_member(const ParamsJson& object, const std::string& name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::optional<int64_t> json_whole(const ParamsJson* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const auto number = value->get<double>();
  if (!(number >= -1e15 && number <= 1e15) || number != static_cast<double>(static_cast<int64_t>(number)))
    return std::nullopt;
  return static_cast<int64_t>(number);
}

std::vector<const ParamsJson*> json_list(const ParamsJson& value) {
  if (!value.is_array()) return {&value};
  std::vector<const ParamsJson*> items;
  for (const ParamsJson& item : value) items.push_back(&item);
  return items;
}

void ParamsSlots::note(std::vector<std::string>& notes, const std::string& path,
                       const std::string& what) const {
  if (count > 0)
    notes.push_back(path + ": " + std::to_string(count) + " of its slots " + what + " (the first: " + first +
                    ")");
}

}  // namespace intaglio

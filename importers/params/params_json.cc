#include "importers/params/params_json.h"

namespace intaglio {
namespace {

constexpr int kMaxDepth = 16;
// Each value takes some hundred bytes, and a key is compared with those before it in its object.
constexpr size_t kMostValues = size_t{1} << 22, kMostComparisons = size_t{1} << 28;

// Counts what a file takes while it is parsed.
class Effort {
 public:
  bool add(int depth, ParamsJson::parse_event_t event) {
    using Event = ParamsJson::parse_event_t;
    const auto at = static_cast<size_t>(depth < 0 ? 0 : depth);
    if (event == Event::object_start) {
      keys_.resize(at + 1);
      keys_.push_back(0);
    }
    if (event == Event::key && at < keys_.size()) comparisons_ += keys_[at]++;
    if (event == Event::value || event == Event::object_start || event == Event::array_start) ++values_;
    return values_ <= kMostValues && comparisons_ <= kMostComparisons;
  }

 private:
  std::vector<size_t> keys_;  // of the objects that are open, by their depth
  size_t values_ = 0, comparisons_ = 0;
};

}  // namespace

Outcome<ParamsJson> parse_params_json(const std::string& path, std::string_view text,
                                      const std::string& tool) {
  int depth = 0;
  bool too_deep = false, too_large = false;
  Effort effort;
  std::string problem;
  ParamsJson file;
  try {
    file = ParamsJson::parse(text, [&](int at, ParamsJson::parse_event_t event, ParamsJson&) {
      depth = at;
      too_deep = too_deep || depth > kMaxDepth;
      too_large = too_large || !effort.add(at, event);
      return !too_deep && !too_large;
    });
  } catch (const nlohmann::json::exception& error) {
    problem = error.what();
  }
  if (!problem.empty()) return Failure{path + ": is no JSON: " + problem};
  if (too_large)
    return Failure{path + ": has more than " + std::to_string(kMostValues) +
                   " values, or objects of more keys than any file of " + tool + "'s has"};
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

Outcome<Done> add_json_scales(const ParamsJson& list, const std::string& where, ParamsEntry& entry) {
  for (const ParamsJson* const item : json_list(list)) {
    if (!item->is_number()) return Failure{where + ": a scale is no number"};
    const auto scale = checked_scale(item->get<double>(), where);
    if (!scale) return scale.failure();
    entry.scales.push_back(*scale);
  }
  return Done{};
}

void ParamsSlots::note(std::vector<std::string>& notes, const std::string& path,
                       const std::string& what) const {
  if (count > 0)
    notes.push_back(path + ": " + std::to_string(count) + " of its slots " + what + " (the first: " + first +
                    ")");
}

}  // namespace intaglio

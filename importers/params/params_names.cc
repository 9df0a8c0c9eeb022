#include "importers/params/params_names.h"

#include <algorithm>
#include <numeric>

#include "importers/params/params_table.h"

namespace intaglio {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

namespace {

size_t edits(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t corner = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = corner + (a[i] == b[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, corner + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string module_of_node(const std::string& name) {
  const size_t last = name.rfind('/');
  if (name.empty() || name[0] != '/' || last == 0) return "";
  std::string path, before;
  for (size_t at = 1; at <= last;) {
    const size_t end = name.find('/', at);
    const std::string part = name.substr(at, end - at);
    // A child of a Sequential carries its parent's name.
    if (!before.empty() && part.compare(0, before.size() + 1, before + ".") == 0)
      path.resize(path.size() - before.size());
    else if (!path.empty())
      path += '.';
    path += part;
    before = part;
    at = end + 1;
  }
  return path;
}

std::string module_of_weights(const std::string& name) {
  constexpr char kEnd[] = ".weight";
  return ends_with(name, kEnd) ? name.substr(0, name.size() - (sizeof kEnd - 1)) : "";
}

void NameIndex::add(const std::string& name, int32_t thing) {
  if (name.empty()) return;
  const auto [place, is_new] = things_.emplace(name, thing);
  if (!is_new && place->second != thing) place->second = -1;
}

int32_t NameIndex::find(const std::string& name) const {
  if (const auto same = things_.find(name); same != things_.end()) return same->second;
  int32_t found = -1;
  for (const auto& [known, thing] : things_) {
    if (!ends_with(known, "." + name) && !ends_with(name, "." + known)) continue;
    if (thing < 0 || (found >= 0 && found != thing)) return -1;
    found = thing;
  }
  return found;
}

std::vector<std::string> nearest_names(const std::string& name, const std::vector<std::string>& names,
                                       size_t count) {
  std::vector<std::pair<size_t, std::string>> list;
  for (const std::string& known : names) list.emplace_back(edits(name, known), known);
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  if (list.size() > count) list.resize(count);
  std::vector<std::string> nearest;
  for (auto& entry : list) nearest.push_back(std::move(entry.second));
  return nearest;
}

Outcome<ParamsNameMap> read_name_map(const std::string& path, std::string_view text) {
  ParamsNameMap names;
  int32_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string where = path + " line " + std::to_string(++number);
    const char* const blanks = " \t\r";
    if (line.find_first_not_of(blanks) == std::string_view::npos) continue;
    line.remove_prefix(line.find_first_not_of(blanks));
    line = line.substr(0, line.find_last_not_of(blanks) + 1);
    if (line.front() == '#') continue;
    const char between = line.find('\t') == std::string_view::npos ? ' ' : '\t';
    const size_t gap = line.find(between),
                 second = line.find_first_not_of(between, std::min(gap, line.size()));
    if (gap == std::string_view::npos || line.find(between, second) != std::string_view::npos)
      return Failure{
          where + ": write two names, the file's and the model's, with a blank between them, or with a tab"};
    const std::string from(line.substr(0, gap));
    if (!names.emplace(from, std::string(line.substr(second))).second)
      return Failure{where + ": " + from + " stands there already; delete one of them"};
  }
  return names;
}

void rename_entries(ParamsTable& table, const ParamsNameMap& names, const std::string& path) {
  ParamsTable renamed;
  std::map<std::string, bool> used;
  for (ParamsEntry& entry : table.entries) {
    if (const auto found = names.find(entry.name); found != names.end()) {
      used[entry.name] = true;
      entry.name = found->second;
    }
    renamed.entries.push_back(std::move(entry));
  }
  for (PrunedLayer& layer : table.pruned)
    if (const auto found = names.find(layer.name); found != names.end()) {
      used[layer.name] = true;
      layer.name = found->second;
    }
  renamed.pruned = std::move(table.pruned);
  renamed.provenance = std::move(table.provenance);
  renamed.notes = std::move(table.notes);
  for (const auto& [from, to] : names)
    if (used.count(from) == 0) renamed.notes.push_back(path + ": " + from + " is not among the parameters");
  table = std::move(renamed);
}

}  // namespace intaglio

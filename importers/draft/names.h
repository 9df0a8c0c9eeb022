// Names of foreign files as model files take them: UTF-8 without control characters, short, unique.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace intaglio::importers {

inline constexpr size_t kMaxNameBytes = 255;  // of the model format

// Invalid bytes and control characters become '?'; cut to `limit` bytes at a character's border.
std::string clean_name(const std::string& name, size_t limit = kMaxNameBytes);

// The name that a slip of the pen may have meant: the one with the fewest letters to change, at most a third of them;
// of equal ones the first. Empty: there is none.
std::string nearest_name(const std::string& wanted, const std::vector<std::string>& names);

// Gives each name once: a second 'conv' becomes 'conv~2'.
class UniqueNames {
 public:
  std::string take(const std::string& name);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> counts_;
};

}  // namespace intaglio::importers

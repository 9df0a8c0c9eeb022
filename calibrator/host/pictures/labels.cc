#include "calibrator/host/pictures/labels.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "calibrator/host/system/text_lines.h"

namespace intaglio {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxLabelBytes = uint64_t{64} << 20;
constexpr const char* kGap = " \t,";  // between a name and its class

bool parse_class(const std::string& text, int32_t* label) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *label);
  return error == std::errc() && stop == end && *label >= 0;
}

// -1: none of them.
int32_t class_named(const std::string& text, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  return found == names.end() ? -1 : static_cast<int32_t>(found - names.begin());
}

// Of "name class" or "name,class". A name may hold spaces, and so may a class's name: the longest that is one counts.
struct NamedClass {
  std::string name, text;  // of the sample, of the class
};
NamedClass split_line(const std::string& line, const std::vector<std::string>& names) {
  size_t gap = line.find_last_of(kGap);
  for (size_t at = line.find_first_of(kGap); !names.empty() && at != std::string::npos;
       at = line.find_first_of(kGap, at + 1)) {
    const size_t start = line.find_first_not_of(kGap, at);
    if (start == std::string::npos || class_named(line.substr(start), names) < 0) continue;
    gap = start - 1;
    break;
  }
  return {line.substr(0, line.find_last_not_of(kGap, gap) + 1), line.substr(gap + 1)};
}

}  // namespace

Outcome<Labels> Labels::read_folders(const std::string& path, const std::vector<std::string>& names) {
  Labels labels;
  labels.path_ = path;
  labels.of_folders_ = true;
  std::error_code error;
  fs::directory_iterator entries(path, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code type_error;
    if (entries->is_directory(type_error)) labels.classes_.emplace(entries->path().filename().string(), 0);
  }
  if (error) return Failure{path + ": cannot be listed: " + error.message()};
  if (labels.classes_.empty()) return Failure{path + ": holds no folders, which would be the classes"};
  for (auto& [name, label] : labels.classes_) {
    label = names.empty() ? labels.largest_ + 1 : class_named(name, names);
    if (label < 0)
      return Failure{
          path + ": its folder '" + name + "' is none of the " + std::to_string(names.size()) +
          " names of classes; rename it, or leave the names out, and the folders are counted from 0"};
    labels.largest_ = std::max(labels.largest_, label);
  }
  return labels;
}

Outcome<Labels> Labels::read(const std::string& path, const std::vector<std::string>& names) {
  std::error_code type_error;
  if (fs::is_directory(path, type_error)) return read_folders(path, names);
  auto lines = read_lines(path, kMaxLabelBytes);
  if (!lines) return lines.failure();
  if (lines->empty()) return Failure{path + ": holds no labels"};
  Labels labels;
  labels.path_ = path;
  const bool named = lines->front().text.find_first_of(kGap) != std::string::npos &&
                     class_named(lines->front().text, names) < 0;
  for (const TextLine& line : *lines) {
    const bool has_name =
        line.text.find_last_of(kGap) != std::string::npos && class_named(line.text, names) < 0;
    if (has_name != named) {
      return Failure{line_name(path, line) + ": " +
                     (named ? "has no class after the name" : "has more than a class") +
                     ", unlike the lines before"};
    }
    std::string name = std::to_string(labels.classes_.size());
    std::string text = line.text;
    if (named) {
      const NamedClass parts = split_line(line.text, names);
      name = parts.name;
      text = parts.text;
    }
    int32_t label = class_named(text, names);
    if (label < 0 && !parse_class(text, &label)) {
      return Failure{line_name(path, line) + ": '" + text + "' is no class (a number from 0" +
                     (names.empty() ? "" : ", or one of the names") +
                     "); write 'picture.png 3' or 'picture.png,3'"};
    }
    if (!labels.classes_.emplace(name, label).second) {
      return Failure{line_name(path, line) + ": " + name + " is listed twice"};
    }
    labels.largest_ = std::max(labels.largest_, label);
  }
  return labels;
}

Outcome<int32_t> Labels::of(const std::string& name) const {
  const auto found = classes_.find(of_folders_ ? name.substr(0, name.find('/')) : name);
  if (found == classes_.end() || (of_folders_ && name.find('/') == std::string::npos))
    return Failure{path_ + (of_folders_ ? ": has no folder for " : ": has no line for ") + name};
  return found->second;
}

}  // namespace intaglio

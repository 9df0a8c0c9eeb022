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

}  // namespace

Outcome<Labels> Labels::read_folders(const std::string& path) {
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
  for (auto& [name, label] : labels.classes_) label = ++labels.largest_;
  return labels;
}

Outcome<Labels> Labels::read(const std::string& path) {
  std::error_code type_error;
  if (fs::is_directory(path, type_error)) return read_folders(path);
  auto lines = read_lines(path, kMaxLabelBytes);
  if (!lines) return lines.failure();
  if (lines->empty()) return Failure{path + ": holds no labels"};
  Labels labels;
  labels.path_ = path;
  const bool named = lines->front().text.find_first_of(kGap) != std::string::npos;
  for (const TextLine& line : *lines) {
    // A name may hold spaces; the class is what comes last.
    const size_t gap = line.text.find_last_of(kGap);
    if ((gap != std::string::npos) != named) {
      return Failure{line_name(path, line) + ": " +
                     (named ? "has no class after the name" : "has more than a class") +
                     ", unlike the lines before"};
    }
    std::string name = std::to_string(labels.classes_.size());
    std::string text = line.text;
    if (named) {
      name = line.text.substr(0, line.text.find_last_not_of(kGap, gap) + 1);
      text = line.text.substr(gap + 1);
    }
    int32_t label = 0;
    if (!parse_class(text, &label)) {
      return Failure{line_name(path, line) + ": '" + text + "' is no class (a number from 0)"};
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

#include "calibrator/host/pictures/labels.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <unordered_map>

#include "calibrator/host/system/text_lines.h"

namespace intaglio {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxLabelBytes = uint64_t{64} << 20;
constexpr const char kGap[] = " \t,";  // between a name and its class
constexpr size_t kFoldersInNote = 10;

bool parse_class(const std::string& text, int32_t* label) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *label);
  return error == std::errc() && stop == end && *label >= 0;
}

bool is_gap(char c) { return c != 0 && std::strchr(kGap, c) != nullptr; }

// The names of classes, and how lists and folders name them.
class ClassTable {
 public:
  // `classes`: 0 where their number is not known.
  ClassTable(const std::vector<std::string>& names, size_t classes)
      : count_(names.empty() ? classes : names.size()), named_(!names.empty()) {
    for (size_t i = 0; i < names.size(); ++i) {
      const auto label = static_cast<int32_t>(i);
      const auto [place, is_new] = classes_.emplace(names[i], Named{label, label});
      if (!is_new) place->second.last = label;
      if (is_new) backwards_.emplace_back(names[i].rbegin(), names[i].rend());
    }
    std::sort(backwards_.begin(), backwards_.end());
  }

  bool has_names() const { return named_; }
  size_t count() const { return count_; }
  bool is_name(const std::string& text) const { return classes_.count(text) != 0; }

  // The number of the class with this name; -1: none.
  Outcome<int32_t> named(const std::string& text) const {
    const auto found = classes_.find(text);
    if (found == classes_.end()) return -1;
    const Named classes = found->second;
    if (classes.first != classes.last)
      return Failure{"'" + text + "' is the name of class " + std::to_string(classes.first) +
                     " and of class " + std::to_string(classes.last) + "; give each class a name of its own"};
    return classes.first;
  }
  // By its name or its number; -1: neither.
  Outcome<int32_t> named_or_numbered(const std::string& text) const {
    const auto found = named(text);
    int32_t number = -1;
    if (!found || !parse_class(text, &number)) return found;
    const bool is_class = count_ == 0 || static_cast<size_t>(number) < count_;
    if (*found >= 0 && *found != number && is_class)
      return Failure{"'" + text + "' is the name of class " + std::to_string(*found) +
                     ", and the number of another one; leave the names out, or name the classes otherwise"};
    return *found >= 0 ? *found : number;
  }

  // Where the longest end of a line begins that is a name and stands behind a gap; npos: none. From its last character
  // on, so that each is seen once, whatever the line and the names hold.
  size_t name_at_end_of(const std::string& line) const {
    size_t start = std::string::npos;
    auto low = backwards_.begin(), high = backwards_.end();
    for (size_t k = 0; k < line.size() && low != high;
         ++k) {  // these begin with the line's last k characters
      const size_t at = line.size() - 1 - k;
      if (low->size() == k && k > 0 && is_gap(line[at]) && !is_gap(line[at + 1])) start = at + 1;
      const char c = line[at];
      low = std::lower_bound(low, high, c, [k](const std::string& name, char wanted) {
        return name.size() <= k || to_byte(name[k]) < to_byte(wanted);
      });
      high = std::upper_bound(low, high, c, [k](char wanted, const std::string& name) {
        return to_byte(wanted) < to_byte(name[k]);
      });
    }
    return start;
  }

 private:
  struct Named {
    int32_t first, last;  // unequal: several classes have the name
  };
  // As std::string's order has it.
  static unsigned char to_byte(char c) { return static_cast<unsigned char>(c); }

  size_t count_;
  bool named_;
  std::unordered_map<std::string, Named> classes_;
  std::vector<std::string> backwards_;  // the names, each from its last character on, in order
};

// Splits "name class" or "name,class". A name may hold spaces, and so may a class's name: the longest that is one counts.
struct NamedClass {
  std::string name, text;  // of the sample, of the class
};
NamedClass split_line(const std::string& line, const ClassTable& classes) {
  const size_t start = classes.name_at_end_of(line);
  const size_t gap = start == std::string::npos ? line.find_last_of(kGap) : start - 1;
  return {line.substr(0, line.find_last_not_of(kGap, gap) + 1), line.substr(gap + 1)};
}

// Tables that are saved as CSV begin with what their columns are called. These words alone: a mistyped class stays a fault.
bool is_heading(const std::string& line, const ClassTable& classes) {
  std::string column = split_line(line, classes).text;
  if (classes.is_name(column)) return false;
  std::transform(column.begin(), column.end(), column.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const char* const columns[] = {"class", "class_id", "class_name", "label", "labels", "category", "target"};
  return std::find(std::begin(columns), std::end(columns), column) != std::end(columns);
}

// "cat 0, dog 1, ...", or the names alone.
std::string listed(const std::map<std::string, int32_t>& folders, bool classes) {
  std::string text;
  size_t count = 0;
  for (const auto& [name, label] : folders) {
    if (count == kFoldersInNote) return text + ", ...";
    text += (count++ == 0 ? "" : ", ") + name + (classes ? " " + std::to_string(label) : "");
  }
  return text;
}

}  // namespace

Outcome<Labels> Labels::read_folders(const std::string& path, const std::vector<std::string>& names,
                                     size_t classes) {
  Labels labels;
  labels.path_ = path;
  labels.of_folders_ = true;
  std::error_code error;
  fs::directory_iterator entries(path, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code type_error;
    const std::string name = entries->path().filename().string();
    if (name[0] != '.' && entries->is_directory(type_error)) labels.classes_.emplace(name, 0);
  }
  if (error) return Failure{path + ": cannot be listed: " + error.message()};
  const size_t folders = labels.classes_.size();
  if (folders == 0) return Failure{path + ": holds no folders, which would be the classes"};
  const ClassTable table(names, classes);
  labels.count_ = table.count();
  if (!table.has_names() && table.count() != 0 && folders != table.count())
    return Failure{
        path + ": holds " + std::to_string(folders) + " folders (" + listed(labels.classes_, false) +
        "), and the model has " + std::to_string(table.count()) +
        " classes; a folder that is missing may be empty, or say with --names which class each is"};
  for (auto& [name, label] : labels.classes_) {
    const Outcome<int32_t> found = table.has_names() ? table.named(name) : labels.largest_ + 1;
    if (!found) return Failure{path + ": its folder " + found.message()};
    if (*found < 0)
      return Failure{
          path + ": its folder '" + name + "' is none of the " + std::to_string(names.size()) +
          " names of classes; rename it, or leave the names out, and the folders are counted from 0"};
    label = *found;
    labels.largest_ = std::max(labels.largest_, label);
  }
  if (!table.has_names())
    labels.note_ = path + ": its folders are the classes: " + listed(labels.classes_, true);
  return labels;
}

Outcome<Labels> Labels::read(const std::string& path, const std::vector<std::string>& names, size_t classes) {
  std::error_code type_error;
  if (fs::is_directory(path, type_error)) return read_folders(path, names, classes);
  auto lines = read_lines(path, kMaxLabelBytes);
  if (!lines) return lines.failure();
  if (lines->empty()) return Failure{path + ": holds no labels"};
  Labels labels;
  labels.path_ = path;
  const ClassTable table(names, classes);
  labels.count_ = table.count();
  if (lines->size() > 1 && is_heading(lines->front().text, table)) lines->erase(lines->begin());
  const auto names_sample = [&table](const TextLine& line) {
    return line.text.find_first_of(kGap) != std::string::npos && !table.is_name(line.text);
  };
  const bool named = names_sample(lines->front());
  labels.in_order_ = !named;
  for (const TextLine& line : *lines) {
    if (names_sample(line) != named) {
      return Failure{line_name(path, line) + ": " +
                     (named ? "has no class after the name" : "has more than a class") +
                     ", unlike the lines before"};
    }
    std::string name = std::to_string(labels.classes_.size());
    std::string text = line.text;
    if (named) {
      const NamedClass parts = split_line(line.text, table);
      name = parts.name;
      text = parts.text;
    }
    const Outcome<int32_t> label = table.named_or_numbered(text);
    if (!label) return Failure{line_name(path, line) + ": " + label.message()};
    if (*label < 0) {
      return Failure{line_name(path, line) + ": '" + text + "' is no class (a number from 0" +
                     (names.empty() ? "" : ", or one of the names") +
                     "); write 'picture.png 3' or 'picture.png,3'" +
                     (names.empty() ? ", or say with --names what the classes are called" : "")};
    }
    if (!labels.classes_.emplace(name, *label).second) {
      return Failure{line_name(path, line) + ": " + name + " is listed twice"};
    }
    labels.largest_ = std::max(labels.largest_, *label);
  }
  return labels;
}

Failure Labels::no_class_for(const std::string& name) const {
  if (of_folders_)
    return {path_ + ": has no folder for " + name +
            "; a picture's folder is its class: give the same folder as the pictures"};
  const std::string what = path_ + ": has no line for " + name + "; ";
  if (!in_order_)
    return {what + "add '" + name + " CLASS', or take only pictures that have one, with --only"};
  const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
  return {what +
          (is_number
               ? "it has " + std::to_string(classes_.size()) + " lines, and each sample needs one"
               : "its lines are classes alone, for the samples of an array: write '" + name + " CLASS'")};
}

Outcome<int32_t> Labels::of(const std::string& name) const {
  const auto found = classes_.find(of_folders_ ? name.substr(0, name.find('/')) : name);
  if (found == classes_.end() || (of_folders_ && name.find('/') == std::string::npos))
    return no_class_for(name);
  if (count_ != 0 && static_cast<size_t>(found->second) >= count_)
    return Failure{path_ + ": class " + std::to_string(found->second) + " of " + name +
                   ": the model has only " + std::to_string(count_) + " classes, counted from 0"};
  return found->second;
}

}  // namespace intaglio

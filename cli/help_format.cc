#include "cli/help_format.h"

namespace intaglio::cli {
namespace {

constexpr size_t kNameColumn = 30, kTextColumns = 80;

// Breaks lines at spaces; the formatter indents each.
std::string wrapped(const std::string& text) {
  std::string result;
  size_t line = 0;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, end - start);
    if (line > 0 && line + 1 + word.size() > kTextColumns) {
      result += '\n';
      line = 0;
    } else if (line > 0) {
      result += ' ';
      ++line;
    }
    result += word;
    line += word.size();
    start = end + 1;
  }
  return result;
}

}  // namespace

HelpFormat::HelpFormat() { column_width(kNameColumn); }

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";
  // What CLI11 adds about checks stands in the descriptions.
  const std::string type = option->get_type_name();
  return " " + type.substr(0, type.find(':'));
}

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  std::string text = option->get_description();
  if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll && !option->get_positional())
    text += ". May be repeated";
  if (option->get_required()) text += " (required)";
  if (!option->get_default_str().empty()) text += " (default " + option->get_default_str() + ")";
  return wrapped(text);
}

// One empty line between headings, where CLI11 has two.
std::string HelpFormat::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
  for (size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

}  // namespace intaglio::cli

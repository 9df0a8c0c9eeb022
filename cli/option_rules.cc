#include "cli/option_rules.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "calibrator/host/system/text_lines.h"
#include "cli/output.h"

namespace intaglio::cli {
namespace {

bool holds(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Commands need not have every option of a row.
const CLI::Option* find(const CLI::App& command, const OptionUse& use) {
  return use.option == nullptr ? nullptr : command.get_option_no_throw(use.option);
}

// The words of its value, given or default.
std::vector<std::string> rule_words(const CLI::Option& option) {
  if (option.count() == 0) return split(option.get_default_str(), ',');
  std::vector<std::string> words;
  for (const std::string& value : option.results())
    for (const std::string& word : split(value, ',')) words.push_back(word);
  return words;
}

bool is_used(const CLI::App& command, const OptionUse& use) {
  const CLI::Option* const option = find(command, use);
  if (option == nullptr) return false;
  if (use.values == nullptr) return option->count() > 0;
  const bool others = use.values[0] == '!';
  const auto values = split(use.values + (others ? 1 : 0), '|');
  const auto words = rule_words(*option);
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return holds(values, word) != others; });
}

// "--recover eq", where that is what was given; "--method auto", where any other was.
std::string named(const CLI::App& command, const OptionUse& use, bool as_given) {
  std::string text = use.option;
  if (use.values == nullptr) return text;
  if (!as_given) return text + " " + use.values;
  const CLI::Option* const option = find(command, use);
  if (option->count() == 0) return text + " " + option->get_default_str();
  for (const std::string& value : option->results()) text += " " + value;
  return text;
}

Outcome<Done> check(const CLI::App& command, const OptionRule& rule) {
  const bool is_one_of = rule.kind == OptionRuleKind::kOneOf;
  if (!is_one_of && !is_used(command, rule.use)) return Done{};
  const std::string use = is_one_of ? "" : named(command, rule.use, true);
  std::string others;
  for (const OptionUse& other : rule.others) {
    if (find(command, other) == nullptr) continue;
    if (!is_used(command, other)) {
      others += (others.empty() ? "" : " or ") + named(command, other, false);
      continue;
    }
    if (rule.kind == OptionRuleKind::kNeeds || is_one_of) return Done{};
    const std::string both = use + " with " + named(command, other, true);
    if (rule.kind == OptionRuleKind::kExcludes)
      return Failure{both + " would have no effect: " + rule.why + "; leave out one of them"};
    print_note(both + ": " + rule.why);
    return Done{};
  }
  if (is_one_of) return Failure{std::string(rule.why) + "; give " + others};
  if (rule.kind != OptionRuleKind::kNeeds) return Done{};
  return Failure{use + " has no effect without " + others + ": " + rule.why};
}

// "-" is stdout to other programs. No file is written there, since each is read back before it takes its place.
Outcome<Done> check_written_names(const CLI::App& command) {
  for (const char* const name : {"--output", "--report", "--state"}) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option != nullptr && holds(option->results(), "-"))
      return Failure{std::string(name) +
                     " -: nothing is written to stdout but results; name a file (./- for one of this name)"};
  }
  for (const CLI::App* const subcommand : command.get_subcommands())
    if (auto step = check_written_names(*subcommand); !step) return step;
  return Done{};
}

}  // namespace

Outcome<Done> check_options(const CLI::App& command) {
  if (auto step = check_written_names(command); !step) return step;
  for (const OptionRule& rule : kOptionRules) {
    if (!holds(split(rule.commands, '|'), command.get_name())) continue;
    if (auto step = check(command, rule); !step) return step.failure();
  }
  return Done{};
}

}  // namespace intaglio::cli

#include "tools/option_rules.h"

#include <algorithm>

#include "calibrator/host/system/text_lines.h"
#include "calibrator/host/system/wording.h"

namespace intaglio::tools {
namespace {

bool holds(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool knows(const GivenOptions& given, const OptionUse& use) {
  return use.option != nullptr && given.knows(use.option);
}

bool is_used(const GivenOptions& given, const OptionUse& use) {
  if (!knows(given, use)) return false;
  if (use.values == nullptr) return given.gives(use.option);
  const bool others = use.values[0] == '!';
  const auto values = split(use.values + (others ? 1 : 0), '|');
  std::vector<std::string> words;
  for (const std::string& value : given.values(use.option))
    for (const std::string& word : split(value, ',')) words.push_back(word);
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return holds(values, word) != others; });
}

// Arguments have no dashes.
std::string name_of(const std::string& option) {
  return option.rfind("--", 0) == 0 ? option_word(option.c_str() + 2) : option;
}

// "--recover eq", where that is what was given; "--method auto", where any other was.
std::string named(const GivenOptions& given, const OptionUse& use, bool as_given) {
  if (use.values == nullptr) return name_of(use.option);
  std::string text = use.values;
  if (as_given) {
    text.clear();
    for (const std::string& value : given.values(use.option)) text += (text.empty() ? "" : " ") + value;
  }
  return option_word(use.option + 2, text);
}

Outcome<Done> check(const GivenOptions& given, const OptionRule& rule, const Work& work) {
  const bool is_one_of = rule.kind == OptionRuleKind::kOneOf;
  if (!is_one_of && !is_used(given, rule.use)) return Done{};
  const std::string use = is_one_of ? "" : named(given, rule.use, true);
  std::string others;
  for (const OptionUse& other : rule.others) {
    if (!knows(given, other)) continue;
    if (!is_used(given, other)) {
      others += (others.empty() ? "" : " or ") + named(given, other, false);
      continue;
    }
    if (rule.kind == OptionRuleKind::kNeeds || is_one_of) return Done{};
    const std::string both = use + " with " + named(given, other, true);
    if (rule.kind == OptionRuleKind::kExcludes)
      return Failure{both + " would have no effect: " + rule.why + "; leave out one of them"};
    work.note(both + ": " + rule.why);
    return Done{};
  }
  if (is_one_of) return Failure{std::string(rule.why) + "; give " + others};
  if (rule.kind != OptionRuleKind::kNeeds) return Done{};
  return Failure{use + " has no effect without " + others + ": " + rule.why};
}

}  // namespace

Outcome<Done> check_rules(const std::string& command, const GivenOptions& given, const Work& work) {
  for (const OptionRule& rule : kOptionRules) {
    if (!holds(split(rule.commands, '|'), command)) continue;
    if (auto step = check(given, rule, work); !step) return step;
  }
  return Done{};
}

}  // namespace intaglio::tools

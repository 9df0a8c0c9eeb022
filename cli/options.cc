#include "cli/command.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "calibrator/host/system/real_text.h"
#include "cli/command_line.h"

namespace intaglio::cli {
namespace {

std::vector<std::string> given_words(const CLI::App& app, const std::string& heading) {
  std::vector<std::string> words;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || (!heading.empty() && option->get_group() != heading)) continue;
    if (option->nonpositional()) words.push_back(option->get_name());
    if (option->get_expected_max() > 0)
      words.insert(words.end(), option->results().begin(), option->results().end());
  }
  return words;
}

std::optional<int64_t> read_integer(const std::string& text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

Failure no_number(const std::string& text) { return Failure{"'" + text + "' is no number"}; }

Failure out_of_range(const std::string& text, const std::string& low, const std::string& high) {
  return Failure{"Value " + text + " not in range " + low + " to " + high};
}

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::range(int32_t low, int32_t high) { return range(int64_t{low}, int64_t{high}); }

Option& Option::range(int64_t low, int64_t high) {
  return checked([low, high](const std::string& text) -> Outcome<Done> {
    const std::optional<int64_t> value = read_integer(text);
    if (!value) return no_number(text);
    if (*value >= low && *value <= high) return Done{};
    return out_of_range(text, std::to_string(low), std::to_string(high));
  });
}

// CLI11's range follows the locale, and lets NaN through.
Option& Option::range(double low, double high) {
  return checked([low, high](const std::string& text) -> Outcome<Done> {
    const std::optional<double> value = read_real(text);
    if (!value || std::isnan(*value)) return no_number(text);
    if (*value >= low && *value <= high) return Done{};
    return out_of_range(text, shortest_text(low), shortest_text(high));
  });
}

Option& Option::one_of(const std::vector<std::string>& words) {
  return checked([words](const std::string& text) -> Outcome<Done> {
    std::string known;
    for (const std::string& word : words) {
      if (word == text) return Done{};
      known += (known.empty() ? "" : ", ") + word;
    }
    return Failure{"'" + text + "' is none of " + known};
  });
}

Option& Option::checked(std::function<Outcome<Done>(const std::string&)> check) {
  option_->check([check = std::move(check), option = option_](const std::string& value) -> std::string {
    const Outcome<Done> checked = check(value);
    if (checked) return {};
    const std::string name = option->get_name();
    const bool is_named = checked.message().rfind(name, 0) == 0;
    // No ValidationError: CLI11 puts the name before those once more.
    throw CLI::ParseError(is_named ? checked.message() : name + ": " + checked.message(),
                          CLI::ExitCodes::ValidationError);
  });
  return *this;
}

Option& Option::repeated() {
  option_->expected(1)->take_all()->allow_extra_args(false);
  return *this;
}

Option& Option::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

CLI::App* add_subcommand(CLI::App& parent, const std::string& name, const std::string& what,
                         const std::string& footer) {
  CLI::App* const app = parent.add_subcommand(name, what);
  app->footer(footer);
  return app;
}

void require_subcommand(CLI::App& app) { app.require_subcommand(1); }

bool was_given(const CLI::App& subcommand) { return subcommand.parsed(); }

Option add_option(CLI::App& app, const std::string& names, std::string& value, const std::string& what) {
  return Option(app.add_option(names, value, what));
}

namespace {

// Not CLI11's own reading of numbers: that of reals follows the locale.
template <typename Value, typename Read>
Option add_number(CLI::App& app, const std::string& names, Value& value, const std::string& what,
                  const char* type, Read read) {
  CLI::Option* const option = app.add_option(
      names,
      [&value, read](const CLI::results_t& words) {
        const auto found = read(words.front());
        if (found) value = static_cast<Value>(*found);
        return found.has_value();
      },
      what);
  option->type_name(type);
  Option made(option);
  made.checked([read](const std::string& text) -> Outcome<Done> {
    if (!read(text)) return no_number(text);
    return Done{};
  });
  return made;
}

template <typename Integer>
Option add_integer(CLI::App& app, const std::string& names, Integer& value, const std::string& what) {
  const auto read = [](const std::string& text) -> std::optional<int64_t> {
    const std::optional<int64_t> found = read_integer(text);
    const bool fits = found && *found >= std::numeric_limits<Integer>::min() &&
                      *found <= std::numeric_limits<Integer>::max();
    return fits ? found : std::nullopt;
  };
  const Option option = add_number(app, names, value, what, "INT", read);
  app.get_option(names)->default_function([&value] { return std::to_string(value); });
  return option;
}

}  // namespace

Option add_option(CLI::App& app, const std::string& names, int32_t& value, const std::string& what) {
  return add_integer(app, names, value, what);
}

Option add_option(CLI::App& app, const std::string& names, int64_t& value, const std::string& what) {
  return add_integer(app, names, value, what);
}

Option add_option(CLI::App& app, const std::string& names, double& value, const std::string& what) {
  const Option option = add_number(app, names, value, what, "FLOAT", read_real);
  app.get_option(names)->default_function([&value] { return shortest_text(value); });
  return option;
}

Option add_option(CLI::App& app, const std::string& names, std::optional<double>& value,
                  const std::string& what) {
  return add_number(app, names, value, what, "FLOAT", read_real);
}

Option add_option(CLI::App& app, const std::string& names, std::vector<std::string>& value,
                  const std::string& what) {
  return Option(app.add_option(names, value, what));
}

Option add_flag(CLI::App& app, const std::string& names, bool& value, const std::string& what) {
  return Option(app.add_flag(names, value, what));
}

void keep_given_words(CLI::App& app, GivenWords& words, const std::string& heading) {
  // In captured output they are the host's, and mean nothing outside of it.
  if (CapturedOutput::of_this_thread() != nullptr) return;
  app.parse_complete_callback([&app, &words, heading] {
    words = {given_words(app, ""), given_words(app, heading)};
  });
}

}  // namespace intaglio::cli

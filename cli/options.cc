#include "cli/options.h"

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdlib>
#include <utility>

#include "calibrator/host/system/real_text.h"
#include "cli/captured_output.h"

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
  option_->check(CLI::Range(low, high));
  return *this;
}

// CLI11's range follows the locale, and lets NaN through.
Option& Option::range(double low, double high) {
  return checked([low, high](const std::string& text) -> Outcome<Done> {
    const std::optional<double> value = read_real(text);
    if (!value || std::isnan(*value)) return Failure{"'" + text + "' is no number"};
    if (*value >= low && *value <= high) return Done{};
    return Failure{"Value " + text + " not in range " + shortest_text(low) + " to " + shortest_text(high)};
  });
}

Option& Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option& Option::checked(std::function<Outcome<Done>(const std::string&)> check) {
  option_->check([check = std::move(check), option = option_](const std::string& value) -> std::string {
    const Outcome<Done> checked = check(value);
    if (checked) return {};
    const std::string name = option->get_name();
    const bool is_named = checked.message().rfind(name, 0) == 0;
    throw CLI::ValidationError(is_named ? checked.message() : name + ": " + checked.message());
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

Option add_option(CLI::App& app, const std::string& names, int32_t& value, const std::string& what) {
  return Option(app.add_option(names, value, what));
}

Option add_option(CLI::App& app, const std::string& names, int64_t& value, const std::string& what) {
  return Option(app.add_option(names, value, what));
}

namespace {

// Not CLI11's own reading of reals, which follows the locale.
template <typename Value>
Option add_real(CLI::App& app, const std::string& names, Value& value, const std::string& what) {
  CLI::Option* const option = app.add_option(
      names,
      [&value](const CLI::results_t& words) {
        const std::optional<double> read = read_real(words.front());
        if (read) value = *read;
        return read.has_value();
      },
      what);
  option->type_name("FLOAT");
  return Option(option);
}

}  // namespace

Option add_option(CLI::App& app, const std::string& names, double& value, const std::string& what) {
  const Option option = add_real(app, names, value, what);
  app.get_option(names)->default_function([&value] { return shortest_text(value); });
  return option;
}

Option add_option(CLI::App& app, const std::string& names, std::optional<double>& value,
                  const std::string& what) {
  return add_real(app, names, value, what);
}

Option add_option(CLI::App& app, const std::string& names, std::vector<std::string>& value,
                  const std::string& what) {
  return Option(app.add_option(names, value, what));
}

Option add_flag(CLI::App& app, const std::string& names, bool& value, const std::string& what) {
  return Option(app.add_flag(names, value, what));
}

void keep_given_words(CLI::App& app, GivenWords& words, const std::string& heading) {
  // Of captured output they are the host's, and mean nothing outside of it.
  if (CapturedOutput::of_this_thread() != nullptr) return;
  app.parse_complete_callback([&app, &words, heading] {
    words = {given_words(app, ""), given_words(app, heading)};
  });
}

}  // namespace intaglio::cli

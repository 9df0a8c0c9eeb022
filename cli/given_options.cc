#include "cli/given_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/output.h"
#include "tools/option_rules.h"

namespace intaglio::cli {
namespace {

class ParsedOptions : public GivenOptions {
 public:
  explicit ParsedOptions(const CLI::App& command) : command_(command) {}

  bool knows(const std::string& name) const override { return find(name) != nullptr; }
  bool gives(const std::string& name) const override { return find(name)->count() > 0; }
  std::vector<std::string> values(const std::string& name) const override {
    const CLI::Option& option = *find(name);
    return option.count() > 0 ? option.results() : std::vector<std::string>{option.get_default_str()};
  }

 private:
  const CLI::Option* find(const std::string& name) const { return command_.get_option_no_throw(name); }

  const CLI::App& command_;
};

// "-" is stdout to other programs. No file is written there, since each is read back before it takes its place.
Outcome<Done> check_written_names(const CLI::App& command) {
  for (const char* const name : {"--output", "--report"}) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option == nullptr) continue;
    const std::vector<std::string> results = option->results();
    if (std::find(results.begin(), results.end(), "-") != results.end())
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
  return check_rules(command.get_name(), ParsedOptions(command), Work(listener()));
}

}  // namespace intaglio::cli

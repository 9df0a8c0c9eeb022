// From words to the subcommand that they name, and to what it says.
#include "cli/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <sstream>

#include "calibrator/host/system/files.h"
#include "cli/command.h"
#include "cli/output.h"
#include "importers/params/params_layers.h"
#include "intaglio/model.h"
#include "intaglio/version.h"
#include "tools/option_rules.h"

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

// The help: narrow enough for a terminal, each option with its unit and its default.
class HelpFormat : public CLI::Formatter {
 public:
  HelpFormat();
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

HelpFormat::HelpFormat() { column_width(kNameColumn); }

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";
  // CLI11's texts about checks stand in the descriptions.
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

// The options of a subcommand that was parsed, against the table of what goes with what. Notes are printed; a failure says which
// options, and why. So does a file to write that is called "-".
Outcome<Done> check_options(const CLI::App& command) {
  if (auto step = check_written_names(command); !step) return step;
  return check_rules(command.get_name(), ParsedOptions(command), Work(listener()));
}

constexpr const char* kDescription =
    "intaglio makes int8 model files from FP32 networks, calibrated on a few pictures, and runs them.\n"
    "Results are the same everywhere, to the bit.";

constexpr const char* kFooter =
    "From a network to a checked int8 model, in order:\n"
    "  intaglio import    meter.onnx -o meter.itg --pixels -1..1\n"
    "  intaglio calibrate meter.itg --images calibration/ -o meter.int8.itg\n"
    "  intaglio eval      meter.int8.itg --images test/ --labels test_labels.txt\n"
    "  intaglio compare   meter.itg meter.int8.itg --images test/ --labels test_labels.txt\n\n"
    "'intaglio help SUBCOMMAND' explains a subcommand, and so does 'intaglio SUBCOMMAND --help'.\n"
    "Results are on stdout, with --json as one JSON object. Everything else is on stderr.\n"
    "Exit code: 0 done; 1 a fault of files or data, or a check that does not hold; 2 a wrong command line;\n"
    "130 Ctrl-C.\n"
    "A file is written whole, or stays as it was.";

// The command that was understood, as far as that goes.
const CLI::App& understood(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

std::string known_subcommands(const CLI::App& app) {
  std::string names;
  for (const CLI::App* const known : understood(app).get_subcommands({})) names += " " + known->get_name();
  return names;
}

// The message for a command that has subcommands, where a word is none of them; else empty.
std::string unknown_subcommand(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::App* const subcommand : understood(app).get_subcommands({}))
    known.push_back(subcommand->get_name());
  const std::vector<std::string> words = app.remaining(true);
  if (known.empty() || words.empty() || words[0].empty() || words[0][0] == '-') return "";
  if (&understood(app) == &app) known.emplace_back("help");  // with_help_last()
  return "'" + safe(words[0]) + "' is no subcommand; the nearest is " +
         nearest_names(words[0], known, 1).front() + "; there are" + known_subcommands(app);
}

// Unknown options come before missing ones: it is often the same option, mistyped.
std::string unknown_option(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::Option* const option : understood(app).get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (const std::string& argument : app.remaining(true)) {
    const std::string name = argument.substr(0, argument.find('='));
    if (name.rfind("--", 0) != 0 || name == "--" || known.empty()) continue;
    const auto begun = std::find_if(known.begin(), known.end(),
                                    [&](const std::string& other) { return other.rfind(name, 0) == 0; });
    const std::string nearest = begun != known.end() ? *begun : nearest_names(name, known, 1).front();
    return "there is no option " + safe(name) + "; the nearest is " + nearest;
  }
  return "";
}

// An argument too many is often a sample.
std::string unexpected_argument(const CLI::App& app) {
  std::string text = "'" + app.remaining(true).front() + "' is an argument too many";
  for (const char* const option : {"--images", "--input"})
    if (understood(app).get_option_no_throw(option) != nullptr)
      return text + "; samples are given with " + option + ", and a value stands behind its option";
  return text;
}

// Names what is missing, with the help's word for it and what it is. Arguments have no name on the command line.
std::string missing_argument(const CLI::App& app) {
  for (const CLI::Option* const option : understood(app).get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    const std::string name = option->nonpositional() ? option->get_name() + " " : "";
    return name + option->get_type_name() + " is missing: " + option->get_description();
  }
  return "";
}

std::string given_too_often(const CLI::App& app) {
  for (const CLI::Option* const option : understood(app).get_options())
    if (option->count() > static_cast<size_t>(option->get_items_expected_max()))
      return option->get_name() + " is given " + std::to_string(option->count()) + " times; give it once";
  return "";
}

std::string flag_with_value(const CLI::App& app) {
  for (const CLI::Option* const option : understood(app).get_options())
    if (option->get_expected_max() == 0 && option->count() > 0 && option->results().front() != "true")
      return option->get_name() + " takes no value, and is given '" + option->results().front() + "'";
  return "";
}

// In our words; empty where CLI11's have to do.
std::string problem_of(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return unexpected_argument(app);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return missing_argument(app);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return given_too_often(app);
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) return flag_with_value(app);
  return "";
}

CommandOutcome wrong_use(const CLI::App& app, std::string problem) {
  std::string name = "intaglio";
  for (const CLI::App* command = &app; !command->get_subcommands().empty();) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  if (const std::string unknown = unknown_option(app); !unknown.empty()) problem = unknown;
  // CLI11 says only that a subcommand is missing.
  if (app.remaining(true).empty() && !known_subcommands(app).empty())
    problem = "no subcommand is given; there are" + known_subcommands(app);
  if (const std::string unknown = unknown_subcommand(app); !unknown.empty()) problem = unknown;
  return {CommandEnd::kWrongUse, {problem + "\nRun '" + name + " --help' for what there is."}};
}

CommandOutcome finish() {
  const Outcome<Done> written = finish_results();
  if (!written) return {CommandEnd::kFailed, written.failure()};
  return {};
}

std::string version_text() {
  std::string text = "intaglio " ITG_VERSION ", model format " + std::to_string(kFormatVersion) +
                     "\nbuilt with: " ITG_PARTS "\nleft out: " ITG_LEFT_OUT;
#ifdef ITG_STATIC_COMMAND
  text += "\nstatic build for any Linux on " ITG_STATIC_COMMAND;
#endif
  return text;
}

std::vector<Command> add_commands(CLI::App& app) {
  app.set_version_flag("--version", version_text(),
                       "show the versions of the command and of its model files, and what it was built with");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormat>());
  app.set_help_flag("-h,--help", "show this help");
  return {add_import_command(app),   add_calibrate_command(app),   add_observe_command(app),
          add_merge_command(app),    add_simulate_command(app),    add_run_command(app),
          add_eval_command(app),     add_compare_command(app),     add_inspect_command(app),
          add_export_c_command(app), add_export_onnx_command(app), add_export_tflite_command(app),
          add_pack_command(app),     add_plan_command(app),        add_params_command(app),
          add_verify_command(app),   add_bench_command(app)};
}

// "help params export" asks for what "params export --help" gives.
std::vector<const char*> with_help_last(int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  const bool asks = words.size() > 1 && std::string(words[1]) == "help";
  while (words.size() > 1 && std::string(words[1]) == "help") words.erase(words.begin() + 1);
  if (asks) words.push_back("--help");
  return words;
}

CommandOutcome run(int argc, const char* const* argv, const BeforeWork& before) {
  CLI::App app(kDescription, "intaglio");
  const std::vector<Command> commands = add_commands(app);
  const std::vector<const char*> words = with_help_last(argc, argv);
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& request) {  // --help, --version
    if (const std::string unknown = unknown_subcommand(app); !unknown.empty()) return wrong_use(app, unknown);
    std::ostringstream text;
    app.exit(request, text, text);
    print("%s", text.str().c_str());
    return finish();
  } catch (const CLI::ParseError& error) {
    const std::string problem = problem_of(app, error);
    return wrong_use(app, problem.empty() ? error.what() : problem);
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    if (const auto checked = check_options(*command.app); !checked) return wrong_use(app, checked.message());
    if (before) before(*command.app);
    const Outcome<Done> outcome = command.action();
    const bool asks = outcome.failure().error.status == Status::kAnswersMissing;
    if (!outcome && !asks) return {CommandEnd::kFailed, outcome.failure()};
    const CommandOutcome finished = finish();
    return asks && finished.end == CommandEnd::kDone ? CommandOutcome{CommandEnd::kAsks, outcome.failure()}
                                                     : finished;
  }
  return {CommandEnd::kWrongUse, {}};
}

// Ctrl-C and its like end the program wherever it stands. Only what is safe in a handler is called.
void end_by_signal(int signal) {
  remove_unfinished_file();
  constexpr char kText[] = "\nintaglio: interrupted; no file is left half-written\n";
  // On a terminal a line of progress may stand before it.
  const size_t skipped = ::isatty(STDERR_FILENO) == 1 ? 0 : 1;
  const ssize_t ignored = ::write(STDERR_FILENO, kText + skipped, sizeof kText - 1 - skipped);
  static_cast<void>(ignored);
  ::_exit(128 + signal);
}

void watch_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {
    }, action{};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN)
      continue;  // as under nohup
    action.sa_handler = end_by_signal;
    ::sigaction(signal, &action, nullptr);
  }
}

void let_threads_sleep(const CLI::App& subcommand, char** argv) {
#ifdef ITG_HAVE_OPENMP
  const CLI::Option* const threads = subcommand.get_option_no_throw("--threads");
  if (threads != nullptr && threads->count() > 0 && threads->as<int32_t>() > 1)
    restart_with_sleeping_threads(argv);
#else
  (void)subcommand;
  (void)argv;
#endif
}

}  // namespace

CommandOutcome run_command_line(int argc, const char* const* argv, const BeforeWork& before) {
  try {
    return run(argc, argv, before);
  } catch (const std::bad_alloc&) {
    return {CommandEnd::kFailed, {"out of memory: use fewer or smaller pictures, or a machine with more"}};
  } catch (const std::exception& error) {
    return {CommandEnd::kFailed, {std::string("internal error: ") + error.what() + "; please report it"}};
  }
}

void restart_with_sleeping_threads(char** argv) {
  for (const char* name : {"OMP_WAIT_POLICY", "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"})
    if (std::getenv(name) != nullptr) return;
  if (::setenv("OMP_WAIT_POLICY", "passive", 1) == 0 && ::setenv("GOMP_SPINCOUNT", "4000", 0) == 0)
    ::execv("/proc/self/exe", argv);
}

int run_program(int argc, char** argv) {
  guard_standard_files();
  const CommandOutcome outcome = run_command_line(argc, argv, [argv](const CLI::App& subcommand) {
    let_threads_sleep(subcommand, argv);
    watch_signals();
  });
  if (!outcome.failure.message.empty()) print_error(outcome.failure.message);
  return static_cast<int>(outcome.end);
}

}  // namespace intaglio::cli

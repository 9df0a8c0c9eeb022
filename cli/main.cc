// The intaglio command.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <vector>

#include "calibrator/host/system/files.h"
#include "cli/command.h"
#include "cli/help_format.h"
#include "cli/option_rules.h"
#include "cli/output.h"
#include "cli/sleeping_threads.h"
#include "intaglio/model.h"
#include "intaglio/version.h"

namespace intaglio::cli {
namespace {

constexpr int kFailed = 1, kWrongUse = 2;

constexpr const char* kDescription =
    "intaglio makes int8 model files from FP32 networks, calibrated on a few pictures, and runs them.\n"
    "Results are the same everywhere, to the bit.";

constexpr const char* kFooter =
    "From a network to a checked int8 model, in order:\n"
    "  intaglio import    meter.onnx -o meter.itg --pixels -1..1\n"
    "  intaglio calibrate meter.itg --images calibration/ -o meter.int8.itg\n"
    "  intaglio eval      meter.int8.itg --images test/ --labels test_labels.txt\n"
    "  intaglio compare   meter.itg meter.int8.itg --images test/ --labels test_labels.txt\n\n"
    "'intaglio SUBCOMMAND --help' explains a subcommand.\n"
    "Results are on stdout, with --json as one JSON object. Everything else is on stderr.\n"
    "Exit code: 0 if what was asked for holds, 1 if not, 2 if the call was not understood, 130 after Ctrl-C.\n"
    "A file is written whole, or stays as it was.";

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

// What CLI11 says, in plain words where it has none.
std::string plain(const std::string& problem) {
  const std::string most = ": At Most 1 required but received ", convert = "Could not convert: ";
  if (const size_t at = problem.find(most); at != std::string::npos)
    return problem.substr(0, at) + " is given " + problem.substr(at + most.size()) + " times; give it once";
  const size_t equals = problem.find(" = ");
  if (problem.rfind(convert, 0) == 0 && equals != std::string::npos)
    return problem.substr(convert.size(), equals - convert.size()) + ": '" + problem.substr(equals + 3) +
           "' is no number";
  return problem;
}

int wrong_use(const CLI::App& app, std::string problem, const std::string& first = "") {
  std::string name = "intaglio";
  for (const CLI::App* subcommand : app.get_subcommands()) name += " " + subcommand->get_name();
  // CLI11 says only that one is missing.
  if (app.get_subcommands().empty() && !first.empty() && first[0] != '-') {
    problem = "'" + first + "' is no subcommand; there are";
    for (const CLI::App* known : app.get_subcommands({})) problem += " " + known->get_name();
  }
  print_error(problem + "\nRun '" + name + " --help' for what there is.");
  return kWrongUse;
}

int finish() {
  const Outcome<Done> written = finish_results();
  if (!written) print_error(written.message());
  return written ? 0 : kFailed;
}

int run_command(const Command& command) {
  const Outcome<Done> outcome = command.action();
  if (!outcome) {
    print_error(outcome.message());
    return kFailed;
  }
  return finish();
}

int run_main(int argc, char** argv) {
  CLI::App app(kDescription, "intaglio");
  app.set_version_flag("--version",
                       "intaglio " ITG_VERSION ", model format " + std::to_string(kFormatVersion),
                       "show the versions of the command and of its model files");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormat>());
  app.set_help_flag("-h,--help", "show this help");
  const std::vector<Command> commands{
      add_import_command(app),        add_calibrate_command(app), add_simulate_command(app),
      add_run_command(app),           add_eval_command(app),      add_compare_command(app),
      add_inspect_command(app),       add_export_c_command(app),  add_export_onnx_command(app),
      add_export_tflite_command(app), add_pack_command(app),      add_plan_command(app),
      add_params_command(app),        add_verify_command(app),    add_bench_command(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    std::ostringstream text;
    app.exit(request, text, text);
    print("%s", text.str().c_str());
    return finish();
  } catch (const CLI::ParseError& error) {
    return wrong_use(app, plain(error.what()), argc > 1 ? argv[1] : "");
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    if (const auto checked = check_options(*command.app); !checked) return wrong_use(app, checked.message());
    let_threads_sleep(*command.app, argv);
    watch_signals();
    return run_command(command);
  }
  return kWrongUse;
}

}  // namespace
}  // namespace intaglio::cli

int main(int argc, char** argv) {
  intaglio::cli::guard_standard_files();
  try {
    return intaglio::cli::run_main(argc, argv);
  } catch (const std::bad_alloc&) {
    intaglio::cli::print_error("out of memory: use fewer or smaller pictures, or a machine with more");
  } catch (const std::exception& error) {
    intaglio::cli::print_error(std::string("internal error: ") + error.what() + "; please report it");
  }
  return 1;
}

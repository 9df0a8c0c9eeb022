#include "cli/program.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>

#include "calibrator/host/system/files.h"
#include "cli/command_line.h"
#include "cli/output.h"
#include "cli/sleeping_threads.h"

namespace intaglio::cli {
namespace {

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

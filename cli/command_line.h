// A command line from its words to its end, for the program and for what runs commands inside of another one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"

namespace CLI {
class App;
}

namespace intaglio::cli {

enum class CommandEnd : uint8_t { kDone = 0, kFailed = 1, kWrongUse = 2 };  // the program's exit codes

struct CommandOutcome {
  CommandEnd end = CommandEnd::kDone;
  Failure failure;  // its message is empty where all went well
};

// Called when the words are understood, before the work.
using BeforeWork = std::function<void(const CLI::App& subcommand)>;

// `argv` is as main() gets it. Throws nothing but Stopped (captured_output.h).
CommandOutcome run_command_line(int argc, const char* const* argv, const BeforeWork& before = {});

// The whole program, as main(): a command line, the signals that end it, and what it says to stdout and stderr. Gives the exit
// code. Signals are watched from then on.
int run_program(int argc, char** argv);

}  // namespace intaglio::cli

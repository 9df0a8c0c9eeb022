// A command line from its words to its end, for the program and for what runs commands inside of another one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"

namespace CLI {
class App;
}

namespace intaglio::cli {

enum class CommandEnd : uint8_t { kDone = 0, kFailed = 1, kWrongUse = 2, kAsks = 3 };  // the program's exit codes

struct CommandOutcome {
  CommandEnd end = CommandEnd::kDone;
  Failure failure;  // its message is empty where all went well
};

// Called when the words are understood, before the work.
using BeforeWork = std::function<void(const CLI::App& subcommand)>;

// `argv` is as main() gets it. Throws nothing but Stopped (tools/work.h).
CommandOutcome run_command_line(int argc, const char* const* argv, const BeforeWork& before = {});

// The whole program, as main(): a command line, the signals that end it, and what it says to stdout and stderr. Gives the exit
// code. Signals are watched from then on.
int run_program(int argc, char** argv);

// libgomp reads its environment before main(): its idle threads sleep, after some 100 microseconds in which
// the next run may come, only in a process that starts with this set. Starts the program once more; returns
// where that is settled already, or cannot be (results are the same). Where threads are to be bound libgomp
// has bound this one by now, and what is started anew would be left with its one CPU.
void restart_with_sleeping_threads(char** argv);

// Where the output of a command goes that runs inside of another program.

// While one stands, what commands of this thread print goes into it, and nothing to stdout or stderr.
class CapturedOutput {
 public:
  CapturedOutput();
  ~CapturedOutput();
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

  static CapturedOutput* of_this_thread();  // nullptr: there is none

  std::string results;                       // for stdout
  std::vector<std::string> notes, warnings;  // a sentence or more each
  // How far the work is, at most 20 times a second and at the start of each stage. False ends the work: Stopped is
  // thrown (tools/work.h). May be called from any thread, one at a time.
  std::function<bool(const std::string& stage, uint64_t done, uint64_t total)> progress;
  // The line of progress that a terminal would show, in place of the one before; empty: none any more. Threads as above.
  std::function<bool(const std::string& line)> line;

 private:
  CapturedOutput* before_;
};

}  // namespace intaglio::cli

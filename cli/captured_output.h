// Where the output of a command goes that runs inside of another program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace intaglio::cli {

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

// The command's output: results on stdout, everything about them on stderr. Names from files and command
// lines are not trusted: no control character of theirs reaches the terminal.
#pragma once

#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"
#include "cli/command_line.h"
#include "tools/json.h"
#include "tools/text.h"
#include "tools/work.h"

namespace intaglio::cli {

using namespace tools;

// One object, ASCII alone. Behind its own keys `warnings` has what was warned of, if there was anything.
void print_json(Json json);

// printf to stdout; arguments that come from a file go through safe() first.
void print(const char* format, ...) __attribute__((format(printf, 1, 2)));
// At the program's start: a closed stdin, stdout or stderr stays unused, so that no file that is opened later takes
// its place, and what cannot be written there is an error, not a signal.
void guard_standard_files();
// At the program's end: whether stdout took everything. Captured output has nothing to do with stdout.
Outcome<Done> finish_results();

// To stderr, as "intaglio: note: ..." and so on.
void print_note(const std::string& text);
void print_warning(const std::string& text);
void print_error(const std::string& text);
// The warnings of this command so far.
const std::vector<std::string>& warnings_so_far();
// Prints what a tool tells. The line of progress is rewritten on stderr, where that is a terminal. Of captured output the
// host's own functions are called.
Listener listener();

// Breaks a text at spaces, where a line would have more than 100 characters; lines behind the first begin at `column`.
std::string indented(const std::string& text, size_t column);

// Columns as wide as they need to be; the first `left` ones (1 or more) flush left, the others flush right. A line has
// at most 100 characters: long cells of the left columns are cut in their middle.
class Table {
 public:
  Table(std::vector<std::string> titles, size_t left);
  void add(std::vector<std::string> row);
  void print() const;

 private:
  std::vector<size_t> widths() const;

  std::vector<std::vector<std::string>> rows_;
  size_t left_;
};

}  // namespace intaglio::cli

// What the command says: results on stdout, everything about them on stderr. Names from files and command
// lines are not trusted: no control character of theirs reaches the terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrator/host/system/outcome.h"
#include "cli/captured_output.h"
#include "intaglio/tensor.h"

namespace intaglio::cli {

using Json = nlohmann::ordered_json;

// One object, ASCII alone. Behind its own keys `warnings` has what was warned of, if there was anything.
void print_json(Json json);
// As safe() makes them.
Json json_lines(const std::vector<std::string>& lines);
// null where the number is not finite: JSON has no infinity.
Json json_number(double value);

// printf to stdout; arguments that come from a file go through safe() first.
void print(const char* format, ...) __attribute__((format(printf, 1, 2)));
// At the program's start: a closed stdin, stdout or stderr stays unused, so that no file that is opened later takes
// its place, and what cannot be written there is an error, not a signal.
void guard_standard_files();
// At the program's end: whether stdout took everything. Captured output has nothing to do with stdout.
Outcome<Done> finish_results();
// Control and direction characters and bytes that are no UTF-8 become \x1b and the like; line ends too, unless `lines` keeps
// them: then the lines behind the first are indented, so that a name with a line end in it is no line of ours.
std::string safe(std::string_view text, bool lines = false);

// What a page calls the file at this path: the name that the host of captured output has for it, else the path.
std::string shown_path(const std::string& path);

// The start and the end of a long name, whole characters: at most `most`, which is 4 or more.
std::string shortened(const std::string& text, size_t most = 48);

// To stderr, as "intaglio: note: ..." and so on.
void print_note(const std::string& text);
void print_warning(const std::string& text);
void print_error(const std::string& text);
// What this command has warned of so far.
const std::vector<std::string>& warnings_so_far();

// Breaks a text at spaces, where a line would have more than 100 characters; lines behind the first begin at `column`.
std::string indented(const std::string& text, size_t column);

std::string decimal(double value, int digits);  // "exact" where it is infinite, "-" where it is no number
std::string grouped(uint64_t number);           // 1 234 567
std::string shape_text(const Shape& shape);     // 1x28x28x3

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

// "about 12 s", "about 3 min", "about 2 h"
std::string time_text(double seconds);

// A stage of the work and what it took, all its turns together.
struct StageTime {
  std::string name;
  double seconds = 0;
};

// Tells from the stages that are over what all of the work takes, in seconds, where it knows.
using TimeEstimate = std::function<std::optional<double>(const std::vector<StageTime>&)>;

// A line on stderr that is rewritten as the work goes on: a bar, the step of how many, the present stage and the time that
// all of them, or it alone, should still take. The bar is of all steps, or of a stage without steps, and never goes back: a
// stage that begins anew is a further pass. Silent where stderr is no terminal. Of captured output its `progress` is
// called instead, and what it stops is thrown as Stopped.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& what, uint64_t done, uint64_t total);
  void clear();
  // What is shown from now on is step `step` of so many; 0: of work without steps. Earlier steps are left as they were.
  void set_step(int32_t step, int32_t steps);
  // What is shown is a look beforehand at what the work will be: it has a count, and no bar.
  void set_beforehand(bool beforehand) { beforehand_ = beforehand; }

  void set_estimate(TimeEstimate estimate);  // is asked as each stage begins

  // In the order in which they began; a stage lasts until the next one is shown, the present one until now.
  std::vector<StageTime> stages() const;

 private:
  void enter(const std::string& what, std::chrono::steady_clock::time_point now);
  void advance(uint64_t done, uint64_t total, bool is_new);

  CapturedOutput* captured_;
  bool terminal_;
  bool shown_ = false;
  bool beforehand_ = false;
  int32_t step_ = 0, steps_ = 0;
  // Stages and passes of this step, passes of this stage, and the part of the bar that was reached.
  int parts_ = 0, passes_ = 0;
  uint64_t done_ = 0;
  double reached_ = 0;
  std::vector<StageTime> stages_;
  size_t stage_ = 0;  // the present one
  TimeEstimate estimate_;
  std::optional<double> total_;  // seconds
  std::chrono::steady_clock::time_point last_, entered_, turn_, began_;
};

}  // namespace intaglio::cli

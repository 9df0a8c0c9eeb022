#include "cli/output.h"

#include <fcntl.h>
#include <unistd.h>
#include "calibrator/host/system/real_text.h"
#include "calibrator/host/system/text_lines.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace intaglio::cli {
namespace {

thread_local CapturedOutput* captured_here = nullptr;

std::vector<std::string> warnings_here;  // where nothing is captured: of the one command of this process

// Why stdout did not take something; 0 where it took everything so far.
int results_error = 0;

void note_results(bool good) {
  if (!good && results_error == 0) results_error = errno;
}

void print_line(const char* kind, const std::string& text) {
  note_results(std::fflush(stdout) == 0);
  std::fprintf(stderr, "intaglio: %s%s\n", kind, safe(text, true).c_str());
}

}  // namespace

void print_json(Json json) {
  if (!warnings_so_far().empty()) json["warnings"] = warnings_so_far();
  print("%s\n", json.dump(2, ' ', true, Json::error_handler_t::replace).c_str());
}

CapturedOutput::CapturedOutput() : before_(captured_here) { captured_here = this; }
CapturedOutput::~CapturedOutput() { captured_here = before_; }
CapturedOutput* CapturedOutput::of_this_thread() { return captured_here; }

void print(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (captured_here != nullptr) {
    va_list again;
    va_copy(again, arguments);
    std::string& results = captured_here->results;
    const size_t before = results.size();
    const int length = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    if (length > 0) {
      results.resize(before + static_cast<size_t>(length) + 1);
      std::vsnprintf(&results[before], static_cast<size_t>(length) + 1, format, arguments);
      results.pop_back();
    }
    va_end(arguments);
    return;
  }
  note_results(std::vprintf(format, arguments) >= 0);
  va_end(arguments);
}

void guard_standard_files() {
  std::signal(SIGXFSZ, SIG_IGN);
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
    if (::fcntl(file, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number, which is this one: the write end of nothing, or the read end.
    const int opened = ::open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != file) ::close(opened);
  }
}

Outcome<Done> finish_results() {
  if (captured_here != nullptr) return Done{};
  note_results(std::fflush(stdout) == 0);
  if (results_error == 0) return Done{};
  return Failure{std::string("stdout: the results could not be printed: ") +
                 (results_error == EBADF ? "it is closed" : std::strerror(results_error)) +
                 "; files that were asked for are complete"};
}

void print_note(const std::string& text) {
  if (captured_here != nullptr) return captured_here->notes.push_back(safe(text, true));
  print_line("note: ", text);
}

void print_warning(const std::string& text) {
  if (captured_here != nullptr) return captured_here->warnings.push_back(safe(text, true));
  warnings_here.push_back(safe(text, true));
  print_line("warning: ", text);
}

const std::vector<std::string>& warnings_so_far() {
  return captured_here != nullptr ? captured_here->warnings : warnings_here;
}

Listener listener() {
  Listener told{print_note, print_warning, {}, {}};
  if (captured_here != nullptr) {
    told.progress = captured_here->progress;
    told.line = captured_here->line;
  } else if (::isatty(STDERR_FILENO) == 1) {
    told.line = [](const std::string& line) {
      std::fprintf(stderr, "\r\033[K%s", line.c_str());
      std::fflush(stderr);
      return true;
    };
  }
  return told;
}

void print_error(const std::string& text) { print_line("", text); }

Table::Table(std::vector<std::string> titles, size_t left) : left_(left) {
  rows_.push_back(std::move(titles));
}

void Table::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = shortened(safe(cell));
  rows_.push_back(std::move(row));
}

// The width of each column; the widest of the left ones give way until a line fits.
std::vector<size_t> Table::widths() const {
  constexpr size_t kMost = 100, kLeast = 8;
  std::vector<size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  size_t all = 2 * widths.size();
  for (const size_t width : widths) all += width;
  while (all > kMost) {
    const auto widest = std::max_element(widths.begin(), widths.begin() + static_cast<std::ptrdiff_t>(left_));
    if (*widest <= kLeast) break;
    --*widest;
    --all;
  }
  return widths;
}

void Table::print() const {
  const std::vector<size_t> wide = widths();
  for (const auto& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string cell = shortened(row[c], wide[c]);
      const std::string padding(wide[c] - std::min(wide[c], width_of(cell)), ' ');
      line += "  " + (c < left_ ? cell + padding : padding + cell);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    cli::print("%s\n", line.c_str());
  }
}

std::string indented(const std::string& text, size_t column) {
  constexpr size_t kMost = 100;
  std::string result;
  size_t at = column;
  for (const std::string& word : split(text, ' ')) {
    if (at > column && at + 1 + word.size() > kMost) {
      result += "\n" + std::string(column, ' ');
      at = column;
    } else if (at > column) {
      result += ' ';
      ++at;
    }
    result += word;
    at += word.size();
  }
  return result;
}

}  // namespace intaglio::cli

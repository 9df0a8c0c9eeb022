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

// Length of the UTF-8 character at the start of `text` and its code; 0 where there is none.
size_t decode(std::string_view text, uint32_t* code) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  const size_t length = lead < 0x80   ? 1
                        : lead < 0xc2 ? 0
                        : lead < 0xe0 ? 2
                        : lead < 0xf0 ? 3
                        : lead < 0xf5 ? 4
                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  *code = length == 1 ? lead : lead & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    *code = (*code << 6) | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = *code >= 0xd800 && *code < 0xe000;
  return *code < kLeast[length] || *code > 0x10ffff || surrogate ? 0 : length;
}

// Moves the cursor, changes the direction of the text or is not seen at all.
bool is_unsafe(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad || code == 0x61c ||
         (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff0 && code <= 0xfffb) ||
         (code >= 0xe0000 && code <= 0xe0fff);
}

size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(),
                                           [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

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

Json json_lines(const std::vector<std::string>& lines) {
  Json json = Json::array();
  for (const std::string& line : lines) json.push_back(safe(line));
  return json;
}

Json json_number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

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

std::string safe(std::string_view text, bool lines) {
  std::string result;
  while (!text.empty()) {
    uint32_t code = 0;
    const size_t length = decode(text, &code);
    const bool keep = length > 0 && (!is_unsafe(code) || (lines && code == '\n'));
    const size_t taken = std::max<size_t>(length, 1);
    for (size_t i = 0; i < taken; ++i) {
      if (keep) {
        result += text[i];
        if (code == '\n' && text.size() > 1 && text[1] != ' ') result += "  ";
      } else {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(static_cast<uint8_t>(text[i])));
        result += escape;
      }
    }
    text.remove_prefix(taken);
  }
  return result;
}

std::string shown_path(const std::string& path) {
  if (captured_here == nullptr) return path;
  const auto found = captured_here->names.find(path);
  return found == captured_here->names.end() ? path : found->second;
}

std::string shortened(const std::string& text, size_t most) {
  if (width_of(text) <= most) return text;
  const auto is_inside = [&](size_t at) { return (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80; };
  const size_t kept = most - 3;  // beside the dots
  size_t head = std::min(most / 2, kept), tail = text.size() - (kept - head);
  while (head > 0 && is_inside(head)) --head;
  while (tail < text.size() && is_inside(tail)) ++tail;
  return text.substr(0, head) + "..." + text.substr(tail);
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

void print_error(const std::string& text) { print_line("", text); }

std::string decimal(double value, int digits) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0 ? "exact" : "-inf";
  return fixed_text(value, digits);
}

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, " ");
  return text;
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (int32_t i = 0; i < shape.rank; ++i) text += (i == 0 ? "" : "x") + std::to_string(shape[i]);
  return text.empty() ? "scalar" : text;
}

Table::Table(std::vector<std::string> titles, size_t left) : left_(left) {
  rows_.push_back(std::move(titles));
}

void Table::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = shortened(safe(cell));
  rows_.push_back(std::move(row));
}

// Of each column; the widest of the left ones give way until a line fits.
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

std::string time_text(double seconds) {
  const auto whole = static_cast<uint64_t>(std::ceil(std::min(std::max(seconds, 1.0), 1e9)));
  if (whole < 100) return "about " + std::to_string(whole) + " s";
  const uint64_t minutes = (whole + 30) / 60;
  if (minutes < 100) return "about " + std::to_string(minutes) + " min";
  return "about " + std::to_string((minutes + 30) / 60) + " h";
}

ProgressLine::ProgressLine()
    : captured_(captured_here),
      terminal_(captured_ == nullptr ? ::isatty(STDERR_FILENO) == 1 : captured_->line != nullptr) {}
ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::enter(const std::string& what, std::chrono::steady_clock::time_point now) {
  if (stages_.empty())
    began_ = now;
  else
    stages_[stage_].seconds += std::chrono::duration<double>(now - entered_).count();
  if (estimate_) total_ = estimate_(stages_);
  stage_ = 0;
  while (stage_ < stages_.size() && stages_[stage_].name != what) ++stage_;
  if (stage_ == stages_.size()) stages_.push_back({what});
  entered_ = turn_ = now;
}

std::vector<StageTime> ProgressLine::stages() const {
  std::vector<StageTime> stages = stages_;
  if (!stages.empty())
    stages[stage_].seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - entered_).count();
  return stages;
}

void ProgressLine::show(const std::string& what, uint64_t done, uint64_t total) {
  const auto now = std::chrono::steady_clock::now();
  const bool is_new = stages_.empty() || what != stages_[stage_].name;
  if (is_new) enter(what, now);
  advance(done, total, is_new);
  if (done == 0) turn_ = now;
  const bool is_due = is_new || now - last_ >= std::chrono::milliseconds(50);
  if (is_due) last_ = now;
  if (captured_ != nullptr && captured_->progress && is_due && !captured_->progress(what, done, total))
    throw Stopped();
  if (!terminal_ || (shown_ && done < total && !is_due)) return;
  last_ = now;
  shown_ = true;
  const std::string count =
      total > 0 ? std::to_string(done) + "/" + std::to_string(total) : std::to_string(done);
  std::string bar;
  if ((total > 0 || steps_ > 0) && !beforehand_) {
    constexpr size_t kWidth = 20;
    const auto full = static_cast<size_t>(reached_ * kWidth);
    bar = "[" + std::string(full, '=') + std::string(kWidth - full, ' ') + "] ";
  }
  const std::string step =
      steps_ == 0 ? "" : "step " + std::to_string(step_) + " of " + std::to_string(steps_) + ": ";
  const std::string pass = passes_ == 0 ? "" : ", pass " + std::to_string(passes_ + 1) + ":";
  std::string left;
  const double spent = std::chrono::duration<double>(now - turn_).count();
  const double of_all = total_.value_or(0) - std::chrono::duration<double>(now - began_).count();
  if (of_all >= 1.0)
    left = ", " + time_text(of_all) + " left in all";
  else if (done > 0 && done < total && spent > 1.0)
    left = ", " + time_text(spent / static_cast<double>(done) * static_cast<double>(total - done)) + " left";
  const std::string line = bar + step + safe(what) + pass + " " + count + left;
  if (captured_ == nullptr) {
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    std::fflush(stderr);
  } else if (!captured_->line(line)) {
    throw Stopped();
  }
}

void ProgressLine::set_step(int32_t step, int32_t steps) {
  if (step != 0 && step <= step_) return;
  step_ = step;
  steps_ = step == 0 ? 0 : steps;
  parts_ = 0;
  if (step <= 1) reached_ = 0;
}

// How often a stage goes over its samples, and how many stages a step has, nobody knows beforehand: each pass takes half of
// what is left of the step's part of the bar.
void ProgressLine::advance(uint64_t done, uint64_t total, bool is_new) {
  const bool again = !is_new && done < done_;
  passes_ = is_new ? 0 : passes_ + (again ? 1 : 0);
  if (is_new && steps_ == 0) {
    parts_ = 0;
    reached_ = 0;
  } else if (is_new || again || parts_ == 0) {
    ++parts_;
  }
  done_ = done;
  if (total == 0) return;
  const double within = static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  if (steps_ == 0) {
    reached_ = std::max(reached_, within);
    return;
  }
  const double part = 1 - std::ldexp(1 - within / 2, -(parts_ - 1));
  reached_ = std::max(reached_, (step_ - 1 + part) / steps_);
}

void ProgressLine::set_estimate(TimeEstimate estimate) { estimate_ = std::move(estimate); }

void ProgressLine::clear() {
  if (shown_ && captured_ == nullptr) std::fputs("\r\033[K", stderr);
  if (shown_ && captured_ != nullptr) captured_->line("");  // who stops the work is heard at the next line
  shown_ = false;
}

}  // namespace intaglio::cli

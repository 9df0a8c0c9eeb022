// Between a call from Python and the library: progress, notes and warnings are handed on, failures become exceptions, and one piece
// of work is done at a time.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"
#include "tools/work.h"

namespace intaglio::python {

// Tells Python how far the work is, and looks whether somebody pressed Ctrl-C. False: an exception waits for rethrow().
class Listener {
 public:
  // Functions of Python's, or None.
  Listener(pybind11::object progress, pybind11::object line)
      : progress_(std::move(progress)), line_(std::move(line)) {}

  bool tell(const std::string& stage, uint64_t done, uint64_t total);
  bool show(const std::string& line);
  bool shows() const { return !line_.is_none(); }
  // As a tool takes it; notes and warnings are kept here.
  tools::Listener functions();
  void rethrow() {
    if (raised_ != nullptr) throw std::move(*raised_);
  }

  std::vector<std::string> notes, warnings;

 private:
  template <typename... Values>
  bool call(const pybind11::object& callback, const Values&... values);

  pybind11::object progress_, line_;
  std::unique_ptr<pybind11::error_already_set> raised_;
};

// One at a time: a process writes one file at a time. `progress` may begin another piece of work meanwhile.
using WorkLock = std::unique_lock<std::recursive_timed_mutex>;
// Waits for its turn without the interpreter's lock; Ctrl-C ends the waiting.
WorkLock turn();

// Text for Python as messages show it: bytes that are no UTF-8, and characters that a terminal would obey, as \\x1b and the like.
pybind11::str shown(const std::string& text);

// Any bytes as a str; `errors` says what becomes of those that are no UTF-8, as in bytes.decode().
pybind11::str decoded(const std::string& bytes, const char* errors);

// Raises intaglio.Error with the message, and with status, node, tensor, value and limit where the library said them.
[[noreturn]] void raise(const Failure& failure);

// Raises intaglio.errors.WrongUse: the words of a command were not understood.
[[noreturn]] void raise_wrong_use(const std::string& message);

template <typename T>
T value_or_raise(Outcome<T> outcome) {
  if (!outcome) raise(outcome.failure());
  return std::move(*outcome);
}

}  // namespace intaglio::python

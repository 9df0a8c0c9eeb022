// Hands progress, notes and warnings on to Python, and lets one piece of work be done at a time.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

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

}  // namespace intaglio::python

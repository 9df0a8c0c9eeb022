#include "python/bindings/listener.h"

#include <pthread.h>

#include <chrono>

#include "tools/text.h"

namespace intaglio::python {

namespace py = pybind11;

template <typename... Values>
bool Listener::call(const py::object& callback, const Values&... values) {
  const py::gil_scoped_acquire locked;
  if (raised_ != nullptr) return false;
  try {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!callback.is_none()) callback(values...);
  } catch (py::error_already_set& error) {
    raised_ = std::make_unique<py::error_already_set>(std::move(error));
    return false;
  }
  return true;
}

bool Listener::tell(const std::string& stage, uint64_t done, uint64_t total) {
  return call(progress_, stage, done, total);
}

bool Listener::show(const std::string& line) { return call(line_, line); }

tools::Listener Listener::functions() {
  tools::Listener told;
  told.note = [this](const std::string& text) { notes.push_back(tools::safe(text, true)); };
  told.warn = [this](const std::string& text) { warnings.push_back(tools::safe(text, true)); };
  told.progress = [this](const std::string& stage, uint64_t done, uint64_t total) {
    return tell(stage, done, total);
  };
  if (shows()) told.line = [this](const std::string& line) { return show(line); };
  return told;
}

WorkLock turn() {
  // A child of fork() has no thread that would give back what another one held.
  static std::recursive_timed_mutex* works = new std::recursive_timed_mutex;
  static const int watched =
      ::pthread_atfork(nullptr, nullptr, [] { works = new std::recursive_timed_mutex; });
  static_cast<void>(watched);
  WorkLock lock(*works, std::defer_lock);
  while (true) {
    {
      const py::gil_scoped_release unlocked;
      if (lock.try_lock_for(std::chrono::milliseconds(50))) break;
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  return lock;
}

}  // namespace intaglio::python

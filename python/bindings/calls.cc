#include "python/bindings/calls.h"

#include <pthread.h>
#include <chrono>

#include "intaglio/describe.h"
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

namespace py = pybind11;

py::str shown(const std::string& text) { return tools::safe(text, true); }

py::str decoded(const std::string& bytes, const char* errors) {
  PyObject* const text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<py::ssize_t>(bytes.size()), errors);
  if (text == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(text);
}

void raise(const Failure& failure) {
  const py::object type = py::module_::import("intaglio.errors").attr("Error");
  py::object error = type(shown(failure.message));
  const auto number_or_none = [](bool there, int64_t number) -> py::object {
    if (there) return py::int_(number);
    return py::none();
  };
  const auto name_or_none = [](const std::string& name) -> py::object {
    if (!name.empty()) return shown(name);
    return py::none();
  };
  const Error& said = failure.error;
  error.attr("status") = said.ok() ? py::object(py::none()) : py::str(status_name(said.status));
  error.attr("node") = name_or_none(failure.node);
  error.attr("node_index") = number_or_none(said.node >= 0, said.node);
  error.attr("tensor") = name_or_none(failure.tensor);
  error.attr("tensor_index") = number_or_none(said.tensor >= 0, said.tensor);
  error.attr("value") = number_or_none(!said.ok(), said.value);
  error.attr("limit") = number_or_none(!said.ok(), said.limit);
  PyErr_SetObject(type.ptr(), error.ptr());
  throw py::error_already_set();
}

void raise_wrong_use(const std::string& message) {
  const py::object type = py::module_::import("intaglio.errors").attr("WrongUse");
  PyErr_SetObject(type.ptr(), type(shown(message)).ptr());
  throw py::error_already_set();
}

}  // namespace intaglio::python

// intaglio._intaglio: commands and runs, for the Python beside it.
#include <pthread.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <map>
#include <mutex>

#include "calibrator/host/pictures/image_folder.h"
#include "cli/calibration_page.h"
#include "cli/captured_output.h"
#include "cli/command_line.h"
#include "cli/loaded_model.h"
#include "cli/network_format.h"
#include "cli/output.h"
#include "cli/program.h"
#include "intaglio/describe.h"
#include "intaglio/version.h"
#include "python/bindings/raised.h"
#include "python/bindings/runner.h"

namespace intaglio::python {
namespace {

namespace py = pybind11;

std::vector<const char*> pointers(const std::vector<std::string>& words) {
  std::vector<const char*> pointers{"intaglio"};
  for (const std::string& word : words) pointers.push_back(word.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

// Tells Python how far the work is, and looks whether somebody pressed Ctrl-C. False: an exception waits in `raised`.
class Listener {
 public:
  Listener(py::object callback, py::object line) : callback_(std::move(callback)), line_(std::move(line)) {}

  bool tell(const std::string& stage, uint64_t done, uint64_t total) {
    return call(callback_, stage, done, total);
  }
  bool show(const std::string& line) { return call(line_, line); }
  bool shows() const { return !line_.is_none(); }
  void rethrow() {
    if (raised_ != nullptr) throw std::move(*raised_);
  }

 private:
  template <typename... Values>
  bool call(const py::object& callback, const Values&... values) {
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

  py::object callback_, line_;
  std::unique_ptr<py::error_already_set> raised_;
};

// One command at a time: a process writes one file at a time. `progress` may run another command meanwhile.
using CommandLock = std::unique_lock<std::recursive_timed_mutex>;

// Waits for its turn without the interpreter's lock; Ctrl-C ends the waiting.
CommandLock turn() {
  // A child of fork() has no thread that would give back what another one held.
  static std::recursive_timed_mutex* commands = new std::recursive_timed_mutex;
  static const int watched =
      ::pthread_atfork(nullptr, nullptr, [] { commands = new std::recursive_timed_mutex; });
  static_cast<void>(watched);
  CommandLock lock(*commands, std::defer_lock);
  while (true) {
    {
      const py::gil_scoped_release unlocked;
      if (lock.try_lock_for(std::chrono::milliseconds(50))) break;
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  return lock;
}

struct Said {
  cli::CommandOutcome outcome;
  std::string results;
  std::vector<std::string> notes, warnings;
};

using Names = std::map<std::string, std::string>;

Said say(const std::vector<std::string>& words, const Names& names, Listener& listener) {
  Said said;
  const CommandLock one = turn();
  const py::gil_scoped_release unlocked;
  cli::CapturedOutput output;
  output.names = names;
  output.progress = [&listener](const std::string& stage, uint64_t done, uint64_t total) {
    return listener.tell(stage, done, total);
  };
  if (listener.shows()) output.line = [&listener](const std::string& line) { return listener.show(line); };
  const std::vector<const char*> argv = pointers(words);
  try {
    said.outcome = cli::run_command_line(static_cast<int>(argv.size()) - 1, argv.data());
  } catch (const cli::Stopped&) {  // rethrow() says why
  }
  said.results = std::move(output.results);
  said.notes = std::move(output.notes);
  said.warnings = std::move(output.warnings);
  return said;
}

// What a command says: (its results, notes, warnings). Raises what went wrong. `names`: what pages call the files at these
// paths. `line` is called with the line of progress that a terminal would show.
py::tuple run_words(const std::vector<std::string>& words, const py::object& progress, const Names& names,
                    const py::object& line) {
  Listener listener(progress, line);
  const Said said = say(words, names, listener);
  listener.rethrow();
  if (said.outcome.end == cli::CommandEnd::kWrongUse) raise_wrong_use(said.outcome.failure.message);
  if (said.outcome.end == cli::CommandEnd::kFailed) raise(said.outcome.failure);
  return py::make_tuple(decoded(said.results, "backslashreplace"), said.notes, said.warnings);
}

// A whole process: what is said goes to stdout and stderr. The exit code.
int run_program(std::vector<std::string> words) {
  words.insert(words.begin(), "intaglio");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const py::gil_scoped_release unlocked;
  return cli::run_program(static_cast<int>(words.size()), argv.data());
}

py::list options_of(const std::string& subcommand) {
  py::list options;
  for (const cli::OptionText& option : cli::options_of(subcommand))
    options.append(py::make_tuple(option.name, option.value, option.what, option.flag, option.repeated,
                                  option.required));
  return options;
}

void write_file(const std::string& path, const py::buffer& bytes) {
  const py::buffer_info given = bytes.request();
  if (given.ndim != 1 || given.itemsize != 1 || given.strides[0] != 1)
    throw py::type_error("a file is bytes without gaps");
  Outcome<Done> written = Done{};
  {
    const CommandLock one = turn();
    const py::gil_scoped_release unlocked;
    written =
        OutputFile(path).write({static_cast<const uint8_t*>(given.ptr), static_cast<size_t>(given.size)});
  }
  if (!written) raise(written.failure());
}

// Each raises what would keep the file from being written, and where it would be written over somebody's file.
void check_model(const std::string& path) {
  if (const auto checked = cli::check_model_output(path, ""); !checked) raise(checked.failure());
}
void check_report(const std::string& path) {
  if (const auto checked = cli::check_page_output(path, "", "report="); !checked) raise(checked.failure());
}

// Of a network's first bytes: "onnx", "tflite" or "openvino".
const char* format_of(const std::string& start) {
  return cli::network_format({reinterpret_cast<const uint8_t*>(start.data()), start.size()});
}

// pybind11 before 2.12 reads numpy 2's arrays wrongly, without a word.
void check_numpy() {
#if PYBIND11_VERSION_MAJOR == 2 && PYBIND11_VERSION_MINOR < 12
  const auto version = py::module_::import("numpy").attr("__version__").cast<std::string>();
  if (std::stoi(version) >= 2)
    throw py::import_error("intaglio was built with pybind11 " + std::to_string(PYBIND11_VERSION_MAJOR) +
                           "." + std::to_string(PYBIND11_VERSION_MINOR) +
                           ", which knows no numpy 2, and here is numpy " + version +
                           ": install the wheel of scripts/wheel, or a numpy below 2");
#endif
}

}  // namespace

PYBIND11_MODULE(_intaglio, module) {
  check_numpy();
  module.attr("version") = ITG_VERSION;
  module.attr("format_version") = static_cast<int>(kFormatVersion);
  module.attr("picture_endings") = py::tuple(py::cast(picture_endings()));
  module.def("run_words", run_words, py::arg("words"), py::arg("progress") = py::none(),
             py::arg("names") = Names(), py::arg("line") = py::none());
  module.def("run_program", run_program, py::arg("words"));
  module.def("options_of", options_of, py::arg("subcommand"));
  module.def("write_file", write_file, py::arg("path"), py::arg("bytes"));
  module.def("check_model", check_model, py::arg("path"));
  module.def("check_report", check_report, py::arg("path"));
  module.def("format_of", format_of, py::arg("start"));
  py::class_<Runner, std::shared_ptr<Runner>>(module, "Runner")
      .def(py::init<py::buffer, std::string>(), py::arg("bytes"), py::arg("name"))
      .def("set_execution", &Runner::set_execution, py::arg("threads"), py::arg("isa"))
      .def("bytes", &Runner::bytes)
      .def_property_readonly("name", &Runner::name)
      .def_property_readonly("node_count", &Runner::node_count)
      .def("inputs", &Runner::inputs)
      .def("outputs", &Runner::outputs)
      .def("states", &Runner::states)
      .def("input", &Runner::input, py::arg("i"))
      .def("output", &Runner::output, py::arg("i"))
      .def("real_output", &Runner::real_output, py::arg("i"))
      .def("equal_places", &Runner::equal_places, py::arg("pictures"))
      .def("fill_values", &Runner::fill_values, py::arg("i"), py::arg("values"))
      .def("fill_picture", &Runner::fill_picture, py::arg("i"), py::arg("pixels"))
      .def("run", &Runner::run)
      .def("reset", &Runner::reset)
      .def("kernel", &Runner::kernel, py::arg("node"));
}

}  // namespace intaglio::python

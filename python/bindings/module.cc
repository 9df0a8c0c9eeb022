// intaglio._intaglio: commands and runs, for the Python beside it.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "calibrator/host/pictures/image_folder.h"
#include "cli/command_line.h"
#include "intaglio/describe.h"
#include "intaglio/version.h"
#include "python/bindings/calls.h"
#include "python/bindings/learning.h"
#include "python/bindings/making.h"
#include "python/bindings/runner.h"
#include "tools/loaded_model.h"

namespace intaglio::python {
namespace {

namespace py = pybind11;

std::vector<const char*> pointers(const std::vector<std::string>& words) {
  std::vector<const char*> pointers{"intaglio"};
  for (const std::string& word : words) pointers.push_back(word.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

struct Said {
  cli::CommandOutcome outcome;
  std::string results;
  std::vector<std::string> notes, warnings;
};

Said say(const std::vector<std::string>& words, Listener& listener) {
  Said said;
  const WorkLock one = turn();
  const py::gil_scoped_release unlocked;
  cli::CapturedOutput output;
  output.progress = [&listener](const std::string& stage, uint64_t done, uint64_t total) {
    return listener.tell(stage, done, total);
  };
  if (listener.shows()) output.line = [&listener](const std::string& line) { return listener.show(line); };
  const std::vector<const char*> argv = pointers(words);
  try {
    said.outcome = cli::run_command_line(static_cast<int>(argv.size()) - 1, argv.data());
  } catch (const tools::Stopped&) {  // rethrow() says why
  }
  said.results = std::move(output.results);
  said.notes = std::move(output.notes);
  said.warnings = std::move(output.warnings);
  return said;
}

// Runs a command: (its results, notes, warnings). Raises what went wrong. `line` is called with the line of progress that a
// terminal would show.
py::tuple run_words(const std::vector<std::string>& words, const py::object& progress,
                    const py::object& line) {
  Listener listener(progress, line);
  const Said said = say(words, listener);
  listener.rethrow();
  if (said.outcome.end == cli::CommandEnd::kWrongUse) raise_wrong_use(said.outcome.failure.message);
  if (said.outcome.end != cli::CommandEnd::kDone) raise(said.outcome.failure);
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

void write_file(const std::string& path, const py::buffer& bytes) {
  const py::buffer_info given = bytes.request();
  if (given.ndim != 1 || given.itemsize != 1 || given.strides[0] != 1)
    throw py::type_error("a file is bytes without gaps");
  Outcome<Done> written = Done{};
  {
    const WorkLock one = turn();
    const py::gil_scoped_release unlocked;
    written =
        OutputFile(path).write({static_cast<const uint8_t*>(given.ptr), static_cast<size_t>(given.size)});
  }
  if (!written) raise(written.failure());
}

// Raises what would keep the file from being written, and where it would be written over somebody's file.
void check_model(const std::string& path) {
  if (const auto checked = tools::check_model_output(path, ""); !checked) raise(checked.failure());
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
             py::arg("line") = py::none());
  module.def("run_program", run_program, py::arg("words"));
  module.def("write_file", write_file, py::arg("path"), py::arg("bytes"));
  module.def("check_model", check_model, py::arg("path"));
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
      .def("features", &Runner::features)
      .def("reset", &Runner::reset)
      .def("kernel", &Runner::kernel, py::arg("node"));
  add_making(module);
  add_learning(module);
}

}  // namespace intaglio::python

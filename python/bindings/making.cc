#include "python/bindings/making.h"

#include <pybind11/stl.h>

#include "calibrator/host/system/real_text.h"
#include "calibrator/host/system/wording.h"
#include "python/bindings/calls.h"
#include "python/bindings/keywords.h"
#include "python/bindings/runner.h"
#include "tools/calibrate_model.h"
#include "tools/calibration_page.h"
#include "tools/export_c.h"
#include "tools/frames.h"
#include "tools/judge_models.h"
#include "tools/measure_model.h"
#include "tools/model_file.h"
#include "tools/networks.h"
#include "tools/observed_samples.h"
#include "tools/simulate_model.h"

namespace intaglio::python {
namespace {

namespace py = pybind11;

py::object value_of(const tools::Json& json) {
  switch (json.type()) {
    case tools::Json::value_t::boolean:
      return py::bool_(json.get<bool>());
    case tools::Json::value_t::number_integer:
      return py::int_(json.get<int64_t>());
    case tools::Json::value_t::number_unsigned:
      return py::int_(json.get<uint64_t>());
    case tools::Json::value_t::number_float:
      return py::float_(json.get<double>());
    case tools::Json::value_t::string:
      return decoded(json.get_ref<const std::string&>(), "replace");
    case tools::Json::value_t::array: {
      py::list list;
      for (const tools::Json& part : json) list.append(value_of(part));
      return std::move(list);
    }
    case tools::Json::value_t::object: {
      py::dict dict;
      for (const auto& [name, part] : json.items()) dict[decoded(name, "replace")] = value_of(part);
      return std::move(dict);
    }
    default:
      return py::none();
  }
}

Span<const uint8_t> span_of(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

template <typename Bytes>
py::bytes bytes_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A network's bytes; without them it is read from its path.
Outcome<NetworkFile> network_of(const std::string& name, const py::object& content,
                                const py::object& weights) {
  const auto held = [](const py::object& given) {
    const std::string bytes = given.cast<py::bytes>();
    FileBytes file(bytes.size());
    std::copy(bytes.begin(), bytes.end(), file.data());
    return file;
  };
  if (content.is_none()) return NetworkFile::open(name);
  std::optional<FileBytes> beside;
  if (!weights.is_none()) beside = held(weights);
  return NetworkFile::of_bytes(name, held(content), std::move(beside));
}

// One piece of work: errors and remedies in Python's words, in its turn, without the interpreter's lock.
class Task {
 public:
  // `command`: that whose rules of options hold (option_rules.h).
  Task(const char* command, const Keywords& keywords, const py::object& progress = py::none(),
       const py::object& line = py::none())
      : listener_(progress, line), turn_(turn()), worded_(Wording::kPython), work_(listener_.functions()) {
    if (const auto checked = tools::check_rules(command, keywords, work_); !checked)
      raise_wrong_use(checked.message());
  }

  tools::Work& work() { return work_; }

  template <typename Do>
  auto run(Do make) {
    auto made = [&] {
      const py::gil_scoped_release unlocked;
      return make();
    }();
    listener_.rethrow();
    if (!made) raise(made.failure());
    return std::move(*made);
  }
  py::tuple told(const tools::Json& report) const {
    return py::make_tuple(value_of(report), listener_.notes, listener_.warnings);
  }

 private:
  Listener listener_;
  WorkLock turn_;
  WordedFor worded_;
  tools::Work work_;
};

template <typename T>
T taken(Outcome<T> outcome) {
  if (!outcome) raise_wrong_use(outcome.message());
  return std::move(*outcome);
}

tools::QuantizationChoice quantization_of(const Keywords& keywords) {
  tools::QuantizationChoice choice;
  std::string method = "auto", compat = "none";
  keywords.take("method", method);
  keywords.take("compat", compat);
  choice.method = taken(tools::range_method_of(method));
  choice.compat = taken(tools::compat_of(compat));
  keywords.take("percentile", choice.percentile);
  keywords.take("symmetric", choice.symmetric);
  keywords.take("power_of_two", choice.power_of_two);
  keywords.take("safe_pairs", choice.safe_pairs);
  keywords.take("int8_answers", choice.int8_answers);
  keywords.take("weight_bits", choice.weight_bits);
  std::vector<std::string> nodes, settings;
  keywords.take("keep_float", nodes);
  for (const std::string& list : nodes)
    for (const std::string& node : split(list, ',')) choice.keep_float.push_back(node);
  keywords.take("set", settings);
  for (const std::string& text : settings) choice.set.push_back(taken(tools::parse_setting(text)));
  return choice;
}

// A path, or a class number for each sample.
tools::LabelChoice labels_of(const Keywords& keywords) {
  tools::LabelChoice choice;
  const py::object labels = keywords.get("labels");
  if (py::isinstance<py::list>(labels))
    keywords.take("labels", choice.classes);
  else
    keywords.take("labels", choice.path);
  keywords.take("names", choice.names);
  return choice;
}

tools::DetectionChoice detections_of(const Keywords& keywords) {
  tools::DetectionChoice choice;
  keywords.take("decoder", choice.decoder);
  keywords.take("score", choice.score);
  if (choice.score && !(*choice.score >= 0 && *choice.score <= 1))
    raise({"score: " + general_text(*choice.score, 6) + " is not in 0 to 1"});
  return choice;
}

tools::ExecutionOptions execution_of(const Keywords& keywords) {
  tools::ExecutionOptions execution;
  keywords.take("threads", execution.threads);
  keywords.take("isa", execution.isa);
  check_threads(execution.threads);
  return execution;
}

int64_t steps_of(const Keywords& keywords) {
  int64_t steps = 0;
  keywords.take("steps", steps);
  if (keywords.has("steps") && steps < 1)
    throw py::value_error("steps: " + std::to_string(steps) + " is below 1");
  return steps;
}

tools::ParamsChoice params_of(const Keywords& keywords) {
  tools::ParamsChoice choice;
  keywords.take("params", choice.file);
  keywords.take("params_format", choice.format);
  keywords.take("map", choice.map);
  return choice;
}

// As tools::memory_goal() reads it, a number of bytes, or what stands where nothing is given.
tools::MemoryGoal memory_of(const Keywords& keywords, tools::MemoryGoal unless_given) {
  const py::object given = keywords.get("memory");
  if (given.is_none()) return unless_given;
  if (!py::isinstance<py::str>(given)) {
    int64_t bytes = 0;
    keywords.take("memory", bytes);
    return {false, static_cast<uint64_t>(std::max<int64_t>(bytes, 1)), false, 0};
  }
  std::string memory;
  keywords.take("memory", memory);
  const auto goal = tools::memory_goal(memory);
  if (!goal) raise_wrong_use(goal.message());
  return *goal;
}

std::optional<uint32_t> ceiling_of(const Keywords& keywords) {
  if (keywords.get("ceiling").is_none()) return std::nullopt;
  int64_t bytes = 0;
  keywords.take("ceiling", bytes);
  if (bytes < 0 || bytes > tools::kMaxCeiling)
    raise({"ceiling: " + std::to_string(bytes) + " is not in 0 to " + std::to_string(tools::kMaxCeiling)});
  return static_cast<uint32_t>(bytes);
}

// (model, report, notes, warnings)
py::tuple import_network(const std::string& name, const py::object& content, const py::object& weights,
                         const py::dict& options) {
  const Keywords keywords(options);
  Task task("import", keywords);
  const ImportOptions choice = import_options_of(keywords);
  const NetworkFile network = value_or_raise(network_of(name, content, weights));
  const tools::ImportedNetwork made = task.run([&] { return tools::import_network(network, choice); });
  const auto model = Model::open(made.bytes.span());
  if (!model) raise(failure_in(name, model.error()));
  for (const std::string& note : made.notes) task.work().note(note);
  tools::Json report = json_of(made, *model);
  report.erase("notes");
  return py::make_tuple(bytes_of(made.bytes)) + task.told(report);
}

// States, or answers and their question.
tools::ObservedSum sum_of(const std::vector<py::bytes>& observed, const std::string& name) {
  const WordedFor worded(Wording::kPython);
  tools::ObservedSum sum;
  for (size_t i = 0; i < observed.size(); ++i)
    value_or_raise(sum.add(observed.size() == 1 ? name : name + " " + std::to_string(i),
                           span_of(observed[i].cast<std::string>())));
  return sum;
}

// (model, page or None, report, notes, warnings)
py::tuple calibrate(const Runner& fp32, const py::list& samples, const py::dict& options,
                    const py::object& progress, const py::object& line) {
  const Keywords keywords(options);
  Task task("calibrate", keywords, progress, line);
  tools::CalibrateChoice choice;
  choice.samples = samples_of(samples, keywords);
  choice.steps = steps_of(keywords);
  choice.execution = fp32.execution();
  choice.quantization = quantization_of(keywords);
  std::string recover = "default", report;
  std::vector<std::string> recoveries;
  keywords.take("recover", recoveries);
  if (!recoveries.empty()) recover.clear();
  for (const std::string& one : recoveries) recover += (recover.empty() ? "" : ",") + one;
  choice.recover = taken(tools::parse_recover(recover));
  std::string profile = "host";
  keywords.take("profile", profile);
  if (profile == "device")
    choice.profile = tools::Profile::kDevice;
  else if (profile != "host")
    raise({"profile: " + profile + " is neither 'host' nor 'device'"});
  keywords.take("int8_states", choice.int8_states);
  keywords.take("min_sqnr", choice.float_search.min_sqnr);
  keywords.take("max_drop", choice.float_search.max_drop);
  keywords.take("no_fpu", choice.float_search.no_fpu);
  choice.float_search.labels = labels_of(keywords);
  choice.params = params_of(keywords);
  keywords.take("report", report);
  choice.page = keywords.has("report");
  choice.layers = choice.page;
  choice.memory = memory_of(keywords, choice.memory);
  choice.ceiling = ceiling_of(keywords).value_or(0);
  FileBytes observed;
  if (const py::object given = keywords.get("from"); !given.is_none()) {
    observed = value_or_raise(sum_of(given.cast<std::vector<py::bytes>>(), "observed").to_calibrate_from());
    choice.observed = observed.span();
  }
  choice.from = "observed";
  keywords.take("question", choice.asks);
  const tools::CalibratedModel made =
      task.run([&] { return tools::calibrate(fp32.file(), choice, task.work()); });
  if (!made.question.empty())
    return py::make_tuple(
               py::bytes(reinterpret_cast<const char*>(made.question.data()), made.question.size()),
               py::none()) +
           task.told({{"asked", made.asked}});
  const py::object page = choice.page ? py::object(py::bytes(made.page)) : py::none();
  return py::make_tuple(bytes_of(made.bytes), page) + task.told(json_of(made, choice));
}

// (state, report, notes, warnings)
py::tuple observe(const Runner& fp32, const py::list& samples, const py::dict& options,
                  const py::object& progress, const py::object& line) {
  const Keywords keywords(options);
  Task task("observe", keywords, progress, line);
  tools::ObserveChoice choice;
  choice.samples = samples_of(samples, keywords);
  choice.steps = steps_of(keywords);
  choice.execution = fp32.execution();
  choice.quantization = quantization_of(keywords);
  keywords.take("int8_states", choice.int8_states);
  std::string question;
  if (const py::object given = keywords.get("question"); !given.is_none()) question = given.cast<py::bytes>();
  choice.asked = "question";
  choice.question = span_of(question);
  const tools::ObservedSamples observed =
      task.run([&] { return tools::observe(fp32.file(), choice, task.work()); });
  return py::make_tuple(bytes_of(observed.state)) + task.told({{"samples", observed.samples}});
}

py::bytes merge(const std::vector<py::bytes>& states, const std::optional<double>& most_of_one) {
  const WordedFor worded(Wording::kPython);
  tools::ObservedSum sum = sum_of(states, "part");
  if (!most_of_one) return bytes_of(value_or_raise(sum.save()));
  const auto again = [&](size_t i) -> Outcome<FileBytes> {
    const std::string state = states[i].cast<std::string>();
    FileBytes bytes(state.size());
    std::copy(state.begin(), state.end(), bytes.data());
    return bytes;
  };
  return bytes_of(value_or_raise(sum.save_limited(again, *most_of_one)));
}

uint32_t observed_samples(const py::bytes& state) { return sum_of({state}, "observed").samples(); }

py::tuple compare(const Runner& reference, const Runner& test, const py::list& samples,
                  const py::dict& options, const py::object& progress, const py::object& line) {
  const Keywords keywords(options);
  Task task("compare", keywords, progress, line);
  tools::CompareChoice choice;
  choice.samples = samples_of(samples, keywords);
  choice.steps = steps_of(keywords);
  choice.execution = reference.execution();
  choice.labels = labels_of(keywords);
  choice.alone = false;
  choice.detections = detections_of(keywords);
  const tools::ComparedModels found =
      task.run([&] { return tools::compare(reference.file(), test.file(), choice, task.work()); });
  return task.told(json_of(found, reference.file().model(), test.file().model()));
}

py::tuple evaluate(const Runner& model, const py::list& samples, const py::dict& options,
                   const py::object& progress, const py::object& line) {
  const Keywords keywords(options);
  Task task("eval", keywords, progress, line);
  tools::EvaluateChoice choice;
  choice.samples = samples_of(samples, keywords);
  choice.steps = steps_of(keywords);
  choice.execution = model.execution();
  choice.labels = labels_of(keywords);
  choice.detections = detections_of(keywords);
  const tools::Evaluation found =
      task.run([&] { return tools::evaluate(model.file(), choice, task.work()); });
  return task.told(json_of(found));
}

py::tuple simulate(const Runner& fp32, const py::list& samples, const py::dict& options,
                   const py::object& progress, const py::object& line) {
  const Keywords keywords(options);
  Task task("simulate", keywords, progress, line);
  tools::SimulateChoice choice{samples_of(samples, keywords), fp32.execution(), quantization_of(keywords),
                               params_of(keywords), false};
  keywords.take("exact", choice.exact);
  const tools::SimulatedModel found =
      task.run([&] { return tools::simulate(fp32.file(), choice, task.work()); });
  return task.told(json_of(found, fp32.file().model()));
}

// (model, report, notes, warnings)
py::tuple plan(const Runner& model, const py::dict& options) {
  const Keywords keywords(options);
  Task task("plan", keywords);
  tools::PlanChoice choice{memory_of(keywords, {}), ceiling_of(keywords)};
  keywords.take("feed_rows", choice.goal.feeds_rows);
  const tools::PlannedMemory planned =
      task.run([&] { return tools::plan_memory(model.file(), choice, task.work()); });
  return py::make_tuple(bytes_of(planned.bytes)) + task.told(json_of(planned));
}

py::tuple export_c(const Runner& model, const std::string& folder, const py::dict& options) {
  const Keywords keywords(options);
  Task task("export-c", keywords);
  tools::ExportCChoice choice;
  std::string target = "scalar";
  keywords.take("target", target);
  choice.target = value_or_raise(tools::find_target(target));
  keywords.take("prefix", choice.prefix);
  keywords.take("frame", choice.frame);
  keywords.take("planned", choice.planned);
  const tools::ExportedC made = task.run([&] { return tools::export_c(model.file(), choice); });
  const tools::WrittenSources sources = task.run(
      [&] { return tools::write_sources(folder, choice, made.files, task.work(), option_word("folder")); });
  return task.told(json_of(made, choice, sources));
}

// (file, report, notes, warnings). Without a name inputs and outputs are the model's own.
py::tuple export_onnx(const Runner& model, const std::string& name, const py::object& content,
                      const py::dict& options) {
  const Keywords keywords(options);
  Task task("export-onnx", keywords);
  std::string name_of_form = "qdq";
  keywords.take("form", name_of_form);
  const OnnxForm form = value_or_raise(tools::onnx_form_of(name_of_form));
  std::optional<NetworkFile> network;
  if (!name.empty()) network = value_or_raise(network_of(name, content, py::none()));
  const OnnxExport made =
      task.run([&] { return tools::export_onnx(model.file(), network ? &*network : nullptr, form); });
  for (const std::string& note : made.notes) task.work().note(note);
  tools::Json report = tools::json_of(made, form);
  report.erase("notes");
  return py::make_tuple(bytes_of(made.bytes)) + task.told(report);
}

// (file, report, notes, warnings)
py::tuple export_tflite(const Runner& model) {
  Task task("export-tflite", Keywords(py::dict()));
  const TfliteExport made = task.run([&] { return tools::export_tflite(model.file()); });
  for (const std::string& note : made.notes) task.work().note(note);
  tools::Json report = tools::json_of(made);
  report.erase("notes");
  return py::make_tuple(bytes_of(made.bytes)) + task.told(report);
}

py::object inspect(const Runner& model, const py::dict& options) {
  const Keywords keywords(options);
  Task task("inspect", keywords);
  tools::InspectChoice choice;
  keywords.take("target", choice.target);
  keywords.take("frame", choice.frame);
  keywords.take("clock", choice.cycles.clock_mhz);
  keywords.take("chip", choice.cycles.chip);
  choice.execution = execution_of(keywords);
  tools::InspectLists lists;
  keywords.take("ops", lists.ops);
  keywords.take("plan", lists.plan);
  keywords.take("quant", lists.quant);
  const tools::SessionReport session = task.run([&] { return tools::measure_session(model.file(), choice); });
  if (!session.problem.empty()) raise({model.file().path() + ": cannot be run: " + session.problem});
  return value_of(json_of(session, model.file().model(), lists));
}

// One frame as uint8 [h, w, 3], or [h, w] of gray.
py::array_t<uint8_t> frame_pixels(const py::buffer& bytes, const std::string& form, int64_t row_bytes,
                                  bool gray) {
  const py::buffer_info given = bytes.request();
  if (given.ndim != 1 || given.itemsize != 1 || given.strides[0] != 1)
    throw py::type_error("a frame is bytes without gaps; row_bytes= says how far its rows are apart");
  if (row_bytes < 0) throw py::value_error("row_bytes: " + std::to_string(row_bytes) + " is below 0");
  Frame frame;
  frame.info = value_or_raise(tools::frame_of(form));
  frame.pixels = {static_cast<const uint8_t*>(given.ptr), static_cast<size_t>(given.size)};
  frame.row_bytes = static_cast<size_t>(row_bytes);
  const std::vector<uint8_t> pixels = value_or_raise(tools::pixels_of(frame, gray));
  std::vector<py::ssize_t> shape{frame.info.height, frame.info.width};
  if (!gray) shape.push_back(3);
  return py::array_t<uint8_t>(shape, pixels.data());
}

py::object bench(const Runner& model, const py::dict& options) {
  const Keywords keywords(options);
  Task task("bench", keywords);
  const tools::ExecutionOptions execution = execution_of(keywords);
  tools::TimeChoice choice;
  choice.execution = value_or_raise(tools::session_options(execution));
  keywords.take("repeats", choice.repeats);
  if (choice.repeats < 1) throw py::value_error("repeats: " + std::to_string(choice.repeats) + " is below 1");
  choice.layers = true;
  const tools::ModelTimes times = task.run([&] { return tools::time_model(model.file(), choice); });
  return value_of(json_of(times, model.file().model()));
}

// Raises what would keep a report from being written, and where it would be written over somebody's file.
void check_report(const std::string& path) {
  const WordedFor worded(Wording::kPython);
  if (const auto checked = tools::check_page_output(path, "", option_word("report")); !checked)
    raise(checked.failure());
}

// The same of a file that export_onnx() or export_tflite() made, as `format` says.
void check_export(const std::string& path, const std::string& format) {
  const WordedFor worded(Wording::kPython);
  const auto checked = format == "onnx" ? tools::check_onnx_output(path) : tools::check_tflite_output(path);
  if (!checked) raise(checked.failure());
}

// The format that a network's first bytes show: "onnx", "tflite" or "openvino".
const char* format_of(const std::string& start) {
  return tools::network_format({reinterpret_cast<const uint8_t*>(start.data()), start.size()});
}

}  // namespace

void add_making(py::module_& module) {
  module.def("import_network", import_network, py::arg("name"), py::arg("content"), py::arg("weights"),
             py::arg("options"));
  module.def("calibrate", calibrate, py::arg("fp32"), py::arg("samples"), py::arg("options"),
             py::arg("progress") = py::none(), py::arg("line") = py::none());
  module.def("observe", observe, py::arg("fp32"), py::arg("samples"), py::arg("options"),
             py::arg("progress") = py::none(), py::arg("line") = py::none());
  module.def("merge", merge, py::arg("states"), py::arg("most_of_one") = py::none());
  module.def("observed_samples", observed_samples, py::arg("state"));
  module.def("compare", compare, py::arg("reference"), py::arg("test"), py::arg("samples"),
             py::arg("options"), py::arg("progress") = py::none(), py::arg("line") = py::none());
  module.def("evaluate", evaluate, py::arg("model"), py::arg("samples"), py::arg("options"),
             py::arg("progress") = py::none(), py::arg("line") = py::none());
  module.def("simulate", simulate, py::arg("fp32"), py::arg("samples"), py::arg("options"),
             py::arg("progress") = py::none(), py::arg("line") = py::none());
  module.def("plan", plan, py::arg("model"), py::arg("options"));
  module.def("export_c", export_c, py::arg("model"), py::arg("folder"), py::arg("options"));
  module.def("export_onnx", export_onnx, py::arg("model"), py::arg("name"), py::arg("content"),
             py::arg("options"));
  module.def("export_tflite", export_tflite, py::arg("model"));
  module.def("inspect", inspect, py::arg("model"), py::arg("options"));
  module.def("frame_pixels", frame_pixels, py::arg("bytes"), py::arg("form"), py::arg("row_bytes"),
             py::arg("gray"));
  module.def("bench", bench, py::arg("model"), py::arg("options"));
  module.def("check_report", check_report, py::arg("path"));
  module.def("check_export", check_export, py::arg("path"), py::arg("format"));
  module.def("format_of", format_of, py::arg("start"));
}

}  // namespace intaglio::python

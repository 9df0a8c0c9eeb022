// intaglio run: one picture or array through a model.
#include <algorithm>
#include <cmath>
#include <utility>

#include "calibrator/host/system/npy.h"
#include "calibrator/host/system/real_text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/tool_options.h"
#include "intaglio/describe.h"
#include "tools/class_scores.h"
#include "tools/sample_checks.h"
#include "tools/sequences.h"

namespace intaglio::cli {
namespace {

struct RunArguments {
  std::string model, output, names;
  std::vector<std::string> samples, inputs;  // both name samples
  int64_t steps = 0;
  int32_t top = 5;
  bool raw = false, json = false;
  ExecutionOptions execution;
};

constexpr const char* kRunFooter =
    "A picture goes through the preprocessing that the model file stores. The first dimension of an array counts\n"
    "samples, and each is run. A state of the model goes from one sample to the next; --steps says where it begins\n"
    "anew. Int8 outputs are shown and written as the real numbers that they stand for.\n\n"
    "Examples:\n"
    "  intaglio run net.int8.itg photo.jpg\n"
    "  intaglio run net.itg x.npy --output y.npy\n"
    "  intaglio run two_inputs.itg left=l.npy right=r.npy";

NpyType npy_type(DType dtype) {
  switch (dtype) {
    case DType::kS8:
      return NpyType::kS8;
    case DType::kU8:
      return NpyType::kU8;
    case DType::kS16:
      return NpyType::kS16;
    case DType::kS32:
      return NpyType::kS32;
    default:
      return NpyType::kF32;
  }
}

// y.npy, or y.0.npy, y.1.npy and so on where there are several outputs. None where nothing is to be written.
std::vector<std::string> array_names(const std::string& path, size_t outputs) {
  if (path.empty() || outputs == 1) return std::vector<std::string>(path.empty() ? 0 : 1, path);
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs; ++i)
    names.push_back(path.substr(0, path.rfind(".npy")) + "." + std::to_string(i) + ".npy");
  return names;
}

Outcome<Done> check_array_output(const std::string& output, const std::string& input) {
  if (auto step = check_output_path(output, input, "--output"); !step) return step;
  return check_replaceable(output, 0, kNpyMagic, ".npy array");
}

// The outputs of all samples, one array an output.
class OutputArrays {
 public:
  OutputArrays(const Model& model, bool raw, const Samples& samples)
      : model_(model),
        raw_(raw),
        batch_(static_cast<size_t>(equal_places(model, samples))),
        bytes_(model.outputs().size) {}

  void add(const Session& session) {
    ++samples_;
    for (size_t i = 0; i < bytes_.size(); ++i) {
      const TensorView view = session.output(static_cast<int32_t>(i));
      if (stays(view.info.dtype)) {
        const auto* const data = static_cast<const uint8_t*>(view.data);
        bytes_[i].insert(bytes_[i].end(), data, data + view.info.bytes() / batch_);
      } else {
        const std::vector<float> values = real_values(view);
        const auto* const data = reinterpret_cast<const uint8_t*>(values.data());
        bytes_[i].insert(bytes_[i].end(), data, data + values.size() / batch_ * sizeof(float));
      }
    }
  }
  // `files`: of array_names().
  Outcome<Done> write(const std::vector<OutputFile>& files) const {
    for (size_t i = 0; i < bytes_.size(); ++i) {
      const TensorInfo info = model_.tensor(model_.outputs()[i]);
      std::vector<int64_t> shape(info.shape.dims, info.shape.dims + info.shape.rank);
      if (!shape.empty() && (shape[0] == 1 || batch_ > 1)) {
        shape[0] = samples_;
      } else if (samples_ > 1) {
        shape.insert(shape.begin(), samples_);
      }
      const NpyType type = stays(info.dtype) ? npy_type(info.dtype) : NpyType::kF32;
      if (auto step = write_npy(files[i], type, shape, {bytes_[i].data(), bytes_[i].size()}); !step)
        return step;
    }
    return Done{};
  }

 private:
  // Indices are written as they are.
  bool stays(DType dtype) const { return raw_ || dtype == DType::kS32; }

  const Model& model_;
  bool raw_;
  size_t batch_;  // equal places, of which the first is written
  int64_t samples_ = 0;
  std::vector<std::vector<uint8_t>> bytes_;
};

// How outputs are shown: the best classes, where there are any.
struct Shown {
  int32_t top = 0, places = 1;  // equal places, of which the first is shown
  std::optional<ClassOutput> classes;
  ClassNames names;

  bool has_classes(size_t output) const { return classes && classes->output == output; }

  std::vector<int32_t> dims_of(const TensorInfo& output) const {
    std::vector<int32_t> dims(output.shape.dims, output.shape.dims + output.shape.rank);
    if (places > 1) dims[0] /= places;
    return dims;
  }
};

Json outputs_json(const Session& session, const std::string& sample, const Shown& shown) {
  Json outputs = Json::array();
  for (size_t i = 0; i < session.model().outputs().size; ++i) {
    const TensorView view = session.output(static_cast<int32_t>(i));
    const bool are_classes = shown.has_classes(i);
    const std::vector<float> values = are_classes ? class_scores(session, *shown.classes) : real_values(view);
    Json output{{"name", view.info.name},
                {"dtype", dtype_name(view.info.dtype)},
                {"shape", shown.dims_of(view.info)}};
    if (are_classes) {
      output["top"] = Json::array();
      for (const int32_t c : best_classes(values, static_cast<size_t>(shown.top))) {
        Json found{{"class", c}, {"score", json_number(static_cast<double>(values[static_cast<size_t>(c)]))}};
        if (!shown.names.empty()) found["label"] = shown.names.of(c);
        output["top"].push_back(found);
      }
    } else {
      output["min"] = json_number(static_cast<double>(*std::min_element(values.begin(), values.end())));
      output["max"] = json_number(static_cast<double>(*std::max_element(values.begin(), values.end())));
    }
    outputs.push_back(output);
  }
  return {{"name", sample}, {"outputs", outputs}};
}

void print_sample(const Session& session, const std::string& sample, const Shown& shown) {
  print("%s\n", safe(sample).c_str());
  for (size_t i = 0; i < session.model().outputs().size; ++i) {
    const TensorView view = session.output(static_cast<int32_t>(i));
    const bool are_classes = shown.has_classes(i);
    const std::vector<float> values = are_classes ? class_scores(session, *shown.classes) : real_values(view);
    if (are_classes) {
      for (const int32_t c : best_classes(values, static_cast<size_t>(shown.top))) {
        const std::string score = general_text(static_cast<double>(values[static_cast<size_t>(c)]), 6);
        if (shown.names.empty())
          print("  class %5d   %s\n", c, score.c_str());
        else
          print("  %s   %s\n", score.c_str(), safe(shown.names.of(c)).c_str());
      }
      continue;
    }
    const std::vector<int32_t> dims = shown.dims_of(view.info);
    print("  %s %s %s   min %s, max %s\n", safe(view.info.name).c_str(),
          shape_text({dims.data(), static_cast<int32_t>(dims.size())}).c_str(), dtype_name(view.info.dtype),
          general_text(static_cast<double>(*std::min_element(values.begin(), values.end())), 6).c_str(),
          general_text(static_cast<double>(*std::max_element(values.begin(), values.end())), 6).c_str());
  }
}

Outcome<Done> check_array_name(const std::string& path) {
  // A dash has a message of its own.
  if (path == "-" || (path.size() > 4 && path.compare(path.size() - 4, 4, ".npy") == 0)) return Done{};
  return Failure{path + ": outputs are written as .npy arrays; choose such a name"};
}

Outcome<Done> run_run(const RunArguments& arguments) {
  auto file = LoadedModel::map(arguments.model);
  if (!file) return file.failure();
  Work work(listener());
  if (auto step = file->stream_if(arguments.execution.streamed, work); !step) return step.failure();
  const std::vector<std::string> written = array_names(arguments.output, file->model().outputs().size);
  const std::vector<OutputFile> output_files(written.begin(), written.end());
  for (const std::string& name : written)
    if (auto step = check_array_output(name, arguments.model); !step) return step.failure();
  const auto options = session_options(arguments.execution);
  if (!options) return options.failure();
  auto loaded = LoadedSession::create(*file, *options, ops_of(arguments.execution));
  if (!loaded) return loaded.failure();
  Session& session = **loaded;
  SampleArguments sample_arguments;
  sample_arguments.are_arguments = !arguments.samples.empty();
  sample_arguments.inputs = sample_arguments.are_arguments ? arguments.samples : arguments.inputs;
  const auto choice = sample_choice(sample_arguments, *file);
  if (!choice) return choice.failure();
  const auto samples = Samples::open(*choice, *file, work);
  if (!samples) return samples.failure();
  const auto sequences = Sequences::of(arguments.steps, *choice, *samples, *file, work);
  if (!sequences) return sequences.failure();
  for (const std::string& name : written)
    if (auto step = samples->check_output(name); !step) return step.failure();

  Shown shown{arguments.top, equal_places(file->model(), *samples), {}, {}};
  if (may_give_classes(file->model(), *samples)) shown.classes = possible_class_output(file->model());
  if (!arguments.names.empty()) {
    if (!shown.classes) return no_classes(*file, *samples, "; leave --names out");
    auto names = ClassNames::read(arguments.names, file->model());
    if (!names) return names.failure();
    shown.names = std::move(*names);
  }
  const Span<const int32_t> outputs = file->model().outputs();
  if (arguments.raw && std::none_of(outputs.begin(), outputs.end(),
                                    [&](int32_t t) { return file->model().tensor(t).dtype == DType::kS8; }))
    work.note("--raw: " + file->path() + " has no int8 output; float32 is written in any case");
  if (!shown.classes && arguments.top != RunArguments().top)
    work.note("--top: " + no_classes(*file, *samples, "").message);
  OutputArrays arrays(file->model(), arguments.raw, *samples);
  Json json{{"samples", Json::array()}};
  warn_of_units(*samples, file->model(), work);
  for (size_t i = 0; i < samples->count(); ++i) {
    if (!arguments.output.empty() || arguments.json) work.show("running", i, samples->count());
    if (sequences->begins(i)) session.reset();
    if (auto step = samples->load(i, session); !step) return step.failure();
    session.run();
    if (!arguments.output.empty()) arrays.add(session);
    if (arguments.json) {
      json["samples"].push_back(outputs_json(session, samples->name(i), shown));
    } else if (arguments.output.empty() || samples->count() == 1) {
      print_sample(session, samples->name(i), shown);
    }
  }
  work.clear();
  if (!arguments.output.empty()) {
    if (auto step = arrays.write(output_files); !step) return step.failure();
  }
  if (arguments.json) {
    print_json(json);
  } else if (!arguments.output.empty()) {
    std::string names;
    for (const std::string& name : written) names += (names.empty() ? "" : ", ") + name;
    print("%zu %s -> %s\n", samples->count(), samples->count() == 1 ? "sample" : "samples",
          safe(names).c_str());
  }
  return Done{};
}

}  // namespace

Command add_run_command(CLI::App& parent) {
  const auto arguments = std::make_shared<RunArguments>();
  CLI::App* app = add_subcommand(parent, "run", "run pictures or arrays through a model", kRunFooter);
  add_option(*app, "model", arguments->model, "the model file").required().type_name("NET.itg");
  add_option(
      *app, "samples", arguments->samples,
      "a PNG, JPEG, BMP or WebP picture, a folder of them, or an .npy array of samples. For a model with several "
      "inputs give one for each, as NAME=X.npy")
      .type_name("[NAME=]X.jpg|X.npy");
  add_option(*app, "--input", arguments->inputs, "the same, behind an option")
      .repeated()
      .type_name("[NAME=]X.jpg|X.npy");
  add_steps_option(*app, arguments->steps);
  add_option(*app, "--top", arguments->top, "show so many of the best classes")
      .range(1, 1000000)
      .type_name("N")
      .show_default();
  add_names_option(*app, arguments->names, "show classes by these names");
  add_option(
      *app, "--output", arguments->output,
      "write the outputs to this file, as float32, or as int32 where they are indices. Several outputs go to Y.0.npy, Y.1.npy and so on")
      .checked(check_array_name)
      .type_name("Y.npy");
  add_flag(*app, "--raw", arguments->raw, "write int8 outputs as their codes, with --output");
  add_threads_option(*app, arguments->execution);
  add_isa_option(*app, arguments->execution);
  add_compact_option(*app, arguments->execution);
  add_streamed_option(*app, arguments->execution);
  add_flag(*app, "--json", arguments->json,
           "print one JSON object: {samples: [{name, outputs: [{name, dtype, shape, top: [{class, score}] or "
           "min, max}]}]}. With --names a class also has a label");
  return make_command(app, arguments, run_run);
}

}  // namespace intaglio::cli

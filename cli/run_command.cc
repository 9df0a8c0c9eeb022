// intaglio run: one picture or array through a model.
#include "calibrator/host/system/npy.h"
#include "calibrator/host/system/real_text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/tool_options.h"
#include "intaglio/describe.h"
#include "tools/run_model.h"

namespace intaglio::cli {
namespace {

struct RunArguments {
  std::string model, output, names;
  std::vector<std::string> samples, inputs;  // both name samples
  int64_t steps = 0;
  int32_t top = RunChoice().top;
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

void print_sample(const RanSample& ran) {
  print("%s\n", safe(ran.name).c_str());
  for (const RanOutput& output : ran.outputs) {
    for (const ClassScore& found : output.top) {
      const std::string score = general_text(found.score, 6);
      if (found.label)
        print("  %s   %s\n", score.c_str(), safe(*found.label).c_str());
      else
        print("  class %5d   %s\n", found.number, score.c_str());
    }
    if (!output.top.empty()) continue;
    print("  %s %s %s   min %s, max %s\n", safe(output.name).c_str(),
          shape_text({output.dims.data(), static_cast<int32_t>(output.dims.size())}).c_str(),
          dtype_name(output.dtype), general_text(static_cast<double>(output.least), 6).c_str(),
          general_text(static_cast<double>(output.greatest), 6).c_str());
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
  const bool prints_each = arguments.output.empty() && !arguments.json;
  Listener heard = listener();
  if (prints_each) heard = {heard.note, heard.warn, {}, {}};  // no line of progress between the results
  Work work(heard);
  if (auto step = file->stream_if(arguments.execution.streamed, work); !step) return step.failure();
  RunChoice choice;
  choice.arrays = !arguments.output.empty();
  choice.raw = arguments.raw;
  choice.written = array_names(arguments.output, file->model().outputs().size);
  const std::vector<OutputFile> output_files(choice.written.begin(), choice.written.end());
  for (const std::string& name : choice.written)
    if (auto step = check_array_output(name, arguments.model); !step) return step.failure();
  const auto execution = session_options(arguments.execution);
  if (!execution) return execution.failure();
  choice.execution = *execution;
  choice.ops = ops_of(arguments.execution);
  SampleArguments sample_arguments;
  sample_arguments.are_arguments = !arguments.samples.empty();
  sample_arguments.inputs = sample_arguments.are_arguments ? arguments.samples : arguments.inputs;
  const auto samples = sample_choice(sample_arguments, *file);
  if (!samples) return samples.failure();
  choice.samples = *samples;
  choice.steps = arguments.steps;
  choice.top = arguments.top;
  choice.names = arguments.names;
  Json json{{"samples", Json::array()}};
  choice.each = [&](const RanSample& ran, size_t count) {
    if (arguments.json)
      json["samples"].push_back(json_of(ran));
    else if (prints_each || count == 1)
      print_sample(ran);
  };

  const auto ran = run_model(*file, choice, work);
  if (!ran) return ran.failure();
  for (size_t i = 0; i < ran->arrays.size(); ++i) {
    const OutputArray& array = ran->arrays[i];
    if (auto step =
            write_npy(output_files[i], array.type, array.shape, {array.bytes.data(), array.bytes.size()});
        !step)
      return step.failure();
  }
  if (arguments.json) {
    print_json(json);
  } else if (!prints_each) {
    std::string names;
    for (const std::string& name : choice.written) names += (names.empty() ? "" : ", ") + name;
    print("%zu %s -> %s\n", ran->count, ran->count == 1 ? "sample" : "samples", safe(names).c_str());
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

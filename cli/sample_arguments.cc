#include "cli/sample_arguments.h"

#include <filesystem>
#include <optional>

namespace intaglio::cli {
namespace {

std::string input_names(const Model& model) {
  std::string names;
  for (size_t i = 0; i < model.inputs().size; ++i) names += (i == 0 ? "" : ", ") + input_name(model, i);
  return names;
}

// Of the words "NAME=PATH" which input is meant: the longest name that fits, as names may hold a '='.
std::optional<size_t> named_input(const Model& model, const std::string& words) {
  std::optional<size_t> found;
  for (size_t i = 0; i < model.inputs().size; ++i) {
    const std::string start = input_name(model, i) + "=";
    if (words.rfind(start, 0) == 0 && (!found || start.size() > input_name(model, *found).size() + 1))
      found = i;
  }
  return found;
}

}  // namespace

void add_sample_options(CLI::App& app, SampleArguments& arguments) {
  add_option(
      app, "--images", arguments.images,
      "the samples: a folder of PNG, JPEG, BMP or WebP pictures, one picture, or an .npy array. The first "
      "dimension of an array counts samples: uint8 for pictures, any other type for input values; int8 for the codes of an "
      "int8 input")
      .type_name("DIR|X.npy");
  add_option(
      app, "--input", arguments.inputs,
      "the samples of one input, for a model with several: give it once for each. Samples are paired in "
      "the order of their names")
      .type_name("NAME=DIR|X.npy")
      .repeated();
  add_option(app, "--only", arguments.only, "take only the pictures that this text file names, one a line")
      .type_name("LIST");
  add_option(app, "--limit", arguments.limit,
             "take only N pictures: those with the smallest SHA-256, whatever their order")
      .range(int64_t{1}, int64_t{1} << 40)
      .type_name("N");
  add_flag(app, "--skip-bad", arguments.skip_bad,
           "leave out pictures that cannot be read, and name each. Without it the first one is an error");
}

std::string input_name(const Model& model, size_t i) { return model.tensor(model.inputs()[i]).name; }

Outcome<std::vector<std::string>> sample_paths(const SampleArguments& arguments, const LoadedModel& file) {
  const Model& model = file.model();
  const size_t count = model.inputs().size;
  std::vector<std::string> paths(count);
  if (!arguments.images.empty()) {
    if (count != 1)
      return Failure{file.path() + ": has " + std::to_string(count) + " inputs (" + input_names(model) +
                     "); give each its own with --input NAME=DIR|X.npy instead of --images"};
    paths[0] = arguments.images;
    return paths;
  }
  for (const std::string& words : arguments.inputs) {
    const std::string shown = (arguments.are_arguments ? "" : "--input ") + words;
    const auto named = named_input(model, words);
    if (!named && count != 1)
      return Failure{shown + ": names no input of " + file.path() + ", which has " + input_names(model) +
                     "; write NAME=DIR|X.npy"};
    std::string& path = paths[named.value_or(0)];
    if (!path.empty())
      return Failure{
          shown + ": the input " + input_name(model, named.value_or(0)) +
          " has its samples already; one path names them all: a folder of pictures, or an .npy array"};
    std::error_code error;
    if (!named && words.find('=') != std::string::npos && !std::filesystem::exists(words, error))
      return Failure{shown + ": is no file, and names no input of " + file.path() + ", whose input is " +
                     input_names(model)};
    path = named ? words.substr(input_name(model, *named).size() + 1) : words;
    if (path.empty()) return Failure{shown + ": names no file"};
  }
  for (size_t i = 0; i < count; ++i)
    if (paths[i].empty())
      return Failure{file.path() + ": its input " + input_name(model, i) + " has no samples; give --input " +
                     input_name(model, i) + "=DIR|X.npy as well"};
  return paths;
}

}  // namespace intaglio::cli

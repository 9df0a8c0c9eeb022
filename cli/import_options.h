// The options of an import: for 'intaglio import', and for commands that import a network on their way.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "importers/import.h"
#include "tools/loaded_model.h"
#include "tools/work.h"

namespace intaglio::cli {

using namespace tools;

struct ImportChoices {
  std::string pixels, mean, norm, color, resize;
  int32_t batch = 1, stream = -1, border = -1;  // -1: not given
  std::vector<std::string> shapes, states, initial, constants, outputs, answers;
  bool external_data = false, focus = false, keep_dead = false;
  ImportLimits limits;
};

// In the help of another command.
inline constexpr const char* kImportHeading = "Options for a network's file, as of 'intaglio import'";

enum class ImportHelp : uint8_t {
  kOwn,     // of 'intaglio import'
  kBeside,  // beside the options of another command, in a group of their own
};
void add_import_options(CLI::App& app, ImportChoices& choices, ImportHelp help);

// --max-work and --max-memory alone, for other commands that read a network; `group`: their heading in the help.
void add_import_limits(CLI::App& app, ImportLimits& limits, const std::string& group = "Options");

// The first option that was given; empty: none was.
std::string first_given(const ImportChoices& choices);

Outcome<ImportOptions> import_options(const ImportChoices& choices);

// An FP32 model by its file, or by that of a network, which is imported first. Options of an import are refused where there
// is none. What the import says is noted.
Outcome<LoadedModel> open_or_import(const std::string& path, const ImportChoices& choices, const Work& work);
// The argument that names the file.
void add_model_or_network(CLI::App& app, std::string& path);

// Numbers in arguments: lists, and values of something that has a name.

// "123.7,116.3,103.5"; messages begin with the option.
template <typename T>
Outcome<std::vector<T>> parse_list(const std::string& option, std::string_view text) {
  std::vector<T> values;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    T value{};
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || stop != part.data() + part.size())
      return Failure{option + ": '" + std::string(part) +
                     "' is no number; write numbers separated by commas, e.g. 1,2,3"};
    values.push_back(value);
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

struct NamedValues {
  std::string name;
  std::vector<int32_t> dims;  // of an array in a file; empty: of a list
  std::vector<float> values;
};

struct NamedText {
  std::string name;
  std::string file;  // of an array; empty: `values` are a list
  std::vector<float> values;
};
// Checks the words alone: no file is read.
Outcome<NamedText> parse_named_text(const std::string& option, const std::string& text, const char* what,
                                    const char* example);

// "h=0.5", "n=1,2" or "h=h0.npy"; names may hold an equals sign, so the last one parts them. `what` has the name, of which
// messages give `example`.
Outcome<NamedValues> parse_named_values(const std::string& option, const std::string& text, const char* what,
                                        const char* example);

}  // namespace intaglio::cli

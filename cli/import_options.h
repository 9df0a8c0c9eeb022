// What is said of a network that is imported: by 'intaglio import', and by what imports a network on its way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"
#include "importers/import.h"
#include "tools/loaded_model.h"
#include "tools/work.h"

namespace intaglio::cli {

using namespace tools;

struct ImportChoices {
  std::string pixels, mean, norm, color, resize;
  int32_t batch = 1, stream = -1, border = -1;  // -1: not given
  std::vector<std::string> shapes, states, initial, constants, outputs;
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

}  // namespace intaglio::cli

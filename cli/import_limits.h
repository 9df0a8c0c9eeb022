// --max-work and --max-memory: what an import may take, of each subcommand that reads a network of another format.
#pragma once

#include <string>

#include "cli/options.h"
#include "importers/draft/import_budget.h"

namespace intaglio::cli {

// `group`: their heading in the help.
void add_import_limits(CLI::App& app, ImportLimits& limits, const std::string& group = "Options");

}  // namespace intaglio::cli

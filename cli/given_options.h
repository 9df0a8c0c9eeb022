// The options of a subcommand that was parsed, against the table of what goes with what.
#pragma once

#include "cli/options.h"

namespace intaglio::cli {

// Notes are printed; a failure says which options, and why. So does a file to write that is called "-".
Outcome<Done> check_options(const CLI::App& command);

}  // namespace intaglio::cli

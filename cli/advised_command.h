// The command that does what a calibration's verdict advises, to be pasted into a shell.
#pragma once

#include <string>
#include <vector>

#include "cli/calibration_run.h"
#include "cli/verdict.h"

namespace intaglio::cli {

// Paths are quoted. A network's file is imported first where the command needs a model. Empty where no command does it, where
// the words were another program's, or where one of them cannot be pasted safely.
std::string advised_command(const CalibrateArguments& arguments, bool is_imported, const Verdict& verdict);

// The calibration that was given, with these nodes in FP32 as well ("@3,@7"). Without --state: by now that file holds the
// samples, and they would be added once more. Empty as above.
std::string command_keeping(const CalibrateArguments& arguments, const std::string& nodes);

}  // namespace intaglio::cli

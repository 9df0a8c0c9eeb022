// What a calibration's page says is to be done next: one thing, with what it gains and takes.
#pragma once

#include <string>

#include "cli/calibration_page.h"

namespace intaglio::cli {

// A section of the page.
std::string next_step_html(const CalibrationPage& page);

}  // namespace intaglio::cli

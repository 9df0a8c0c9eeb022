// What a calibration's page says is to be done next: one thing, with what it gains and takes.
#pragma once

#include <string>

#include "tools/calibration_page.h"

namespace intaglio::tools {

// A section of the page.
std::string next_step_html(const CalibrationPage& page);

}  // namespace intaglio::tools
